import { describe, expect, test } from 'vitest';
import { type ScoreMode, TIME_BYTES } from '../../src/boards/store-port.ts';
import {
  ALL_TIME,
  batchOf,
  type BoardStoreHarness,
  brief,
  entryOf,
  openPartOn,
  requestOf,
  type Scores,
} from './board-harness.ts';
import { newTag } from './harness.ts';

const MAX = Number.MAX_SAFE_INTEGER;

function describeModes(harness: BoardStoreHarness): void {
  describe('scores', () => {
    const sequences: [ScoreMode, number[], number[]][] = [
      ['increment', [5, -7, 0, 2, 1], [5, -2, -2, 0, 1]],
      ['best', [5, 7, 5, -3, -0, 4], [5, 5, 5, -3, -3, -3]],
      ['last', [5, 7, 7, -3, -0, 4], [5, 7, 7, -3, 0, 4]],
    ];
    test.each(sequences)('of mode %s %j become %j', async (mode, values, keys) => {
      const part = await openPartOn(harness, { mode });
      for (const [index, value] of values.entries()) {
        const [outcome] = await part.apply([entryOf('a', value)]);
        expect(outcome).toEqual({ code: 'applied', key: keys[index] });
        for (const season of part.seasons) {
          expect(await part.locate('a', season)).toMatchObject({ key: keys[index] });
        }
      }
      const other = await openPartOn(harness, { mode });
      const outcomes = await other.apply(values.map((value) => entryOf('a', value)));
      expect(outcomes).toEqual(values.map(() => ({ code: 'applied', key: keys.at(-1) })));
      expect(await other.standing()).toEqual([`a ${keys.at(-1)}`]);
    });

    test('of a member in several requests are applied in order, and its key is the last', async () => {
      const part = await openPartOn(harness, { mode: 'last' });
      const outcomes = await part.run([
        requestOf([entryOf('a', 1), entryOf('b', 9)]),
        requestOf([]),
        requestOf([entryOf('a', 3), entryOf('a', 2)]),
      ]);
      const a = { code: 'applied', key: 2 };
      expect(outcomes).toEqual([
        { kind: 'applied', entries: [a, { code: 'applied', key: 9 }] },
        { kind: 'applied', entries: [] },
        { kind: 'applied', entries: [a, a] },
      ]);
      expect(await part.run([])).toEqual([]);
    });

    test('an increment by 0 makes nobody, and moves nobody', async () => {
      const part = await openPartOn(harness);
      const zero = entryOf('a', 0);
      expect(brief(await part.apply([zero, entryOf('b', 1), zero]))).toEqual([
        ...['applied null', 'applied 1', 'applied null'],
      ]);
      await part.put(['a', 1]);
      const before = await part.rows();
      expect(brief(await part.apply([entryOf('b', 0), zero]))).toEqual(['applied 1', 'applied 1']);
      expect(await part.rows()).toEqual(before);
      expect(await part.scanAll()).toHaveLength(2);
    });

    test.each(['best', 'last'] as const)('of 0 make a member in mode %s', async (mode) => {
      const part = await openPartOn(harness, { mode });
      expect(await part.apply([entryOf('a', -0)])).toEqual([{ code: 'applied', key: 0 }]);
      expect((await part.rows()).map(({ key }) => key)).toEqual([0]);
    });

    test('in mode best the best of the season may be worse than that of all time', async () => {
      const part = await openPartOn(harness, { mode: 'best' });
      await part.put(['a', 3]);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      expect(brief(await next.apply([entryOf('a', 8)]))).toEqual(['applied 3']);
      expect(brief(await next.apply([entryOf('a', 6), entryOf('a', 7)]))).toEqual([
        ...['applied 3', 'applied 3'],
      ]);
      expect(await next.standing(next.season)).toEqual(['a 6']);
    });

    test('where nobody may be made are applied to those who are there', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 1], ['h', 1]);
      await part.hide('h');
      const fixed = { mayCreate: false };
      const entries = [
        ...[entryOf('a', 1, fixed), entryOf('h', 1, fixed), entryOf('b', 1, fixed)],
        ...[entryOf('b', 0, fixed), entryOf('c', 1), entryOf('c', 1, fixed)],
      ];
      expect(brief(await part.apply(entries))).toEqual([
        ...['applied 2', 'applied 2', 'absent null'],
        ...['absent null', 'applied 2', 'applied 2'],
      ]);
      expect(await part.standing()).toEqual(['a 2', 'c 2']);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      expect(brief(await next.apply([entryOf('a', 3, fixed)]))).toEqual(['applied 5']);
      expect(await next.standing(next.season)).toEqual(['a 3']);
    });

    test('members of any name are told apart', async () => {
      const part = await openPartOn(harness, { ties: 'competition' });
      const names = ['a', 'A', 'aa', '__proto__', '1', '01', 'é', 'e\u0301', '\u{1f600}', 'a\0b'];
      await part.put(...names.map((name, index) => [name, index] as const));
      await part.put(...names.map((name) => [name, 100] as const));
      expect(await part.standing()).toEqual(names.map((name, index) => `${name} ${index + 100}`));
      expect((await part.scanAll()).sort()).toEqual([...names].sort());
      for (const name of names) expect(await part.locate(name)).not.toBeNull();
    });
  });
}

function describeRange(harness: BoardStoreHarness): void {
  describe('scores out of range', () => {
    test.each([1, -1])('change nothing, and those at its end are exact (sign %i)', async (sign) => {
      const part = await openPartOn(harness);
      await part.put(['a', sign * (MAX - 1)]);
      const entries = [sign, sign, -sign, 2 * sign, MAX * sign].map((value) => entryOf('a', value));
      const key = sign * (MAX - 1);
      expect(brief(await part.apply(entries))).toEqual([
        ...[`applied ${key}`, `out_of_range ${key}`, `applied ${key}`],
        ...[`out_of_range ${key}`, `out_of_range ${key}`],
      ]);
      expect(brief(await part.apply([entryOf('a', sign)]))).toEqual([`applied ${sign * MAX}`]);
      for (const season of part.seasons) {
        expect(await part.standing(season)).toEqual([`a ${sign * MAX}`]);
        expect(await part.stats(season)).toMatchObject({ sum: BigInt(sign * MAX) });
      }
    });

    test('are refused of a hidden member too', async () => {
      const part = await openPartOn(harness);
      await part.put(['h', MAX]);
      await part.hide('h');
      expect(brief(await part.apply([entryOf('h', 3), entryOf('h', -1)]))).toEqual([
        ...[`out_of_range ${MAX - 1}`, `applied ${MAX - 1}`],
      ]);
      await part.hide('h', false);
      expect(await part.standing(part.season)).toEqual([`h ${MAX - 1}`]);
    });

    test('in one season leave all seasons as they are', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', MAX]);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      expect(brief(await next.apply([entryOf('a', 1), entryOf('b', 1)]))).toEqual([
        ...[`out_of_range ${MAX}`, 'applied 1'],
      ]);
      expect(await next.standing(next.season)).toEqual(['b 1']);
    });

    test('are not remembered, so that they fit when there is room', async () => {
      const part = await openPartOn(harness);
      const key = batchOf('k', 2);
      await part.put(['a', MAX]);
      const more = entryOf('a', 1, { id: 'more', index: 1 });
      const less = entryOf('a', -1, { index: 0 });
      expect(brief(await part.apply([more], { key }))).toEqual([`out_of_range ${MAX}`]);
      expect(await part.ids('more')).toEqual([false]);
      expect(await part.batch('k', 2)).toBe('f 00');
      expect(brief(await part.apply([less, more], { key }))).toEqual([
        ...[`applied ${MAX}`, `applied ${MAX}`],
      ]);
      expect(await part.batch('k', 2)).toBe('f 11');
      expect(brief(await part.apply([more], { key }))).toEqual([`duplicate ${MAX}`]);
    });

    test('refuse a request that is atomic as a whole, and no other', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 1], ['c', MAX]);
      const before = await part.rows();
      const refused = [
        ...[entryOf('a', 5, { id: 'i' }), entryOf('b', 5, { id: 'j', index: 1 })],
        ...[entryOf('c', 1, { index: 2 }), entryOf('d', 1, { index: 3 })],
      ];
      const key = batchOf('k', 4);
      expect(await part.run([requestOf(refused, { key, atomic: true })])).toEqual([
        { kind: 'out_of_range', entry: 2 },
      ]);
      expect(await part.rows()).toEqual(before);
      expect(await part.ids('i', 'j')).toEqual([false, false]);
      expect(await part.batch('k', 4)).toBeNull();
      const outcomes = await part.run([
        requestOf([entryOf('a', 1)], { atomic: true }),
        requestOf(refused, { key, atomic: true }),
        requestOf([entryOf('a', 1, { id: 'i' }), entryOf('d', 1)], { atomic: true }),
      ]);
      expect(outcomes).toEqual([
        { kind: 'applied', entries: [{ code: 'applied', key: 3 }] },
        { kind: 'out_of_range', entry: 2 },
        {
          kind: 'applied',
          entries: [
            { code: 'applied', key: 3 },
            { code: 'applied', key: 1 },
          ],
        },
      ]);
      expect(await part.standing(part.season)).toEqual(['d 1', 'a 3', `c ${MAX}`]);
    });

    test('that refuse a request leave what was remembered before it', async () => {
      const part = await openPartOn(harness);
      await part.apply([entryOf('a', 1, { id: '1' }), entryOf('a', 1, { id: 'x' })]);
      const repeated = [entryOf('a', 1, { id: '1' }), entryOf('a', 1, { id: 'x' })];
      const outcomes = await part.run([
        requestOf([entryOf('a', 1, { id: 'y' })]),
        requestOf([...repeated, entryOf('a', 1, { id: 'z' }), entryOf('a', MAX, { id: 'w' })], {
          atomic: true,
        }),
        requestOf([...repeated, entryOf('a', 1, { id: 'y' }), entryOf('a', 1, { id: 'z' })]),
      ]);
      expect(outcomes[1]).toEqual({ kind: 'out_of_range', entry: 3 });
      const { entries } = outcomes[2] as Extract<(typeof outcomes)[2], { kind: 'applied' }>;
      expect(brief(entries)).toEqual([
        ...['duplicate 4', 'duplicate 4', 'duplicate 4', 'applied 4'],
      ]);
      expect(await part.ids('y', 'z', 'w')).toEqual([true, true, false]);
    });

    test('that refuse a request leave who was first', async () => {
      const part = await openPartOn(harness);
      await part.run([
        requestOf([entryOf('a', 1)]),
        requestOf([entryOf('b', 1)]),
        requestOf([entryOf('a', 1), entryOf('a', MAX)], { atomic: true }),
      ]);
      expect(await part.standing()).toEqual(['a 1', 'b 1']);
    });
  });
}

function describeOrder(harness: BoardStoreHarness): void {
  describe('the order of members', () => {
    test('is that of keys first', async () => {
      const part = await openPartOn(harness);
      const keys = [3, -1, MAX, 0, -MAX, 10, 9];
      await part.put(
        ...keys.map((key) => [`m${key}`, key] as const).filter(([, key]) => key !== 0),
      );
      expect(await part.standing()).toEqual(
        keys
          .filter((key) => key !== 0)
          .sort((a, b) => a - b)
          .map((key) => `m${key} ${key}`),
      );
    });

    test('is with ties earliest that of the times at which scores were reached', async () => {
      const part = await openPartOn(harness, { mode: 'last' });
      await part.put(['c', 1], ['a', 1], ['b', 1]);
      await part.put(['\0', 1], ['a', 2]);
      await part.put(['a', 1]);
      expect(await part.standing()).toEqual(['c 1', 'b 1', '\0 1', 'a 1']);
      await part.put(['c', 1], ['b', 1]);
      expect(await part.standing()).toEqual(['c 1', 'b 1', '\0 1', 'a 1']);
      for (const season of part.seasons) {
        const elements = (await part.rows(season)).map(({ element }) => element);
        expect(elements.map((element) => element.slice(TIME_BYTES))).toEqual(['c', 'b', '\0', 'a']);
        expect(elements.toSorted()).toEqual(elements);
      }
    });

    test('within a call is that of the entries that changed them last', async () => {
      const part = await openPartOn(harness);
      const scores: Scores = [
        ...([
          ['a', 1],
          ['b', 2],
          ['c', 2],
          ['a', 1],
          ['b', 0],
          ['d', 2],
        ] as const),
      ];
      await part.put(...scores);
      expect(await part.standing()).toEqual(['b 2', 'c 2', 'a 2', 'd 2']);
      const many = Array.from({ length: 600 }, (_, index) => [`m${599 - index}`, 5] as const);
      await part.put(...many);
      expect((await part.standing()).slice(4)).toEqual(many.map(([name]) => `${name} 5`));
    });

    test('of many calls is that of the calls', async () => {
      const part = await openPartOn(harness);
      const names = Array.from({ length: 30 }, (_, index) => `m${29 - index}`);
      for (const name of names) await part.put([name, 1]);
      expect(await part.standing()).toEqual(names.map((name) => `${name} 1`));
    });

    test('in a season is that of the times in it', async () => {
      const part = await openPartOn(harness, { mode: 'best' });
      await part.put(['a', 1], ['b', 1]);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      await next.put(['b', 1], ['a', 1]);
      expect(await next.standing(next.season)).toEqual(['b 1', 'a 1']);
      expect(await next.standing()).toEqual(['a 1', 'b 1']);
    });

    test.each(['competition', 'dense'] as const)(
      'is with ties %s that of their UTF-8',
      async (ties) => {
        const part = await openPartOn(harness, { ties });
        const names = ['\u{1f600}', '\uffee', 'b', 'aa', 'a', 'é', 'Z', 'a\0'];
        await part.put(...names.map((name) => [name, 1] as const));
        const sorted = names
          .map((name) => Buffer.from(name))
          .sort((a, b) => Buffer.compare(a, b))
          .map((bytes) => bytes.toString('latin1'));
        expect((await part.rows()).map(({ element }) => element)).toEqual(sorted);
      },
    );
  });
}

function describeRequests(harness: BoardStoreHarness): void {
  describe('requests of one call', () => {
    test('are each refused or applied for themselves', async () => {
      const part = await openPartOn(harness, {}, { maxRememberedIds: 4 });
      await part.put(['frozen', 1], ['full', MAX]);
      await part.prepare(['frozen']);
      const batch = (fingerprint: string) => ({ key: batchOf('k', 1, fingerprint) });
      const ids = ['a', 'b', 'c', 'd', 'e'].map((id) => entryOf('x', 1, { id }));
      const requests = [
        requestOf([entryOf('x', 1)], batch('f')),
        requestOf([entryOf('x', 1, { index: 0 })], batch('g')),
        requestOf([entryOf('x', 1), entryOf('frozen', 1), entryOf('y', 1)]),
        requestOf(ids),
        requestOf([entryOf('full', 1)], { atomic: true }),
        requestOf([entryOf('z', 1)]),
      ];
      const callId = newTag();
      const outcomes = await part.run(requests, callId);
      expect(outcomes).toEqual([
        { kind: 'applied', entries: [{ code: 'applied', key: 1 }] },
        { kind: 'key_reused' },
        { kind: 'frozen' },
        { kind: 'ids_full' },
        { kind: 'out_of_range', entry: 0 },
        { kind: 'applied', entries: [{ code: 'applied', key: 1 }] },
      ]);
      const after = ['frozen 1', 'x 1', 'z 1', `full ${MAX}`];
      expect(await part.standing()).toEqual(after);
      expect(await part.run(requests, callId)).toEqual(outcomes);
      expect(await part.standing()).toEqual(after);
    });

    test('may hold a thousand entries', async () => {
      const part = await openPartOn(harness);
      const entries = Array.from({ length: 1_000 }, (_, index) => {
        return entryOf(`m${index % 700}`, index + 1, { id: `i${index}`, index });
      });
      const key = batchOf('k', 1_000);
      const outcomes = await part.apply(entries, { key });
      expect(outcomes.every(({ code }) => code === 'applied')).toBe(true);
      expect(outcomes[0]).toEqual({ code: 'applied', key: 702 });
      expect(await part.stats()).toMatchObject({ size: 700, sum: 500_500n });
      const again = await part.apply(entries, { key });
      expect(again).toEqual(outcomes.map(({ key: at }) => ({ code: 'duplicate', key: at })));
      expect(await part.batch('k', 1_000)).toBe(`f ${'1'.repeat(1_000)}`);
    });
  });
}

export function describeScores(harness: BoardStoreHarness): void {
  describeModes(harness);
  describeRange(harness);
  describeOrder(harness);
  describeRequests(harness);
}
