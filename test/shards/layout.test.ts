import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  announced,
  begun,
  droppableParts,
  finished,
  firstLayout,
  isPartCount,
  knownParts,
  type Layout,
  livingParts,
  movePairs,
  PARTS_MAX,
  pastPartsOf,
  routeOf,
  withoutPast,
} from '../../src/shards/layout.ts';

const hashes = fc.nat(0xffff_ffff);
/** Powers of two. */
const counts = fc.integer({ min: 0, max: 6 }).map((exponent) => 2 ** exponent);

function named(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, index) => `part ${first + index}`);
}

function layoutOf(count: number): Layout {
  return begun(firstLayout('epoch 0', named(count)));
}

function growing(count: number): Layout {
  return begun(announced(layoutOf(count), 'epoch 1', named(2 * count)));
}

function shrinking(count: number): Layout {
  return begun(announced(layoutOf(2 * count), 'epoch 1', named(count)));
}

/** As a walk of steps leaves it; each step ends one time unit after the one before it. */
function afterMoves(moves: readonly boolean[]): Layout {
  let layout = layoutOf(1);
  let made = 1;
  for (const [index, isGrowing] of moves.entries()) {
    const { parts } = layout;
    if (isGrowing ? parts.length === 64 : parts.length === 1) continue;
    const fresh = isGrowing ? named(parts.length, made) : [];
    made += fresh.length;
    const next = isGrowing ? [...parts, ...fresh] : parts.slice(0, parts.length / 2);
    layout = finished(begun(announced(layout, `epoch ${index}`, next)), index + 1);
  }
  return layout;
}

const walks = fc.array(fc.boolean(), { maxLength: 12 }).map(afterMoves);

describe('parts of a layout', () => {
  test('are a power of two, up to a limit', () => {
    const taken = Array.from({ length: 600 }, (_, count) => count).filter(isPartCount);
    expect(taken).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256]);
    expect(taken.at(-1)).toBe(PARTS_MAX);
    for (const count of [-2, 0.5, 1.5, 512, Number.NaN, Infinity]) {
      expect(isPartCount(count)).toBe(false);
    }
  });

  test('every hash has exactly one home among them, and no part is without hashes', () => {
    fc.assert(
      fc.property(counts, hashes, (count, hash) => {
        const layout = layoutOf(count);
        const { home, source } = routeOf(layout, hash);
        expect(layout.parts).toContain(home);
        expect(source).toBeNull();
        const all = named(count).map((_, index) => routeOf(layout, index).home);
        expect(new Set(all).size).toBe(count);
      }),
    );
  });
});

describe('a layout of which no part is open', () => {
  test('has no living parts, and is open once it has begun', () => {
    const layout = firstLayout('epoch 0', named(2));
    expect(livingParts(layout)).toEqual([]);
    expect(movePairs(layout)).toEqual([]);
    expect(knownParts(layout)).toEqual(named(2));
    const open = { epoch: 'epoch 0', parts: named(2), move: null, past: [] };
    expect(begun(layout)).toEqual(open);
  });

  test('cannot be asked where a hash belongs', () => {
    expect(() => routeOf(firstLayout('epoch 0', named(1)), 1)).toThrow();
  });
});

describe('a move that is announced', () => {
  test.each([
    ['grows', 4, 8],
    ['shrinks', 4, 2],
  ])('changes nothing while it %s: the old set holds', (_, before, after) => {
    const layout = layoutOf(before);
    const next = announced(layout, 'epoch 1', named(after));
    expect(livingParts(next)).toEqual(layout.parts);
    expect(movePairs(next)).toEqual([]);
    expect(next.epoch).toBe(layout.epoch);
    for (let hash = 0; hash < 100; hash += 1) {
      expect(routeOf(next, hash)).toEqual(routeOf(layout, hash));
    }
    expect(new Set(knownParts(next))).toEqual(new Set(named(Math.max(before, after))));
  });

  test('is refused while another is under way, and unless it doubles or halves', () => {
    expect(() => announced(growing(2), 'epoch 2', named(8))).toThrow();
    for (const count of [1, 3, 4, 5, 16]) {
      expect(() => announced(layoutOf(4), 'epoch 1', named(count)), `${count}`).toThrow();
    }
    expect(() => begun(layoutOf(2))).toThrow();
    expect(() => finished(layoutOf(2), 1)).toThrow();
    expect(() => finished(announced(layoutOf(2), 'epoch 1', named(4)), 1)).toThrow();
  });
});

describe('a layout that grows', () => {
  test('moves from each part j only to part j + N, about half of its hashes', () => {
    fc.assert(
      fc.property(counts, hashes, (count, hash) => {
        const before = layoutOf(count);
        const { home, source } = routeOf(growing(count), hash);
        const old = before.parts.indexOf(routeOf(before, hash).home);
        expect([`part ${old}`, `part ${old + count}`]).toContain(home);
        expect(source).toBe(home === `part ${old}` ? null : `part ${old}`);
      }),
    );
    const targets = named(64).filter((_, hash) => routeOf(growing(4), hash).source !== null);
    expect(targets.length).toBe(32);
  });

  test('pairs every old part with its new one, and all of them may hold members', () => {
    expect(movePairs(growing(2))).toEqual([
      { source: 'part 0', target: 'part 2' },
      { source: 'part 1', target: 'part 3' },
    ]);
    expect(livingParts(growing(2))).toEqual(named(4));
  });
});

describe('a layout that shrinks', () => {
  test('brings back from part j + N to part j whatever is there', () => {
    fc.assert(
      fc.property(counts, hashes, (count, hash) => {
        const { home, source } = routeOf(shrinking(count), hash);
        const before = routeOf(layoutOf(2 * count), hash).home;
        expect(home).toBe(routeOf(layoutOf(count), hash).home);
        expect(source).toBe(before === home ? null : before);
      }),
    );
    expect(movePairs(shrinking(2))).toEqual([
      { source: 'part 2', target: 'part 0' },
      { source: 'part 3', target: 'part 1' },
    ]);
    expect(livingParts(shrinking(2))).toEqual(named(4));
  });

  test('after it has grown gives every hash the home that it had', () => {
    fc.assert(
      fc.property(counts, hashes, (count, hash) => {
        const grown = finished(growing(count), 1);
        const back = finished(begun(announced(grown, 'epoch 2', named(count))), 2);
        expect(routeOf(back, hash)).toEqual(routeOf(layoutOf(count), hash));
      }),
    );
  });
});

describe('a layout after moves', () => {
  test('every pair of a move has a source before it, a target after it, and each once', () => {
    fc.assert(
      fc.property(walks, fc.boolean(), (layout, isGrowing) => {
        const { parts } = layout;
        if (!isGrowing && parts.length === 1) return;
        const next = isGrowing
          ? [...parts, ...parts.map((part) => `${part}b`)]
          : parts.slice(0, parts.length / 2);
        const moving = begun(announced(layout, 'epoch', next));
        const pairs = movePairs(moving);
        expect(pairs.length).toBe(Math.min(parts.length, next.length));
        const ends = pairs.flatMap(({ source, target }) => [source, target]);
        expect(new Set(ends).size).toBe(ends.length);
        expect(pairs.every(({ source }) => parts.includes(source))).toBe(true);
        expect(pairs.every(({ target }) => next.includes(target))).toBe(true);
      }),
    );
  });

  test('names of a hash the parts that earlier sets gave it, but for the one asked anyway', () => {
    const once = finished(growing(1), 10);
    const four = [...once.parts, 'part 2', 'part 3'];
    const twice = finished(begun(announced(once, 'epoch 2', four)), 20);
    expect(twice.parts).toEqual(named(4));
    expect(pastPartsOf(twice, 3, 0, 'part 3')).toEqual(['part 0', 'part 1']);
    expect(pastPartsOf(twice, 2, 0, 'part 2')).toEqual(['part 0']);
    expect(pastPartsOf(twice, 0, 0, 'part 0')).toEqual([]);
    expect(pastPartsOf(twice, 3, 10, 'part 3')).toEqual(['part 1']);
    expect(pastPartsOf(twice, 3, 20, 'part 3')).toEqual([]);
  });

  test('while it shrinks to a part of before, that part is asked for what it remembers', () => {
    const grown = finished(growing(1), 10);
    const back = begun(announced(grown, 'epoch 2', named(1)));
    expect(routeOf(back, 1)).toEqual({ home: 'part 0', source: 'part 1' });
    expect(pastPartsOf(back, 1, 0, 'part 1')).toEqual(['part 0']);
    expect(pastPartsOf(back, 1, 0, 'part 0')).toEqual([]);
  });

  test('every part that ever was a hash’s home is asked, as long as its set is remembered', () => {
    fc.assert(
      fc.property(walks, hashes, fc.nat(12), (layout, hash, sinceMs) => {
        const { home } = routeOf(layout, hash);
        const past = pastPartsOf(layout, hash, sinceMs, home);
        const homes = layout.past
          .filter(({ endedAtMs }) => endedAtMs > sinceMs)
          .map(({ parts }) => parts[hash % parts.length]!);
        expect(new Set([home, ...past])).toEqual(new Set([home, ...homes]));
        expect(past.length).toBe(new Set([home, ...homes]).size - 1);
      }),
    );
  });

  test('a part is dropped when no set that is remembered has it, and only then', () => {
    fc.assert(
      fc.property(walks, fc.nat(13), (layout, sinceMs) => {
        const over = droppableParts(layout, sinceMs);
        const kept = withoutPast(layout, sinceMs);
        const sets = [layout.parts, ...kept.past.map(({ parts }) => parts)].flat();
        for (const part of knownParts(layout)) {
          expect(over.includes(part)).toBe(!sets.includes(part));
        }
        expect(droppableParts(kept, sinceMs)).toEqual([]);
        expect(kept.past.every(({ endedAtMs }) => endedAtMs > sinceMs)).toBe(true);
      }),
    );
  });

  test('parts of a move under way are never dropped', () => {
    const shrunk = finished(shrinking(1), 5);
    expect(droppableParts(shrunk, 4)).toEqual([]);
    expect(droppableParts(shrunk, 5)).toEqual(['part 1']);
    const growingAgain = announced(shrunk, 'epoch 2', named(2));
    expect(droppableParts(growingAgain, 5)).toEqual([]);
    expect(droppableParts(begun(growingAgain), 5)).toEqual([]);
  });
});
