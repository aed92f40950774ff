import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { hashKeyFromBytes, KeyedHash } from '../../src/sketches/hash.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import { drawRegisters, hashWith } from '../support/draw-registers.ts';
import { encodedHex, numbered, registersHex, sketchOf } from '../support/sketch-of.ts';

const REGISTER_COUNT = 16_384;
const RANK_MAX = 51;
const HEADER_BYTES = 16;
const DENSE_BYTES = 12_304;
const SPARSE_BYTES_MAX = 3000;
const ENCODING_OFFSET = 4;
const STALE_FLAG_OFFSET = 15;

const key = hashKeyFromBytes(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7));
const hash = new KeyedHash(key);

/** Sketches from empty to far beyond the step to dense, and some with ranks above 32. */
const sketches: fc.Arbitrary<HyperLogLog> = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 30, 400, 1500, 5000, 200_000),
    fc.integer(),
    fc.array(fc.tuple(fc.nat(REGISTER_COUNT - 1), fc.integer({ min: 1, max: RANK_MAX })), {
      maxLength: 3,
    }),
  )
  .map(([count, seed, additions]) => {
    const sketch = drawRegisters(count, new Prng(seed));
    for (const [index, rank] of additions) setRegister(sketch, index, rank);
    return sketch;
  });

/** Raises a register to a rank, by a hash that has it. */
function setRegister(sketch: HyperLogLog, index: number, rank: number): void {
  const { lo, hi } = hashWith(index, rank);
  sketch.addHash(lo, hi);
}

function filledWith(rank: number): HyperLogLog {
  const sketch = new HyperLogLog();
  for (let index = 0; index < REGISTER_COUNT; index += 1) setRegister(sketch, index, rank);
  return sketch;
}

function union(...parts: HyperLogLog[]): HyperLogLog {
  const whole = new HyperLogLog();
  for (const part of parts) whole.merge(part);
  return whole;
}

function expectWithinClaim(estimate: number, truth: number): void {
  const relativeError = Math.abs(estimate / truth - 1);
  expect(relativeError).toBeLessThan(4 * HyperLogLog.standardError);
}

describe('adding to a HyperLogLog', () => {
  it('takes the index from the low 14 bits and the rank from the zeros above them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (number) => {
        let rank = 1;
        while (rank < RANK_MAX && ((number >> BigInt(13 + rank)) & 1n) === 0n) rank += 1;
        const sketch = new HyperLogLog();
        sketch.addHash(Number(number & 0xffffffffn), Number(number >> 32n));
        const expected = new Uint8Array(REGISTER_COUNT);
        expected[Number(number & 0x3fffn)] = rank;
        expect(registersHex(sketch)).toBe(registersHex({ registers: expected }));
      }),
    );
  });

  it('gives every rank from 1 to 51, each by its own bit', () => {
    for (let rank = 1; rank <= RANK_MAX; rank += 1) {
      const number = rank === RANK_MAX ? 0n : 1n << BigInt(13 + rank);
      const sketch = new HyperLogLog();
      sketch.addHash(Number(number & 0xffffffffn), Number(number >> 32n));
      expect(sketch.registers[0]).toBe(rank);
    }
  });

  it('says whether the sketch changed, and keeps the larger rank', () => {
    const sketch = new HyperLogLog();
    const larger = hashWith(9, 7);
    const smaller = hashWith(9, 3);
    expect(sketch.addHash(smaller.lo, smaller.hi)).toBe(true);
    expect(sketch.addHash(larger.lo, larger.hi)).toBe(true);
    expect(sketch.addHash(larger.lo, larger.hi)).toBe(false);
    expect(sketch.addHash(smaller.lo, smaller.hi)).toBe(false);
    expect(sketch.registers[9]).toBe(7);
  });

  it('makes no difference by order or repetition', () => {
    const ids = [...numbered('id-', 0, 3000)];
    const once = sketchOf(ids, hash);
    const again = sketchOf([...ids, ...ids].reverse(), hash);
    expect(encodedHex(again)).toBe(encodedHex(once));
  });
});

describe('merging HyperLogLogs', () => {
  it('has the empty sketch as its identity', () => {
    fc.assert(
      fc.property(sketches, (a) => {
        expect(encodedHex(union(a, new HyperLogLog()))).toBe(encodedHex(a));
        expect(encodedHex(union(new HyperLogLog(), a))).toBe(encodedHex(a));
      }),
    );
  });

  it('is commutative, associative and idempotent, byte for byte', () => {
    fc.assert(
      fc.property(sketches, sketches, sketches, (a, b, c) => {
        const whole = encodedHex(union(a, b, c));
        expect(encodedHex(union(c, b, a))).toBe(whole);
        expect(encodedHex(union(a, union(b, c)))).toBe(whole);
        expect(encodedHex(union(union(a, b), c, a, b))).toBe(whole);
      }),
    );
  });

  it('leaves its argument unchanged, then and when the merged sketch goes on', () => {
    fc.assert(
      fc.property(sketches, sketches, (a, b) => {
        const before = encodedHex(a);
        b.merge(a);
        setRegister(b, 3, RANK_MAX);
        expect(encodedHex(a)).toBe(before);
      }),
    );
  });

  it('makes the sketch of the whole from the sketches of its parts, byte for byte', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(7), { minLength: 1, maxLength: 3000 }),
        fc.integer(),
        (owners, seed) => {
          const prng = new Prng(seed);
          const parts = Array.from({ length: 8 }, () => new HyperLogLog());
          const whole = new HyperLogLog();
          for (const owner of owners) {
            const lo = prng.nextUint32();
            const hi = prng.nextUint32();
            parts[owner]?.addHash(lo, hi);
            whole.addHash(lo, hi);
          }
          expect(encodedHex(union(...parts))).toBe(encodedHex(whole));
        },
      ),
    );
  });

  it('keeps the larger of two registers, not their bits together: 5 and 6 give 6', () => {
    const five = new HyperLogLog();
    const six = new HyperLogLog();
    setRegister(five, 100, 5);
    setRegister(six, 100, 6);
    expect(union(five, six).registers[100]).toBe(6);
    expect(union(six, five).registers[100]).toBe(6);
  });

  it('counts the union after a merge that follows a count', () => {
    const a = sketchOf(numbered('a-', 0, 1000), hash);
    const b = sketchOf(numbered('b-', 0, 1000), hash);
    const before = a.estimate();
    a.merge(b);
    expectWithinClaim(before, 1000);
    expectWithinClaim(a.estimate(), 2000);
    expect(a.estimate()).toBe(union(a, b).estimate());
  });

  it('counts two sparse sketches of the same ids as either of them', () => {
    const first = HyperLogLog.decode(sketchOf(numbered('id-', 0, 700), hash).encode());
    const second = HyperLogLog.decode(sketchOf(numbered('id-', 0, 700), hash).encode());
    expect(union(first, second).estimate()).toBe(first.estimate());
    expect(encodedHex(union(first, second))).toBe(encodedHex(second));
  });

  it('gives clones that do not change with the original, nor it with them', () => {
    const original = sketchOf(numbered('id-', 0, 10), hash);
    const before = encodedHex(original);
    const copy = original.clone();
    expect(encodedHex(copy)).toBe(before);
    setRegister(copy, 1, RANK_MAX);
    expect(encodedHex(original)).toBe(before);
    const copyBefore = encodedHex(copy);
    setRegister(original, 2, RANK_MAX);
    expect(encodedHex(copy)).toBe(copyBefore);
  });
});

describe('the estimate of a HyperLogLog', () => {
  it('is 0 for an empty sketch and 1, rounded, for one id', () => {
    expect(new HyperLogLog().estimate()).toBe(0);
    expect(Math.round(sketchOf(['one'], hash).estimate())).toBe(1);
  });

  it('is finite and in range when all registers are full', () => {
    expect(filledWith(RANK_MAX).estimate()).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('is finite, in range and never smaller for larger registers, at every rank', () => {
    let previous = 0;
    for (let rank = 1; rank <= RANK_MAX; rank += 1) {
      const estimate = filledWith(rank).estimate();
      expect(estimate).toBeGreaterThanOrEqual(previous);
      expect(estimate).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
      previous = estimate;
    }
  });

  it('is finite and in range for any registers', () => {
    fc.assert(
      fc.property(fc.integer(), fc.nat(RANK_MAX), fc.nat(RANK_MAX), (seed, rankA, rankB) => {
        const prng = new Prng(seed);
        const sketch = new HyperLogLog();
        for (let index = 0; index < REGISTER_COUNT; index += 1) {
          const rank = prng.chance(0.5) ? rankA : rankB;
          if (rank > 0) setRegister(sketch, index, rank);
        }
        const estimate = sketch.estimate();
        expect(estimate).toBeGreaterThanOrEqual(0);
        expect(estimate).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
      }),
      { numRuns: 50 },
    );
  });

  it.each([100, 1000, 5000, 20_000])('lies within the claim for %i ids', (count) => {
    expectWithinClaim(sketchOf(numbered('user:', 0, count), hash).estimate(), count);
  });

  it('counts about 10,000 random UUIDs', () => {
    const prng = new Prng(105);
    const uuids = Array.from({ length: 10_000 }, () =>
      Array.from({ length: 4 }, () => prng.nextUint32().toString(16).padStart(8, '0'))
        .join('')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    );
    expectWithinClaim(sketchOf(uuids, hash).estimate(), 10_000);
  });

  it.each([2e8, 1e9, 2e10])('stays within the claim for %d ids', (count) => {
    const prng = new Prng(92);
    for (let set = 0; set < 20; set += 1) {
      expectWithinClaim(drawRegisters(count, prng).estimate(), count);
    }
  });
});

describe('the bytes of a HyperLogLog', () => {
  it('are 18 for an empty sketch: the header and one run of 16,384 zeros', () => {
    expect(encodedHex(new HyperLogLog())).toBe('48594c4c0100000000000000000000807fff');
  });

  it('stand in sparse form as the format describes it', () => {
    const sketch = new HyperLogLog();
    for (const index of [1000, 1020, 1021, 1086, 1087, 1088, 1089, 1090]) {
      setRegister(sketch, index, index === 1021 ? 32 : 2);
    }
    expect(encodedHex(sketch).slice(2 * HEADER_BYTES)).toBe(
      [
        '43e7', // XZERO 1000
        '84', // VAL 2, once
        '12', // ZERO 19
        '84', // VAL 2, once
        'fc', // VAL 32, once
        '3f', // ZERO 64
        '87', // VAL 2, four times
        '84', // VAL 2, once more
        '7bbc', // XZERO 15,293
      ].join(''),
    );
  });

  it('stand in dense form as the format describes it', () => {
    const sketch = new HyperLogLog();
    [51, 1, 50, 33].forEach((rank, index) => setRegister(sketch, index, rank));
    setRegister(sketch, REGISTER_COUNT - 1, 3);
    const bytes = sketch.encode();
    expect(bytes).toHaveLength(DENSE_BYTES);
    expect(encodedHex(sketch).slice(0, 2 * HEADER_BYTES)).toBe('48594c4c000000000000000000000080');
    expect([...bytes.subarray(HEADER_BYTES, HEADER_BYTES + 4)]).toEqual([
      0b01_110011, // the low 2 bits of register 1, and register 0
      0b0010_0000, // the low 4 bits of register 2, and the high 4 of register 1
      0b100001_11, // register 3, and the high 2 bits of register 2
      0,
    ]);
    expect(bytes[DENSE_BYTES - 1]).toBe(3 << 2);
  });

  it('are sparse up to 3,000 bytes and dense from then on', () => {
    const sketch = new HyperLogLog();
    let sparseBytesMax = 0;
    let denseCount = 0;
    // A register at every second place takes 2 bytes, ZERO and VAL; the last XZERO takes 2 more.
    for (let index = 2; index < REGISTER_COUNT && denseCount < 10; index += 2) {
      setRegister(sketch, index, 1 + (index % 32));
      const bytes = sketch.encode();
      if (bytes[ENCODING_OFFSET] === 1) {
        expect(denseCount).toBe(0);
        sparseBytesMax = bytes.length;
      } else {
        expect(bytes).toHaveLength(DENSE_BYTES);
        denseCount += 1;
      }
      expect(registersHex(HyperLogLog.decode(bytes))).toBe(registersHex(sketch));
    }
    expect(sparseBytesMax).toBe(SPARSE_BYTES_MAX);
    expect(denseCount).toBe(10);
  });

  it('give the same registers and the same bytes back', () => {
    fc.assert(
      fc.property(sketches, (sketch) => {
        const decoded = HyperLogLog.decode(sketch.encode());
        expect(registersHex(decoded)).toBe(registersHex(sketch));
        expect(encodedHex(decoded)).toBe(encodedHex(sketch));
        const trusted = HyperLogLog.decodeTrusted(sketch.encode());
        expect(encodedHex(trusted)).toBe(encodedHex(sketch));
        expect(registersHex(trusted)).toBe(registersHex(sketch));
        trusted.addHash(7, 7);
        sketch.addHash(7, 7);
        expect(registersHex(trusted)).toBe(registersHex(sketch));
      }),
    );
  });

  it('of a trusted writer are never taken for more than a register can be', () => {
    const bytes = sketchOf(numbered('id-', 0, 5000), hash)
      .encode()
      .fill(0xff, 16);
    expect(() => HyperLogLog.decode(bytes)).toThrow(SketchDecodeError);
    const largest = HyperLogLog.decodeTrusted(bytes).registers;
    expect(new Set(Array.from(largest))).toEqual(new Set([51]));
  });

  it('may hold any cached cardinality, which is ignored and not written again', () => {
    const sketch = sketchOf(numbered('id-', 0, 100), hash);
    const bytes = sketch.encode();
    bytes.fill(0x7f, STALE_FLAG_OFFSET - 7, STALE_FLAG_OFFSET + 1);
    expect(HyperLogLog.decode(bytes).estimate()).toBe(sketch.estimate());
    expect(encodedHex(HyperLogLog.decode(bytes))).toBe(encodedHex(sketch));
  });

  it('are read from a view into a larger array, and not kept', () => {
    const sketch = sketchOf(numbered('id-', 0, 5000), hash);
    const bytes = sketch.encode();
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 7);
    const decoded = HyperLogLog.decode(larger.subarray(7, 7 + bytes.length));
    larger.fill(0);
    expect(registersHex(decoded)).toBe(registersHex(sketch));
  });

  it.each([
    ['hyll-sparse-v1.bin', 500, 503.66],
    ['hyll-dense-v1.bin', 20_000, 20_315.2],
  ])('of version 1 in %s are read and written for ever', (file, count, estimate) => {
    const golden = readFileSync(new URL(`../golden/${file}`, import.meta.url));
    const sketch = HyperLogLog.decode(golden);
    expect(registersHex(sketch)).toBe(
      registersHex(sketchOf(numbered('golden-', 0, count), new KeyedHash(key))),
    );
    expect(encodedHex(sketch)).toBe(golden.toString('hex'));
    expect(sketch.estimate()).toBeCloseTo(estimate, 2);
  });
});

describe('decoding damaged bytes of a HyperLogLog', () => {
  const sparse = sketchOf(numbered('id-', 0, 100), hash).encode();
  const dense = sketchOf(numbered('id-', 0, 5000), hash).encode();
  const emptyHeader = new HyperLogLog().encode().subarray(0, HEADER_BYTES);

  function changed(bytes: Uint8Array, offset: number, value: number): Uint8Array {
    const copy = bytes.slice();
    copy[offset] = value;
    return copy;
  }

  function sparseWith(...opcodes: number[]): Uint8Array {
    return Uint8Array.of(...emptyHeader, ...opcodes);
  }

  it.each<[string, Uint8Array, RegExp]>([
    ['no bytes', new Uint8Array(0), /too few/],
    ['half a header', dense.subarray(0, 15), /too few/],
    ['another magic', changed(dense, 3, 0x4d), /magic/],
    ['an unknown encoding', changed(dense, ENCODING_OFFSET, 2), /encoding 2/],
    ['something in the unused bytes', changed(dense, 7, 1), /unused/],
    ['dense bytes cut short', dense.subarray(0, DENSE_BYTES - 1), /12303 bytes/],
    ['dense bytes with a tail', Uint8Array.of(...dense, 0), /12305 bytes/],
    ['sparse bytes called dense', changed(sparse, ENCODING_OFFSET, 0), /dense with/],
    ['dense bytes called sparse', changed(dense, ENCODING_OFFSET, 1), /registers/],
    // Four registers of 6 bits in three bytes, each in its turn.
    ['a first register above 51', changed(dense, HEADER_BYTES, 52), /above 51/],
    ['a second register above 51', changed(dense, HEADER_BYTES + 1, 13), /above 51/],
    ['a third register above 51', changed(dense, HEADER_BYTES + 2, 3), /above 51/],
    ['a fourth register above 51', changed(dense, HEADER_BYTES + 2, 52 << 2), /above 51/],
    ['no registers', sparseWith(), /0 registers/],
    ['a register too few', sparseWith(0x7f, 0xfe), /16383 registers/],
    ['a register too many by ZERO', sparseWith(0x7f, 0xff, 0x00), /more than/],
    ['a register too many by VAL', sparseWith(0x7f, 0xff, 0x80), /more than/],
    ['a VAL that ends beyond the last register', sparseWith(0x7f, 0xfe, 0x81), /more than/],
    ['half an XZERO', sparseWith(0x80, 0x7f), /cut short/],
    ['a sparse tail cut off', sparse.subarray(0, sparse.length - 1), /cut short|registers/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => HyperLogLog.decode(bytes)).toThrow(SketchDecodeError);
    expect(() => HyperLogLog.decode(bytes)).toThrow(message);
  });

  /** Success with registers that survive another round, or the declared error. */
  function decodesOrRefuses(bytes: Uint8Array): boolean {
    let sketch: HyperLogLog;
    try {
      sketch = HyperLogLog.decode(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(SketchDecodeError);
      return false;
    }
    const canonical = sketch.encode();
    expect(canonical.length).toBeLessThanOrEqual(DENSE_BYTES);
    expect(registersHex(HyperLogLog.decode(canonical))).toBe(registersHex(sketch));
    const estimate = sketch.estimate();
    expect(estimate >= 0 && estimate <= Number.MAX_SAFE_INTEGER).toBe(true);
    return true;
  }

  it('gives a sketch or the declared error for random bytes behind a valid header', () => {
    const dozens = fc.uint8Array({ maxLength: 64 });
    fc.assert(
      fc.property(fc.constantFrom(0, 1, 2), dozens, (encoding, tail) => {
        decodesOrRefuses(
          Uint8Array.of(...changed(emptyHeader, ENCODING_OFFSET, encoding), ...tail),
        );
        decodesOrRefuses(tail);
      }),
      { numRuns: 1000 },
    );
  });

  it('gives a sketch or the declared error for valid bytes with a few changes', () => {
    let decodedCount = 0;
    let refusedCount = 0;
    const change = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(
        fc.constantFrom(sparse, dense),
        fc.array(change, { maxLength: 3 }),
        fc.option(fc.nat(), { freq: 4 }),
        (valid, changes, cut) => {
          const bytes = cut === null ? valid.slice() : valid.slice(0, cut % valid.length);
          for (const [place, value] of changes) {
            if (bytes.length > 0) bytes[place % bytes.length] = value;
          }
          if (decodesOrRefuses(bytes)) decodedCount += 1;
          else refusedCount += 1;
        },
      ),
      { numRuns: 1000 },
    );
    expect(decodedCount).toBeGreaterThan(100);
    expect(refusedCount).toBeGreaterThan(100);
  });
});
