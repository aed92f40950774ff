import { describe, expect, test } from 'vitest';
import {
  ALL_TIME,
  batchOf,
  type BoardStoreHarness,
  brief,
  entryOf,
  openPartOn,
  requestOf,
  seasonAround,
} from './board-harness.ts';
import { newTag } from './harness.ts';

function describeCalls(harness: BoardStoreHarness): void {
  describe('a call that comes again', () => {
    test('answers what became of it, with the keys of now, and does nothing', async () => {
      const part = await openPartOn(harness);
      const callId = newTag();
      const requests = [
        requestOf([entryOf('a', 5, { id: 'i' }), entryOf('a', 5, { id: 'i' })]),
        requestOf([entryOf('b', 1), entryOf('c', 1, { mayCreate: false })]),
      ];
      await part.run(requests, callId);
      await part.put(['a', 10], ['c', 3]);
      await part.edit('b', { kind: 'delete' });
      const codes = [
        ['applied', 'duplicate'],
        ['applied', 'absent'],
      ];
      const keys = [
        [15, 15],
        [null, 3],
      ];
      const expected = codes.map((ofRequest, index) => ({
        kind: 'applied',
        entries: ofRequest.map((code, at) => ({ code, key: keys[index]![at] })),
      }));
      expect(await part.run(requests, callId)).toEqual(expected);
      expect(await part.standing()).toEqual(['c 3', 'a 15']);
    });

    test('is known whatever epoch and season it is by now', async () => {
      const part = await openPartOn(harness);
      const { store, at, boards } = part;
      const [writeId, editId] = [newTag(), newTag()];
      const requests = [requestOf([entryOf('a', 5)])];
      const outcomes = await part.run(requests, writeId);
      await part.edit('a', { kind: 'change', meta: '1' }, editId);
      const later = newTag();
      await store.raiseEpoch(at.part, at.epoch, later);
      expect(await part.run(requests, writeId)).toEqual(outcomes);
      expect(await part.edit('a', { kind: 'delete' }, editId)).toEqual({ kind: 'edited' });
      const ended = seasonAround((await boards.nowMs()) - 1e9);
      const late = part.seen({ epoch: later, seasons: [ALL_TIME, ended] });
      expect(await late.run(requests, writeId)).toEqual(outcomes);
      expect(await late.edit('a', { kind: 'delete' }, editId)).toEqual({ kind: 'edited' });
      expect(await late.standing()).toEqual(['a 5']);
      expect(await part.write(requests)).toEqual({ kind: 'stale', epoch: later });
    });

    test('is another one once it is forgotten', async () => {
      const part = await openPartOn(harness, {}, { callTtlMs: 20 });
      const callId = newTag();
      const requests = [requestOf([entryOf('a', 5)])];
      await part.run(requests, callId);
      await part.boards.passMs(41);
      expect(await part.run(requests, callId)).toMatchObject([{ entries: [{ key: 10 }] }]);
    });
  });
}

function describeIds(harness: BoardStoreHarness): void {
  describe('ids of increments', () => {
    test('are applied once: in a request, in a call, in all calls', async () => {
      const part = await openPartOn(harness);
      const entry = entryOf('a', 5, { id: 'i' });
      const outcomes = await part.run([requestOf([entry, entry]), requestOf([entry])]);
      expect(outcomes).toMatchObject([
        { entries: [{ code: 'applied' }, { code: 'duplicate' }] },
        { entries: [{ code: 'duplicate' }] },
      ]);
      expect(brief(await part.apply([entry, entryOf('a', 5)]))).toEqual([
        ...['duplicate 10', 'applied 10'],
      ]);
      const fixed = entryOf('b', 1, { id: 'i', mayCreate: false });
      expect(brief(await part.apply([fixed]))).toEqual(['duplicate null']);
    });

    test('are remembered of what was applied, and of nothing else', async () => {
      const part = await openPartOn(harness);
      const ids = ['zero', 'one', 'absent', 'range', '__proto__', '\u{1f600}'];
      const max = Number.MAX_SAFE_INTEGER;
      await part.apply([
        entryOf('a', 0, { id: 'zero' }),
        entryOf('a', 1, { id: 'one' }),
        entryOf('b', 1, { id: 'absent', mayCreate: false }),
        entryOf('a', max, { id: 'range' }),
        ...['__proto__', '\u{1f600}'].map((id) => entryOf('a', 1, { id })),
      ]);
      expect(await part.ids(...ids, 'never')).toEqual([
        ...[true, true, false, false, true, true, false],
      ]);
      expect(await part.ids()).toEqual([]);
      expect(brief(await part.apply([entryOf('a', 0, { id: 'zero' })]))).toEqual(['duplicate 3']);
    });

    test('outlive their member, the epoch, and its release', async () => {
      const part = await openPartOn(harness);
      const { store, at } = part;
      await part.apply([entryOf('a', 1, { id: 'i' }), entryOf('b', 1, { id: 'j' })]);
      await part.edit('a', { kind: 'delete' });
      const chunk = await part.prepare(['b']);
      await part.release(chunk!.number);
      expect(brief(await part.apply([entryOf('a', 1, { id: 'i' })]))).toEqual(['duplicate null']);
      await store.raiseEpoch(at.part, at.epoch, newTag());
      const asked = { ids: ['i', 'j', 'k'], keys: [] };
      expect(await store.remembered(at.part, null, asked)).toEqual({
        ...{ kind: 'remembered', ids: [true, true, false], keys: [] },
      });
    });

    test('are new ones again once they are forgotten', async () => {
      const part = await openPartOn(harness, {}, { idTtlMs: 20 });
      const entry = entryOf('a', 5, { id: 'i' });
      await part.apply([entry]);
      await part.boards.passMs(41);
      expect(await part.ids('i')).toEqual([false]);
      expect(brief(await part.apply([entry]))).toEqual(['applied 10']);
    });

    test('are as many as there may be, and not one more', async () => {
      const part = await openPartOn(harness, {}, { maxRememberedIds: 4 });
      const entriesOf = (...ids: string[]) => ids.map((id) => entryOf('a', 1, { id }));
      const key = batchOf('k', 2);
      expect(await part.run([requestOf(entriesOf('1', '2', '3', '4', '5'))])).toEqual([
        { kind: 'ids_full' },
      ]);
      expect(await part.run([requestOf(entriesOf('1', '2', '3', '4'), { key })])).toEqual([
        { kind: 'ids_full' },
      ]);
      const outcomes = await part.run([
        requestOf(entriesOf('1', '2')),
        requestOf(entriesOf('3', '4', '5')),
        requestOf(entriesOf('2', '3'), { key }),
        requestOf(entriesOf('6')),
        requestOf([], { key: batchOf('l', 1) }),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual([
        ...['applied', 'ids_full', 'applied', 'ids_full', 'ids_full'],
      ]);
      expect(await part.standing()).toEqual(['a 3']);
      expect(await part.ids('1', '2', '3', '4', '5', '6')).toEqual([
        ...[true, true, true, false, false, false],
      ]);
      expect(await part.batch('l', 1)).toBeNull();
      // What needs no new one has room.
      const known = [...entriesOf('1', '2', '3'), entryOf('a', 1)];
      expect(brief(await part.apply(known))).toEqual([
        ...['duplicate 4', 'duplicate 4', 'duplicate 4', 'applied 4'],
      ]);
      const second = entryOf('a', 1, { index: 1 });
      expect(brief(await part.apply([second], { key }))).toEqual(['applied 5']);
      expect(brief(await part.apply([second], { key }))).toEqual(['duplicate 5']);
    });
  });
}

function describeBatches(harness: BoardStoreHarness): void {
  describe('batches with a key', () => {
    test('apply each of their entries once, by its place', async () => {
      const part = await openPartOn(harness);
      const key = batchOf('k', 20);
      const entries = [0, 7, 8, 15, 16, 19].map((index) => entryOf('a', 1, { index }));
      expect(brief(await part.apply(entries.slice(0, 3), { key }))).toEqual([
        ...['applied 3', 'applied 3', 'applied 3'],
      ]);
      expect(await part.batch('k', 20)).toBe('f 10000001100000000000');
      expect(brief(await part.apply(entries, { key }))).toEqual([
        ...['duplicate 6', 'duplicate 6', 'duplicate 6'],
        ...['applied 6', 'applied 6', 'applied 6'],
      ]);
      expect(await part.batch('k', 20)).toBe('f 10000001100000011001');
      expect(brief(await part.apply(entries, { key }))).toEqual(entries.map(() => 'duplicate 6'));
      expect(brief(await part.apply(entries, { key: batchOf('l', 20) }))).toEqual(
        entries.map(() => 'applied 12'),
      );
    });

    test('in one call see each other', async () => {
      const part = await openPartOn(harness);
      const key = batchOf('k', 2);
      const [first, second] = [0, 1].map((index) => entryOf('a', 1, { index }));
      const outcomes = await part.run([
        requestOf([first!], { key }),
        requestOf([first!, second!], { key }),
        requestOf([second!], { key: batchOf('k', 2, 'other') }),
      ]);
      expect(outcomes).toMatchObject([
        { entries: [{ code: 'applied' }] },
        { entries: [{ code: 'duplicate' }, { code: 'applied' }] },
        { kind: 'key_reused' },
      ]);
    });

    test('of another body are refused, and nothing of them is done', async () => {
      const part = await openPartOn(harness);
      await part.apply([entryOf('a', 1)], { key: batchOf('k', 2) });
      const other = requestOf([entryOf('a', 1, { index: 1, id: 'i' })], {
        key: batchOf('k', 2, 'other'),
      });
      expect(await part.run([other])).toEqual([{ kind: 'key_reused' }]);
      expect(await part.standing()).toEqual(['a 1']);
      expect(await part.ids('i')).toEqual([false]);
      expect(await part.batch('k', 2)).toBe('f 10');
    });

    test('claim their key without an entry', async () => {
      const part = await openPartOn(harness);
      const key = batchOf('k', 9);
      expect(await part.batch('k', 9)).toBeNull();
      expect(await part.run([requestOf([], { key })])).toEqual([{ kind: 'applied', entries: [] }]);
      expect(await part.batch('k', 9)).toBe('f 000000000');
      expect(await part.run([requestOf([], { key: batchOf('k', 9, 'other') })])).toEqual([
        { kind: 'key_reused' },
      ]);
      await part.apply([entryOf('a', 1, { index: 8 })], { key });
      expect(await part.run([requestOf([], { key })])).toEqual([{ kind: 'applied', entries: [] }]);
      expect(await part.batch('k', 9)).toBe('f 000000001');
    });

    test('remember no entry that was not applied', async () => {
      const part = await openPartOn(harness);
      const key = batchOf('k', 4);
      await part.apply([entryOf('a', 1, { id: 'i' })]);
      await part.apply(
        [
          entryOf('b', 1, { index: 0, mayCreate: false }),
          entryOf('a', Number.MAX_SAFE_INTEGER, { index: 1 }),
          entryOf('a', 1, { index: 2, id: 'i' }),
          entryOf('a', 0, { index: 3 }),
        ],
        { key },
      );
      expect(await part.batch('k', 4)).toBe('f 0001');
      // Elsewhere it may have been made meanwhile: then the same entry is applied here.
      expect(brief(await part.apply([entryOf('b', 1, { index: 0 })], { key }))).toEqual([
        'applied 1',
      ]);
    });

    test('are new ones again once they are forgotten', async () => {
      const part = await openPartOn(harness, {}, { keyTtlMs: 20 });
      await part.apply([entryOf('a', 5)], { key: batchOf('k', 1) });
      await part.boards.passMs(41);
      expect(await part.batch('k', 1)).toBeNull();
      const other = { key: batchOf('k', 1, 'other') };
      expect(brief(await part.apply([entryOf('a', 5)], other))).toEqual(['applied 10']);
      expect(await part.batch('k', 1)).toBe('other 1');
    });
  });
}

export function describeRetries(harness: BoardStoreHarness): void {
  describeCalls(harness);
  describeIds(harness);
  describeBatches(harness);
}
