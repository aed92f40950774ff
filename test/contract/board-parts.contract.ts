import { describe, expect, test } from 'vitest';
import type { Refusal, SeasonAt } from '../../src/boards/store-port.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';
import {
  ALL_ROWS,
  ALL_TIME,
  batchOf,
  type BoardStoreHarness,
  brief,
  entryOf,
  openPartOn,
  type PartUnderTest,
  requestOf,
  seasonAround,
} from './board-harness.ts';
import { newTag } from './harness.ts';

const CHUNK = { number: 1, members: ['a'], content: new Uint8Array(0) };

/** The answers of all methods that know an epoch; a scan need not look at it. */
async function answersOf(part: PartUnderTest): Promise<{ kind: string }[]> {
  const { store, at } = part;
  return [
    await part.write([requestOf([entryOf('a', 1)])]),
    await part.edit('a', { kind: 'delete' }),
    await part.read([]),
    await store.remembered(at.part, at.epoch, { ids: ['i'], keys: ['k'] }),
    await store.raiseEpoch(at.part, at.epoch, newTag()),
    await store.prepareChunk(at, { seasons: part.seasons, members: ['a'] }),
    await part.admit(CHUNK),
    await part.release(1),
  ];
}

function describeOpening(harness: BoardStoreHarness): void {
  describe('parts of boards', () => {
    test('new names differ from all others', async () => {
      const { store } = await harness.open();
      const first = store.newParts(20, []);
      const names = [...first, ...store.newParts(20, first)];
      expect(new Set(names).size).toBe(40);
      expect(store.primaryCount).toBeGreaterThanOrEqual(1);
    });

    test('one that was not opened is gone, whatever is asked, and stays so', async () => {
      const opened = await openPartOn(harness);
      const [name] = opened.store.newParts(1, []);
      const { store } = opened;
      const part = opened.seen({ part: name! });
      for (const answer of await answersOf(part)) expect(answer).toEqual({ kind: 'gone' });
      expect(await part.read([])).toEqual({ kind: 'gone' });
      expect(await store.remembered(name!, null, { ids: ['i'], keys: ['k'] })).toEqual({
        ...{ kind: 'remembered', ids: [false], keys: [null] },
      });
    });

    test('one that is opened has no members, and is opened once', async () => {
      const part = await openPartOn(harness);
      expect(await part.ask(ALL_ROWS)).toEqual({
        ...{ kind: 'rows', before: 0, start: 0, size: 0, rows: [] },
      });
      await part.put(['a', 5]);
      await part.store.openPart(part.at.part, newTag());
      expect(await part.standing()).toEqual(['a 5']);
    });

    test('one of another epoch does nothing, and tells its own', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5]);
      const other = part.seen({ epoch: newTag() });
      const stale = { kind: 'stale', epoch: part.at.epoch };
      for (const answer of await answersOf(other)) expect(answer).toEqual(stale);
      expect(await part.standing()).toEqual(['a 5']);
      const { part: name } = part.at;
      const anyEpoch = await part.store.remembered(name, null, { ids: ['i'], keys: [] });
      expect(anyEpoch).toEqual({ kind: 'remembered', ids: [false], keys: [] });
    });

    test('an epoch is raised once, from the one before it', async () => {
      const part = await openPartOn(harness);
      const { store, at } = part;
      const [second, third] = [newTag(), newTag()];
      await part.put(['a', 5]);
      expect(await store.raiseEpoch(at.part, at.epoch, second)).toEqual({ kind: 'done' });
      expect(await store.raiseEpoch(at.part, at.epoch, second)).toEqual({ kind: 'done' });
      expect(await part.read([])).toEqual({ kind: 'stale', epoch: second });
      const skipped = await store.raiseEpoch(at.part, at.epoch, third);
      expect(skipped).toEqual({ kind: 'stale', epoch: second });
      expect(await part.seen({ epoch: second }).standing()).toEqual(['a 5']);
    });

    test('one that is dropped is gone, and one of its name begins empty', async () => {
      const part = await openPartOn(harness);
      const { store, at } = part;
      const call = newTag();
      const key = batchOf('k', 2);
      const entries = [entryOf('a', 5, { id: 'i' }), entryOf('b', 6, { index: 1 })];
      await part.run([requestOf(entries, { key })], call);
      await part.edit('a', { kind: 'change', meta: '{}' });
      await part.hide('b');
      for (const _ of [1, 2]) {
        await store.dropPart(at.part, part.seasons);
        for (const answer of await answersOf(part)) expect(answer).toEqual({ kind: 'gone' });
      }
      await store.openPart(at.part, at.epoch);
      for (const season of part.seasons) {
        expect(await part.standing(season)).toEqual([]);
        expect(await part.stats(season)).toMatchObject({ size: 0, sum: 0n });
      }
      expect(await part.scanAll()).toEqual([]);
      expect(await part.ids('i')).toEqual([false]);
      expect(await part.batch('k', 2)).toBeNull();
      expect(await part.run([requestOf(entries, { key })], call)).toMatchObject([
        { entries: [{ code: 'applied' }, { code: 'applied' }] },
      ]);
      expect(await part.locate('a')).toMatchObject({ meta: null, isHidden: false });
      expect(await part.standing()).toEqual(['a 5', 'b 6']);
    });

    test('parts have nothing in common', async () => {
      const part = await openPartOn(harness);
      const other = await part.sibling();
      const key = batchOf('k', 1);
      for (const one of [part, other]) {
        expect(brief(await one.apply([entryOf('a', 5, { id: 'i' })], { key }))).toEqual([
          'applied 5',
        ]);
      }
      await part.edit('a', { kind: 'delete' });
      await part.store.dropPart(part.at.part, part.seasons);
      expect(await other.standing()).toEqual(['a 5']);
    });
  });
}

function describeSeasons(harness: BoardStoreHarness): void {
  describe('seasons', () => {
    const others: [string, (nowMs: number) => Partial<SeasonAt>][] = [
      [
        'has not begun',
        (nowMs) => ({ startsAtMs: nowMs + HOUR_MS, endsAtMs: nowMs + 2 * HOUR_MS }),
      ],
      ['has ended', (nowMs) => ({ startsAtMs: nowMs - HOUR_MS, endsAtMs: nowMs - 1 })],
    ];
    test.each(others)('of which one %s are refused, and nothing is done', async (_, fieldsAt) => {
      const part = await openPartOn(harness);
      await part.put(['a', 5]);
      const { nowMs } = part.boards;
      const beforeMs = await nowMs();
      const other = seasonAround(beforeMs, { id: 'other', ...fieldsAt(beforeMs) });
      const late = part.seen({ seasons: [ALL_TIME, other] });
      const request = { seasons: late.seasons, members: ['a'] };
      const answers = [
        await late.write([requestOf([entryOf('a', 1), entryOf('b', 1)])]),
        await late.edit('a', { kind: 'delete' }),
        await late.store.prepareChunk(late.at, request),
      ] as Refusal[];
      for (const answer of answers) {
        expect(answer).toEqual({ kind: 'other_season', nowMs: expect.any(Number) });
        const told = answer.kind === 'other_season' ? answer.nowMs : 0;
        expect(told).toBeGreaterThanOrEqual(beforeMs);
        expect(told).toBeLessThanOrEqual(await nowMs());
      }
      expect(await part.standing()).toEqual(['a 5']);
      expect(brief(await part.apply([entryOf('a', 1)]))).toEqual(['applied 6']);
    });

    test('that have ended may stand beside the current one of their view', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5]);
      const nowMs = await part.boards.nowMs();
      const endsAtMs = nowMs - 1;
      const ended = seasonAround(nowMs, { id: 'ended', startsAtMs: 0, endsAtMs });
      const seasons = [ALL_TIME, ended, part.season];
      const [alone, both] = [seasons.slice(0, 2), seasons].map((given) => {
        return {
          callId: newTag(),
          member: 'a',
          change: { kind: 'change' },
          seasons: given,
        } as const;
      });
      const { store, at } = part;
      expect(await store.edit(at, alone!)).toMatchObject({ kind: 'other_season' });
      expect(await store.edit(at, both!)).toEqual({ kind: 'edited' });
      const prepared = await store.prepareChunk(at, { seasons, members: [] });
      expect(prepared).toEqual({ kind: 'prepared', chunk: null });
      const alsoPrepared = await store.prepareChunk(at, {
        seasons: seasons.slice(0, 2),
        members: [],
      });
      expect(alsoPrepared).toMatchObject({ kind: 'other_season' });
    });

    test('of one view begin anew, and all-time goes on', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5], ['b', 6]);
      const nextSeason = { ...part.season, id: '2026-W51' };
      const next = part.seen({ seasons: [ALL_TIME, nextSeason] });
      expect(brief(await next.apply([entryOf('b', -2)]))).toEqual(['applied 4']);
      expect(await part.standing(part.season)).toEqual(['a 5', 'b 6']);
      expect(await part.standing(nextSeason)).toEqual(['b -2']);
      expect(await part.standing()).toEqual(['b 4', 'a 5']);
    });

    test('of views and ids that look alike are told apart', async () => {
      const part = await openPartOn(harness);
      const nowMs = await part.boards.nowMs();
      const pairs = [
        ...[
          ['a', 'b:c'],
          ['a:b', 'c'],
          ['a', 'b'],
          ['ab', ''],
          ['__proto__', '1'],
        ],
        ...[
          ['a\n', 'b'],
          ['ключ', '{x}'],
        ],
      ] as const;
      const seasons = pairs.map(([view, id]) => seasonAround(nowMs, { view: view!, id: id! }));
      for (const [index, season] of seasons.entries()) {
        await part.seen({ seasons: [ALL_TIME, season] }).put(['a', index + 1]);
      }
      const standings = [];
      for (const season of seasons) standings.push(...(await part.standing(season)));
      expect(standings).toEqual(pairs.map((_, index) => `a ${index + 1}`));
    });

    test.each(['earliest', 'competition', 'dense'] as const)(
      'are forgotten when they expire, with ties %s, and nothing else is',
      async (ties) => {
        const part = await openPartOn(harness, { ties });
        const expiresAtMs = (await part.boards.nowMs()) + 40;
        const short = { ...part.season, id: 'short', expiresAtMs };
        const brieflyKept = part.seen({ seasons: [ALL_TIME, short] });
        await part.put(['c', 1]);
        await brieflyKept.put(['a', 5], ['b', 6]);
        await brieflyKept.hide('b');
        await part.boards.passMs(45);
        expect(await part.ask(ALL_ROWS, short)).toMatchObject({ size: 0, rows: [] });
        expect(await part.locate('b', short)).toBeNull();
        expect(await part.stats(short)).toMatchObject({ size: 0, sum: 0n, firstKey: null });
        if (ties === 'dense') {
          const levels = await part.ask({ kind: 'levels', below: 1_000, limit: 10 }, short);
          expect(levels).toEqual({ kind: 'levels', count: 0, keys: [] });
        }
        expect(await part.standing(part.season)).toEqual(['c 1']);
        expect(await part.standing()).toEqual(['c 1', 'a 5']);
        const again = { ...short, expiresAtMs: expiresAtMs + HOUR_MS };
        await part.seen({ seasons: [ALL_TIME, again] }).put(['a', 7]);
        expect(await part.standing(again)).toEqual(['a 7']);
        expect(await part.stats(again)).toMatchObject({ size: 1, sum: 7n });
        expect(await part.standing()).toEqual(['c 1', 'a 12']);
      },
    );
  });
}

export function describeParts(harness: BoardStoreHarness): void {
  describeOpening(harness);
  describeSeasons(harness);
}
