import { describe, expect, test } from 'vitest';
import { memberOf } from '../../src/boards/row-order.ts';
import type { PartRules } from '../../src/boards/store-port.ts';
import {
  ALL_ROWS,
  ALL_TIME,
  type BoardStoreHarness,
  brief,
  entryOf,
  openPartOn,
  type PartUnderTest,
} from './board-harness.ts';

const TIES: PartRules['ties'][] = ['earliest', 'competition', 'dense'];

function describeHiding(harness: BoardStoreHarness): void {
  describe.each(TIES)('a member that is hidden, with ties %s', (ties) => {
    async function withHidden(): Promise<PartUnderTest> {
      const part = await openPartOn(harness, { ties });
      await part.put(['a', 5], ['b', 7], ['c', 9], ['d', 7]);
      expect(await part.hide('b')).toEqual({ kind: 'edited' });
      return part;
    }

    test('is in no list, rank or sum, and is still to be found', async () => {
      const part = await withHidden();
      for (const season of part.seasons) {
        expect(await part.ask(ALL_ROWS, season)).toMatchObject({ before: 0, start: 0, size: 3 });
        expect(await part.standing(season)).toEqual(['a 5', 'd 7', 'c 9']);
        expect(await part.stats(season, [0, 7, 8])).toEqual({
          ...{ kind: 'stats', size: 3, sum: 21n, firstKey: 5, lastKey: 9, counts: [1, 1] },
        });
        const count = { kind: 'count', before: [{ key: 9, element: '' }], without: 'b' } as const;
        expect(await part.ask(count, season)).toEqual({ kind: 'count', before: [2], size: 3 });
        expect(await part.locate('b', season)).toMatchObject({ key: 7, isHidden: true });
        expect(await part.locate('d', season)).toMatchObject({ key: 7, isHidden: false });
      }
      expect((await part.scanAll()).sort()).toEqual(['a', 'b', 'c', 'd']);
    });

    test('is counted on, also in a season that begins', async () => {
      const part = await withHidden();
      expect(brief(await part.apply([entryOf('b', -6), entryOf('a', 1)]))).toEqual([
        ...['applied 1', 'applied 6'],
      ]);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      await next.put(['b', 2], ['c', 1]);
      expect(await next.standing(next.season)).toEqual(['c 1']);
      expect(await next.locate('b', next.season)).toMatchObject({ key: 2, isHidden: true });
      expect(await next.standing()).toEqual(['a 6', 'd 7', 'c 10']);
      expect(await next.locate('b')).toMatchObject({ key: 3, isHidden: true });
      expect(await next.stats()).toMatchObject({ size: 3, sum: 23n });
      await next.store.edit(next.at, {
        ...{ callId: 'show', member: 'b', change: { kind: 'change', isHidden: false } },
        seasons: [ALL_TIME, part.season, next.season],
      });
      expect(await next.standing()).toEqual(['b 3', 'a 6', 'd 7', 'c 10']);
      expect(await part.standing(part.season)).toEqual(['b 1', 'a 6', 'd 7', 'c 9']);
      expect(await next.standing(next.season)).toEqual(['c 1', 'b 2']);
      expect(await next.stats(next.season)).toMatchObject({ size: 2, sum: 3n });
    });

    test('comes back to where it was', async () => {
      const part = await openPartOn(harness, { ties });
      await part.put(['a', 5], ['b', 7], ['c', 9], ['d', 7]);
      const before = [await part.rows(), await part.rows(part.season)];
      for (const isHidden of [true, true, false, false]) {
        expect(await part.hide('b', isHidden)).toEqual({ kind: 'edited' });
      }
      expect([await part.rows(), await part.rows(part.season)]).toEqual(before);
      expect(await part.stats()).toMatchObject({ size: 4, sum: 28n });
      if (ties === 'dense') {
        const levels = await part.ask({ kind: 'levels', below: 100, limit: 10 });
        expect(levels).toEqual({ kind: 'levels', count: 3, keys: [5, 7, 9] });
      }
    });
  });

  test('a level of which all members are hidden is none', async () => {
    const part = await openPartOn(harness, { ties: 'dense' });
    await part.put(['a', 5], ['b', 7], ['c', 7], ['d', 9]);
    const levels = async () => (await part.ask({ kind: 'levels', below: 9, limit: 10 })).keys;
    await part.hide('b');
    expect(await levels()).toEqual([5, 7]);
    await part.hide('c');
    expect(await levels()).toEqual([5]);
    await part.put(['c', -2]);
    expect(await levels()).toEqual([5]);
    await part.hide('c', false);
    expect(await part.standing()).toEqual(['a 5', 'c 5', 'd 9']);
    expect(await levels()).toEqual([5]);
    await part.edit('a', { kind: 'delete' });
    expect(await levels()).toEqual([5]);
    await part.edit('c', { kind: 'delete' });
    expect(await levels()).toEqual([]);
  });
}

function describeEdits(harness: BoardStoreHarness): void {
  describe('what is known of a member', () => {
    test('is told with its rows, and kept until it is changed', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5], ['b', 7]);
      const meta = '{"name":"\u{1f600}\\u0000"}';
      const told = async () => {
        const rows = await part.rows(part.season);
        const located = await part.locate('a');
        return [...rows.map((row) => row.meta), located?.meta];
      };
      expect(await told()).toEqual([null, null, null]);
      expect(await part.edit('a', { kind: 'change', meta })).toEqual({ kind: 'edited' });
      expect(await told()).toEqual([meta, null, meta]);
      await part.put(['a', 10]);
      await part.edit('a', { kind: 'change' });
      expect(await told()).toEqual([null, meta, meta]);
      await part.edit('a', { kind: 'change', isHidden: true });
      expect(await told()).toEqual([null, meta]);
      await part.edit('a', { kind: 'change', isHidden: false, meta: '{}' });
      expect(await told()).toEqual([null, '{}', '{}']);
      await part.edit('a', { kind: 'change', meta: null });
      expect(await told()).toEqual([null, null, null]);
    });
  });

  describe('a member that is deleted', () => {
    test('is nowhere, and begins anew', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5], ['b', 7]);
      await part.edit('a', { kind: 'change', meta: '{}' });
      await part.hide('a');
      expect(await part.edit('a', { kind: 'delete' })).toEqual({ kind: 'edited' });
      for (const season of part.seasons) {
        expect(await part.locate('a', season)).toBeNull();
        expect(await part.standing(season)).toEqual(['b 7']);
        expect(await part.stats(season)).toMatchObject({ size: 1, sum: 7n });
      }
      expect(await part.scanAll()).toEqual(['b']);
      const fixed = entryOf('a', 1, { mayCreate: false });
      expect(brief(await part.apply([fixed]))).toEqual(['absent null']);
      expect(brief(await part.apply([entryOf('a', 1)]))).toEqual(['applied 1']);
      expect(await part.locate('a')).toMatchObject({ key: 1, isHidden: false, meta: null });
      expect(await part.standing(part.season)).toEqual(['a 1', 'b 7']);
    });

    test('leaves also seasons that have ended', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5], ['b', 7]);
      const next = part.seen({ seasons: [ALL_TIME, { ...part.season, id: 'next' }] });
      await next.put(['b', 1]);
      const seasons = [...part.seasons, next.season];
      const { store, at } = part;
      for (const member of ['a', 'b']) {
        const edit = { callId: member, member, change: { kind: 'delete' }, seasons } as const;
        expect(await store.edit(at, edit)).toEqual({ kind: 'edited' });
      }
      for (const season of seasons) expect(await part.standing(season)).toEqual([]);
    });

    test('whose rows all are gone leaves a part that is there', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 5]);
      await part.edit('a', { kind: 'delete' });
      expect(await part.ask(ALL_ROWS)).toMatchObject({ size: 0 });
      expect(await part.stats()).toMatchObject({ sum: 0n, firstKey: null, lastKey: null });
    });
  });

  test('nobody is changed who is not there', async () => {
    const part = await openPartOn(harness);
    await part.put(['a', 5]);
    for (const change of [
      { kind: 'delete' },
      { kind: 'change', isHidden: true },
      { kind: 'change', meta: '{}' },
    ] as const) {
      expect(await part.edit('b', change)).toEqual({ kind: 'absent' });
    }
    await part.put(['b', 6]);
    expect(await part.locate('b')).toMatchObject({ key: 6, isHidden: false, meta: null });
  });

  test.each(TIES)('members of any name are edited, with ties %s', async (ties) => {
    const part = await openPartOn(harness, { ties });
    const names = ['a', '__proto__', '\u{1f600}', 'é', 'a\0b', '-1'];
    await part.put(...names.map((name, index) => [name, index + 1] as const));
    for (const name of names) {
      await part.edit(name, { kind: 'change', isHidden: true, meta: JSON.stringify(name) });
      expect(await part.locate(name)).toMatchObject({ isHidden: true });
    }
    expect(await part.standing()).toEqual([]);
    for (const name of names) await part.hide(name, false);
    const rows = await part.rows();
    expect(rows.map(({ meta }) => JSON.parse(meta!) as string)).toEqual(names);
    expect(rows.map(({ element }) => memberOf(element, ties))).toEqual(names);
    for (const name of names) await part.edit(name, { kind: 'delete' });
    expect(await part.scanAll()).toEqual([]);
  });
}

export function describeMembers(harness: BoardStoreHarness): void {
  describeHiding(harness);
  describeEdits(harness);
}
