import { describe, expect, test } from 'vitest';
import { comparePositions, memberOf } from '../../src/boards/row-order.ts';
import type { PartAsk, PartRules, Position } from '../../src/boards/store-port.ts';
import { Prng } from '../../src/lib/prng.ts';
import {
  ALL_ROWS,
  type BoardStoreHarness,
  entryOf,
  openPartOn,
  type PartUnderTest,
} from './board-harness.ts';

const MAX = Number.MAX_SAFE_INTEGER;
const TIES: PartRules['ties'][] = ['earliest', 'competition', 'dense'];

interface PlainRow extends Position {
  readonly member: string;
}

/** What a part must answer, from a sorted array of the rows that are shown. */
function rowsOf(shown: readonly PlainRow[], ask: Extract<PartAsk, { kind: 'rows' }>) {
  const rows = shown.filter(({ member }) => member !== ask.without);
  const { from, skip, limit } = ask;
  const before = from === null ? 0 : countBefore(rows, from);
  const start = Math.max(0, Math.min(before + skip, rows.length));
  const found = rows.slice(start, start + limit);
  return {
    ...{ kind: 'rows', before, start, size: rows.length },
    rows: found.map(({ key, element }) => ({ key, element, meta: null })),
  };
}

function countBefore(rows: readonly PlainRow[], position: Position): number {
  return rows.filter((row) => comparePositions(row, position) < 0).length;
}

/** Fifty members of few keys, some of them hidden: those that are shown, in order. */
async function fill(part: PartUnderTest, prng: Prng): Promise<PlainRow[]> {
  const names = Array.from({ length: 50 }, (_, index) => {
    return `${['m', 'é', '\u{1f600}'][index % 3]}${index}`;
  });
  for (let call = 0; call < 4; call += 1) {
    await part.apply(names.map((name) => entryOf(name, prng.nextInt(5) - 2)));
  }
  for (const name of names) if (prng.nextInt(6) === 0) await part.hide(name);
  const { ties } = part.at.rules;
  const { members } = await part.ask({ kind: 'locate', members: names });
  return members
    .flatMap((row) => (row === null || row.isHidden ? [] : [row]))
    .map(({ key, element }) => ({ key, element, member: memberOf(element, ties) }))
    .sort(comparePositions);
}

function somewhere(prng: Prng, shown: readonly PlainRow[]): Position {
  const { key, element } = shown[prng.nextInt(shown.length)]!;
  const places = [
    { key, element },
    { key, element: '' },
    { key: key + 1, element: '' },
    { key, element: `${element}\0` },
    { key, element: element.slice(0, -1) },
    { key, element: '\xff'.repeat(12) },
    { key: MAX, element: 'x' },
    { key: -MAX, element: '' },
  ];
  return places[prng.nextInt(places.length)]!;
}

/** A member that is shown, or nobody. */
function someone(prng: Prng, shown: readonly PlainRow[]): string {
  return shown[prng.nextInt(shown.length + 2)]?.member ?? 'nobody';
}

function describeRows(harness: BoardStoreHarness): void {
  describe.each(TIES)('what is read, with ties %s', (ties) => {
    test('is what a sorted array would answer', async () => {
      const prng = new Prng(7);
      const part = await openPartOn(harness, { ties });
      const shown = await fill(part, prng);
      expect((await part.ask(ALL_ROWS)).rows).toHaveLength(shown.length);
      const asks = Array.from(
        { length: 150 },
        (): Extract<PartAsk, { kind: 'rows' }> => ({
          kind: 'rows',
          from: prng.nextInt(5) === 0 ? null : somewhere(prng, shown),
          skip: prng.nextInt(3) === 0 ? 0 : prng.nextInt(121) - 60,
          limit: prng.nextInt(2) === 0 ? prng.nextInt(4) : prng.nextInt(60),
          without: prng.nextInt(2) === 0 ? null : someone(prng, shown),
        }),
      );
      const outcome = await part.read(asks);
      expect(outcome).toMatchObject({ kind: 'read', admitted: 0 });
      const { answers } = outcome as Extract<typeof outcome, { kind: 'read' }>;
      for (const [index, ask] of asks.entries()) {
        expect(answers[index], JSON.stringify(ask)).toEqual(rowsOf(shown, ask));
      }
    });

    test('are as many as an array would count', async () => {
      const prng = new Prng(8);
      const part = await openPartOn(harness, { ties });
      const shown = await fill(part, prng);
      const before = Array.from({ length: 60 }, () => somewhere(prng, shown));
      for (const without of [null, 'nobody', ...shown.slice(0, 8).map(({ member }) => member)]) {
        const rows = shown.filter(({ member }) => member !== without);
        expect(await part.ask({ kind: 'count', before, without })).toEqual({
          kind: 'count',
          before: before.map((position) => countBefore(rows, position)),
          size: rows.length,
        });
      }
      expect(await part.ask({ kind: 'count', before: [], without: null })).toEqual({
        ...{ kind: 'count', before: [], size: shown.length },
      });
      const edges = [-MAX, -3, -1, -1, 0, 1, 5, MAX];
      const within = (from: number, to: number): number =>
        shown.filter(({ key }) => key >= from && key < to).length;
      expect(await part.stats(undefined, edges)).toEqual({
        ...{ kind: 'stats', size: shown.length },
        sum: shown.reduce((sum, { key }) => sum + BigInt(key), 0n),
        firstKey: shown[0]!.key,
        lastKey: shown.at(-1)!.key,
        counts: edges.slice(1).map((to, index) => within(edges[index]!, to)),
      });
      if (ties !== 'dense') return;
      const keys = [...new Set(shown.map(({ key }) => key))];
      for (const below of [-MAX, ...keys, MAX]) {
        for (const limit of [0, 2, 100]) {
          const levels = keys.filter((key) => key < below);
          expect(await part.ask({ kind: 'levels', below, limit })).toEqual({
            ...{ kind: 'levels', count: levels.length, keys: levels.slice(0, limit) },
          });
        }
      }
    });
  });
}

function describeAnswers(harness: BoardStoreHarness): void {
  describe('a read', () => {
    test('answers in the order of its asks, at the time of the store', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5], ['b', 7]);
      const beforeMs = await part.boards.nowMs();
      const outcome = await part.read([
        { kind: 'locate', members: ['b', 'nobody', 'a', 'b'] },
        { kind: 'stats', edges: [] },
        { ...ALL_ROWS, limit: 1 },
        { kind: 'locate', members: [] },
        { kind: 'count', before: [{ key: 7, element: '' }], without: null },
      ]);
      const { answers, nowMs } = outcome as Extract<typeof outcome, { kind: 'read' }>;
      expect(answers).toMatchObject([
        { kind: 'locate', members: [{ key: 7 }, null, { key: 5 }, { key: 7 }] },
        { kind: 'stats', size: 2, sum: 12n, firstKey: 5, lastKey: 7, counts: [] },
        { kind: 'rows', before: 0, start: 0, size: 2, rows: [{ key: 5 }] },
        { kind: 'locate', members: [] },
        { kind: 'count', before: [1], size: 2 },
      ]);
      expect(nowMs).toBeGreaterThanOrEqual(beforeMs);
      expect(nowMs).toBeLessThanOrEqual(await part.boards.nowMs());
      expect(await part.read([])).toMatchObject({ kind: 'read', admitted: 0, answers: [] });
    });

    test('of a season that nobody has a score in is one of no rows', async () => {
      const part = await openPartOn(harness, { ties: 'dense' });
      await part.put(['a', 5]);
      const empty = { ...part.season, id: 'empty' };
      expect(
        await part.ask({ ...ALL_ROWS, skip: -5, from: { key: 3, element: 'x' } }, empty),
      ).toEqual({ kind: 'rows', before: 0, start: 0, size: 0, rows: [] });
      expect(await part.locate('a', empty)).toBeNull();
      expect(await part.stats(empty, [0, 10])).toEqual({
        ...{ kind: 'stats', size: 0, sum: 0n, firstKey: null, lastKey: null, counts: [0] },
      });
      expect(await part.ask({ kind: 'levels', below: 10, limit: 5 }, empty)).toEqual({
        ...{ kind: 'levels', count: 0, keys: [] },
      });
    });

    test('tells sums beyond the safe integers, and keys up to them', async () => {
      const part = await openPartOn(harness, { mode: 'last', ties: 'dense' });
      const names = Array.from({ length: 5 }, (_, index) => `m${index}`);
      await part.put(...names.map((name, index) => [name, MAX - index] as const));
      const sum = (sign: bigint): bigint =>
        names.reduce((total, _, index) => total + sign * (BigInt(MAX) - BigInt(index)), 0n);
      expect(await part.stats()).toMatchObject({ sum: sum(1n), firstKey: MAX - 4, lastKey: MAX });
      const levels = [MAX - 4, MAX - 3, MAX - 2, MAX - 1];
      expect(await part.ask({ kind: 'levels', below: MAX, limit: 9 })).toEqual({
        ...{ kind: 'levels', count: 4, keys: levels },
      });
      await part.put(...names.map((name, index) => [name, index - MAX] as const));
      expect(await part.stats()).toMatchObject({ sum: sum(-1n), firstKey: -MAX });
      expect((await part.rows()).map(({ key }) => key)).toEqual(
        names.map((_, index) => index - MAX),
      );
      const before = [{ key: 1 - MAX, element: '' }];
      expect(await part.ask({ kind: 'count', before, without: null })).toMatchObject({
        before: [1],
      });
      await part.put(['m0', 1], ['m1', -1], ['m2', 2], ['m3', -3], ['m4', 0]);
      expect(await part.stats()).toMatchObject({ sum: -1n, firstKey: -3, lastKey: 2 });
    });

    test('of thousands of rows finds each page', async () => {
      const part = await openPartOn(harness);
      const names = Array.from({ length: 2_500 }, (_, index) => `m${index}`);
      for (let start = 0; start < names.length; start += 500) {
        await part.put(...names.slice(start, start + 500).map((name) => [name, 1] as const));
      }
      for (const skip of [0, 1, 999, 1_000, 1_001, 2_499, 2_500]) {
        const page = await part.ask({ ...ALL_ROWS, skip, limit: 700 });
        expect(page).toMatchObject({ start: skip, size: 2_500 });
        expect(part.named(page.rows)).toEqual(
          names.slice(skip, skip + 700).map((name) => `${name} 1`),
        );
      }
      const { members } = await part.ask({ kind: 'locate', members: names });
      expect(members.map((row) => row && memberOf(row.element, 'earliest'))).toEqual(names);
      expect((await part.scanAll()).sort()).toEqual([...names].sort());
    });
  });
}

export function describeReads(harness: BoardStoreHarness): void {
  describeRows(harness);
  describeAnswers(harness);
}
