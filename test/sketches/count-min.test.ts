import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { Prng } from '../../src/lib/prng.ts';
import {
  CountMin,
  type CountMinShape,
  DEPTH_MAX,
  guaranteeOf,
  isCountMinShape,
  shapeFor,
  WIDTH_MAX,
  WIDTH_MIN,
} from '../../src/sketches/count-min.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { DATASETS } from '../support/datasets.ts';
import { CountOracle } from '../support/oracle.ts';

const { MAX_SAFE_INTEGER } = Number;
const TWO_POW_32 = 2 ** 32;
const SMALL: CountMinShape = { width: 16, depth: 3 };

type Update = 'add' | 'addConservative';
const UPDATES: readonly Update[] = ['add', 'addConservative'];

/** A hash key of its own for each seed. */
function hashOf(seed: number): KeyedHash {
  const prng = new Prng(seed);
  return new KeyedHash({ k0: prng.nextUint32(), k1: prng.nextUint32() });
}

const hash = hashOf(1);

function addTo(sketch: CountMin, update: Update, item: string, count: number, by = hash): void {
  by.hashString(item);
  sketch[update](by.lo, by.hi, count);
}

function estimateOf(sketch: CountMin, item: string, by = hash): number {
  by.hashString(item);
  return sketch.estimate(by.lo, by.hi);
}

function sketchOfCounts(
  shape: CountMinShape,
  update: Update,
  counts: Iterable<readonly [string, number]>,
  by = hash,
): CountMin {
  const sketch = new CountMin(shape);
  for (const [item, count] of counts) addTo(sketch, update, item, count, by);
  return sketch;
}

/** Everything that makes up a sketch. */
function stateOf(sketch: CountMin): unknown {
  const { width, depth, total, saturated } = sketch;
  return { width, depth, total, saturated, cells: [...sketch.cells] };
}

/** A deviation that chance exceeds once in a million: Hoeffding, 1963. */
function hoeffdingSlack(trialCount: number): number {
  return Math.sqrt(Math.log(1e6) / (2 * trialCount));
}

const counts = fc.array(
  fc.tuple(
    fc.constantFrom(...Array.from({ length: 40 }, (_, index) => `item-${index}`)),
    fc.integer({ min: 1, max: 1000 }),
  ),
  { maxLength: 60 },
);

describe('shapes and guarantees', () => {
  it.each([
    [0.5, 0.5, 16, 1],
    [0.1, 0.1, 32, 3],
    [0.01, 0.01, 512, 5],
    [0.001, 0.001, 4096, 7],
    [Math.E / 16_384, 0.0068, 16_384, 5],
    [Math.E / 16_384, Math.exp(-5), 16_384, 5],
    [0.0001, 0.000001, 32_768, 14],
  ])('epsilon %f and delta %f need %i x %i cells', (epsilon, delta, width, depth) => {
    expect(shapeFor(epsilon, delta)).toEqual({ width, depth });
  });

  it('invert each other for every shape', () => {
    for (let width = WIDTH_MIN; width <= WIDTH_MAX; width *= 2) {
      for (let depth = 1; depth <= DEPTH_MAX; depth += 1) {
        const { epsilon, delta } = guaranteeOf({ width, depth });
        expect(shapeFor(epsilon, delta)).toEqual({ width, depth });
      }
    }
  });

  it('promise at least what was asked for', () => {
    const share = fc.double({ min: 1e-5, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(share, share, (epsilon, delta) => {
        const promised = guaranteeOf(shapeFor(epsilon, delta));
        expect(promised.epsilon).toBeLessThanOrEqual(epsilon * (1 + 1e-9));
        expect(promised.delta).toBeLessThanOrEqual(delta * (1 + 1e-9));
      }),
    );
  });

  it.each([
    [0, 0.1],
    [1, 0.1],
    [0.1, 0],
    [0.1, 1],
    [Number.NaN, 0.1],
  ])('refuse epsilon %f with delta %f', (epsilon, delta) => {
    expect(() => shapeFor(epsilon, delta)).toThrow(AssertionFailure);
  });

  it.each([
    [WIDTH_MIN, 1, true],
    [WIDTH_MAX, DEPTH_MAX, true],
    [WIDTH_MIN / 2, 1, false],
    [WIDTH_MAX * 2, 1, false],
    [4_294_967_295, 5, false],
    [4_294_967_296, 5, false],
    [17, 1, false],
    [16.5, 1, false],
    [16, 0, false],
    [16, DEPTH_MAX + 1, false],
    [16, 1.5, false],
    [Number.NaN, 1, false],
  ])(
    'a shape of %d x %d is allowed: %s, and refused before any cell exists',
    (width, depth, ok) => {
      expect(isCountMinShape(width, depth)).toBe(ok);
      if (ok) expect(new CountMin({ width, depth }).cells).toHaveLength(width * depth);
      else expect(() => new CountMin({ width, depth })).toThrow(AssertionFailure);
    },
  );
});

describe.each(UPDATES)('count-min by %s', (update) => {
  it.each(DATASETS)('is never below the truth: $name', ({ generate }) => {
    for (const size of [10, 300, 3000]) {
      for (let seed = 1; seed <= 5; seed += 1) {
        const by = hashOf(seed);
        const sketch = new CountMin(SMALL);
        const oracle = new CountOracle();
        for (const item of generate(size, seed)) {
          addTo(sketch, update, item, 1, by);
          oracle.add(item, 1);
        }
        const below = oracle.items.filter(
          (item) => estimateOf(sketch, item, by) < oracle.countOf(item),
        );
        expect({ size, seed, below }).toEqual({ size, seed, below: [] });
        expect(sketch.total).toBe(size);
      }
    }
  });

  it('is exact for few items in many cells', () => {
    const sketch = new CountMin({ width: 4096, depth: 5 });
    for (let item = 0; item < 50; item += 1) addTo(sketch, update, `item-${item}`, item + 1);
    for (let item = 0; item < 50; item += 1)
      expect(estimateOf(sketch, `item-${item}`)).toBe(item + 1);
    expect(estimateOf(sketch, 'never seen')).toBe(0);
  });

  it.each([[{ width: 64, depth: 1 }], [{ width: 64, depth: 2 }], [{ width: 256, depth: 3 }]])(
    'is more than epsilon * total too high no more often than delta says: %o',
    (shape) => {
      // As many equally heavy items as can each alone break the promise: chance is tightest here.
      const heavyCount = Math.floor(shape.width / Math.E);
      const heavy = Array.from(
        { length: heavyCount },
        (_, index) => [`heavy-${index}`, 100] as const,
      );
      const { epsilon, delta } = guaranteeOf(shape);
      const trialCount = 3000;
      let failures = 0;
      for (let seed = 1; seed <= trialCount; seed += 1) {
        const by = hashOf(seed);
        const sketch = sketchOfCounts(shape, update, heavy, by);
        if (estimateOf(sketch, 'asked for', by) > epsilon * sketch.total) failures += 1;
      }
      expect(failures / trialCount).toBeLessThan(delta + hoeffdingSlack(trialCount));
      expect(failures).toBeGreaterThan(0);
    },
  );

  it('takes a count of 2^52 like any other: its work does not grow with the weight', () => {
    const sketch = new CountMin(SMALL);
    addTo(sketch, update, 'a', 2 ** 52);
    addTo(sketch, update, 'a', 1_000_000_000);
    expect(estimateOf(sketch, 'a')).toBe(2 ** 52 + 1_000_000_000);
    expect(sketch.saturated).toBe(false);
  });

  it('counts on past 2^32 - 1, where 32-bit cells would begin again at 0', () => {
    const sketch = new CountMin(SMALL);
    addTo(sketch, update, 'a', TWO_POW_32 - 1);
    expect(sketch.cells).toBeInstanceOf(Uint32Array);
    expect(sketch.byteLength).toBe(4 * 16 * 3);
    addTo(sketch, update, 'a', 1);
    expect(sketch.cells).toBeInstanceOf(Float64Array);
    expect(sketch.byteLength).toBe(8 * 16 * 3);
    addTo(sketch, update, 'a', 41);
    expect(estimateOf(sketch, 'a')).toBe(TWO_POW_32 + 41);
  });

  it('stays at 2^53 - 1 and says that it is saturated', () => {
    const sketch = new CountMin(SMALL);
    addTo(sketch, update, 'a', MAX_SAFE_INTEGER);
    expect(sketch.saturated).toBe(false);
    addTo(sketch, update, 'a', 1);
    expect(sketch.saturated).toBe(true);
    expect(estimateOf(sketch, 'a')).toBe(MAX_SAFE_INTEGER);
    expect(sketch.total).toBe(MAX_SAFE_INTEGER);
  });
});

describe('conservative update', () => {
  it('is never above the plain one, and below it where cells are shared', () => {
    fc.assert(
      fc.property(counts, (list) => {
        const plain = sketchOfCounts(SMALL, 'add', list);
        const conservative = sketchOfCounts(SMALL, 'addConservative', list);
        for (const [item] of list) {
          expect(estimateOf(conservative, item)).toBeLessThanOrEqual(estimateOf(plain, item));
        }
      }),
    );
    const crowded = Array.from({ length: 200 }, (_, index) => [`item-${index}`, 1] as const);
    const sumOf = (update: Update): number => {
      const sketch = sketchOfCounts(SMALL, update, crowded);
      return crowded.reduce((sum, [item]) => sum + estimateOf(sketch, item), 0);
    };
    expect(sumOf('addConservative')).toBeLessThan(sumOf('add'));
  });

  it('merges to an upper bound', () => {
    fc.assert(
      fc.property(counts, counts, (listA, listB) => {
        const merged = sketchOfCounts(SMALL, 'addConservative', listA);
        merged.merge(sketchOfCounts(SMALL, 'addConservative', listB));
        const oracle = new CountOracle();
        for (const [item, count] of [...listA, ...listB]) oracle.add(item, count);
        for (const item of oracle.items) {
          expect(estimateOf(merged, item)).toBeGreaterThanOrEqual(oracle.countOf(item));
        }
        expect(merged.total).toBe(oracle.total);
      }),
    );
  });
});

describe('merging', () => {
  it('gives the sketch of both streams, cell by cell, after plain adds', () => {
    fc.assert(
      fc.property(counts, counts, (listA, listB) => {
        const merged = sketchOfCounts(SMALL, 'add', listA);
        const other = sketchOfCounts(SMALL, 'add', listB);
        const before = stateOf(other);
        merged.merge(other);
        expect(stateOf(merged)).toEqual(
          stateOf(sketchOfCounts(SMALL, 'add', [...listA, ...listB])),
        );
        expect(stateOf(other)).toEqual(before);
      }),
    );
  });

  it('doubles exactly, past the step to 64-bit cells at 2^32, up to 2^53 - 1 and no further', () => {
    const sketch = new CountMin(SMALL);
    addTo(sketch, 'add', 'a', 1);
    for (let bits = 1; bits <= 56; bits += 1) {
      sketch.merge(sketch.clone());
      const exact = 2 ** bits;
      expect(estimateOf(sketch, 'a')).toBe(Math.min(exact, MAX_SAFE_INTEGER));
      expect(sketch.total).toBe(Math.min(exact, MAX_SAFE_INTEGER));
      expect(sketch.cells instanceof Float64Array).toBe(exact >= TWO_POW_32);
      expect(sketch.saturated).toBe(exact > MAX_SAFE_INTEGER);
    }
  });

  it('widens the cells of either side when the sum needs it', () => {
    const small = sketchOfCounts(SMALL, 'add', [['a', 3_000_000_000]]);
    const large = sketchOfCounts(SMALL, 'add', [['b', 5_000_000_000]]);
    const smallFirst = small.clone();
    smallFirst.merge(large);
    const largeFirst = large.clone();
    largeFirst.merge(small);
    expect(stateOf(smallFirst)).toEqual(stateOf(largeFirst));
    expect(estimateOf(smallFirst, 'a')).toBeGreaterThanOrEqual(3_000_000_000);
    const twoSmall = small.clone();
    twoSmall.merge(small.clone());
    expect(estimateOf(twoSmall, 'a')).toBe(6_000_000_000);
  });

  it('hands the mark of saturation on', () => {
    const saturated = sketchOfCounts(SMALL, 'add', [
      ['a', MAX_SAFE_INTEGER],
      ['a', 1],
    ]);
    const sketch = new CountMin(SMALL);
    sketch.merge(saturated);
    expect(sketch.saturated).toBe(true);
    expect(sketch.clone().saturated).toBe(true);
  });

  it('refuses a sketch of another shape', () => {
    const sketch = new CountMin(SMALL);
    expect(() => sketch.merge(new CountMin({ width: 32, depth: 3 }))).toThrow(AssertionFailure);
    expect(() => sketch.merge(new CountMin({ width: 16, depth: 4 }))).toThrow(AssertionFailure);
  });
});
