import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparePositions } from '../../../src/boards/row-order.ts';
import type { Position } from '../../../src/boards/store-port.ts';
import { Prng } from '../../../src/lib/prng.ts';
import { SortedRows } from '../../../src/store/memory/sorted-rows.ts';

/** The same in a plain array, sorted anew each time. */
class PlainRows {
  rows: Position[] = [];

  add(row: Position): void {
    this.rows = [...this.rows, row].sort(comparePositions);
  }

  remove(position: Position): void {
    this.rows = this.rows.filter((row) => comparePositions(row, position) !== 0);
  }

  has(position: Position): boolean {
    return this.rows.some((row) => comparePositions(row, position) === 0);
  }

  countBefore(position: Position): number {
    return this.rows.filter((row) => comparePositions(row, position) < 0).length;
  }

  levelsBelow(below: number): number[] {
    return [...new Set(this.rows.map(({ key }) => key).filter((key) => key < below))];
  }
}

function expectSame(rows: SortedRows<Position>, plain: PlainRows, at: Position): void {
  expect(rows.size).toBe(plain.rows.length);
  expect(rows.first()).toEqual(plain.rows[0]);
  expect(rows.last()).toEqual(plain.rows.at(-1));
  for (const position of [at, { ...at, element: '' }, { ...at, element: `${at.element}\0` }]) {
    expect(rows.countBefore(position)).toBe(plain.countBefore(position));
  }
  for (const below of [at.key, at.key + 1, Number.MAX_SAFE_INTEGER]) {
    const levels = plain.levelsBelow(below);
    expect(rows.countLevels(below)).toBe(levels.length);
    expect(rows.firstLevels(below, 3)).toEqual(levels.slice(0, 3));
    expect(rows.firstLevels(below, 1e9)).toEqual(levels);
  }
}

const position = fc.record({
  key: fc.integer({ min: -4, max: 4 }),
  element: fc.constantFrom('\0', 'a', 'aa', 'b', '\x7f', '\x80', '\xff', '\xffa'),
});

test('a few rows, whatever they are, have the order and the ranks of a sorted array', () => {
  fc.assert(
    fc.property(fc.array(position, { maxLength: 60 }), (positions) => {
      const [rows, plain] = [new SortedRows<Position>(), new PlainRows()];
      for (const at of positions) {
        const isThere = plain.has(at);
        for (const list of [rows, plain]) {
          if (isThere) list.remove(at);
          else list.add(at);
        }
        expectSame(rows, plain, at);
        expect(rows.slice(0, 1e9)).toEqual(plain.rows);
      }
    }),
  );
});

describe('thousands of rows', () => {
  const ELEMENTS = 6_000;

  function fill(seed: number, keys: number): [SortedRows<Position>, Position[]] {
    const prng = new Prng(seed);
    const rows = new SortedRows<Position>();
    const all = Array.from({ length: ELEMENTS }, (_, index) => ({
      key: (prng.nextUint32() % keys) - (keys >> 1),
      element: `${prng.nextUint32()} ${index}`,
    }));
    for (const row of all) rows.add(row);
    return [rows, all.sort(comparePositions)];
  }

  test.each([1, 7, 1_000_000])('of %i different keys at most are in order', (keys) => {
    const [rows, sorted] = fill(keys, keys);
    expect(rows.slice(0, ELEMENTS)).toEqual(sorted);
    for (const [index, row] of sorted.entries()) expect(rows.countBefore(row)).toBe(index);
    for (const start of [0, 1, 511, 512, 513, 3_000, ELEMENTS - 1, ELEMENTS]) {
      for (const limit of [0, 1, 600]) {
        expect(rows.slice(start, limit)).toEqual(sorted.slice(start, start + limit));
      }
    }
    const levels = [...new Set(sorted.map(({ key }) => key))];
    for (let at = 0; at < levels.length; at += 97) {
      expect(rows.countLevels(levels[at]!)).toBe(at);
    }
    expect(rows.countLevels(Number.MAX_SAFE_INTEGER)).toBe(levels.length);
  });

  test.each(['from the front', 'from the back', 'anywhere'])(
    'leave %s until none is left, and others come',
    (where) => {
      const [rows, sorted] = fill(3, 50);
      const prng = new Prng(4);
      const left = [...sorted];
      while (left.length > 0) {
        const at = { 'from the front': 0, 'from the back': left.length - 1 }[where];
        const [gone] = left.splice(at ?? prng.nextUint32() % left.length, 1);
        rows.remove(gone!);
        if (left.length % 251 > 0) continue;
        expect(rows.slice(0, ELEMENTS)).toEqual(left);
        const levels = new Set(left.map(({ key }) => key));
        expect(rows.countLevels(Number.MAX_SAFE_INTEGER)).toBe(levels.size);
      }
      expect(rows.first()).toBeUndefined();
      rows.add({ key: 1, element: 'b' });
      rows.add({ key: 1, element: 'a' });
      expect(rows.slice(0, 3).map(({ element }) => element)).toEqual(['a', 'b']);
    },
  );

  test('move all the time and stay in order', () => {
    const [rows, sorted] = fill(5, 100);
    const prng = new Prng(6);
    const now = [...sorted];
    for (let step = 0; step < 30_000; step += 1) {
      const at = prng.nextUint32() % now.length;
      const before = now[at]!;
      const after = { ...before, key: before.key - 1 - (prng.nextUint32() % 3) };
      rows.remove(before);
      rows.add(after);
      now[at] = after;
    }
    expect(rows.slice(0, ELEMENTS)).toEqual(now.sort(comparePositions));
    for (let index = 0; index < ELEMENTS; index += 101) {
      expect(rows.countBefore(now[index]!)).toBe(index);
    }
  });
});

test('a row comes to a place that is free, and leaves one where it is', () => {
  const rows = new SortedRows<Position>();
  expect(() => rows.remove({ key: 1, element: 'a' })).toThrow('the row is there');
  rows.add({ key: 1, element: 'a' });
  expect(() => rows.add({ key: 1, element: 'a' })).toThrow('a place holds one row');
  expect(() => rows.remove({ key: 1, element: 'b' })).toThrow('the row is there');
  expect(rows.size).toBe(1);
});
