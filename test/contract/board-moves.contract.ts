import { describe, expect, test } from 'vitest';
import type { LocatedMember, PartRules } from '../../src/boards/store-port.ts';
import { Prng } from '../../src/lib/prng.ts';
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
} from './board-harness.ts';
import { newTag } from './harness.ts';

const TIES: PartRules['ties'][] = ['earliest', 'competition', 'dense'];
const DONE = { kind: 'done' };

/** All that is known of members in the seasons of a part. */
async function knownOf(
  part: PartUnderTest,
  members: readonly string[],
): Promise<(LocatedMember | null)[]> {
  const known = [];
  for (const season of part.seasons) {
    known.push(...(await part.ask({ kind: 'locate', members }, season)).members);
  }
  return known;
}

function describeFreezing(harness: BoardStoreHarness): void {
  describe('a chunk that is prepared', () => {
    test('freezes its members, who still count, and nobody else', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 1], ['b', 2], ['c', 3]);
      const before = await part.rows();
      const chunk = await part.prepare(['c', 'nobody', 'a']);
      expect(chunk).toMatchObject({ number: 1 });
      expect([...chunk!.members].sort()).toEqual(['a', 'c']);
      expect(await part.rows()).toEqual(before);
      expect(await part.read([])).toMatchObject({ kind: 'read', admitted: 0 });
      const key = batchOf('k', 1);
      const outcomes = await part.run([
        requestOf([entryOf('b', 1, { id: 'i' }), entryOf('a', 1)], { key }),
        requestOf([entryOf('a', 0)]),
        requestOf([entryOf('b', 1)]),
      ]);
      expect(outcomes).toMatchObject([{ kind: 'frozen' }, { kind: 'frozen' }, { kind: 'applied' }]);
      expect(await part.ids('i')).toEqual([false]);
      expect(await part.batch('k', 1)).toBeNull();
      for (const change of [{ kind: 'delete' }, { kind: 'change', meta: '1' }] as const) {
        expect(await part.edit('a', change)).toEqual({ kind: 'frozen' });
      }
      expect(await part.hide('b')).toEqual({ kind: 'edited' });
      expect(await part.standing()).toEqual(['a 1', 'c 3']);
    });

    test('goes before any other', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 1], ['b', 2]);
      const first = await part.prepare(['a']);
      expect(await part.prepare(['b'])).toEqual(first);
      expect(await part.prepare([])).toEqual(first);
      expect(brief(await part.apply([entryOf('b', 1)]))).toEqual(['applied 3']);
      await part.release(1);
      expect(await part.prepare([])).toBeNull();
      expect(await part.prepare(['a'])).toBeNull();
      expect(await part.prepare(['b'])).toMatchObject({ number: 2, members: ['b'] });
    });

    test('holds a member once, also one that is named twice', async () => {
      const part = await openPartOn(harness, { ties: 'dense' });
      const target = await part.sibling();
      await part.put(['a', 5]);
      const chunk = await part.prepare(['a', 'a']);
      expect(chunk).toMatchObject({ number: 1, members: ['a'] });
      await target.admit(chunk!);
      expect(await target.stats()).toMatchObject({ size: 1, sum: 5n });
      await target.edit('a', { kind: 'delete' });
      const levels = await target.ask({ kind: 'levels', below: 9, limit: 9 });
      expect(levels.keys).toEqual([]);
    });

    test('is none where none of the members is there', async () => {
      const part = await openPartOn(harness);
      await part.put(['a', 1]);
      expect(await part.prepare(['b', 'c'])).toBeNull();
      expect(brief(await part.apply([entryOf('a', 1), entryOf('b', 1)]))).toEqual([
        ...['applied 2', 'applied 1'],
      ]);
    });

    test('must have gone before an epoch ends', async () => {
      const part = await openPartOn(harness);
      const { store, at } = part;
      await part.put(['a', 1]);
      await part.prepare(['a']);
      await expect(store.raiseEpoch(at.part, at.epoch, newTag())).rejects.toThrow();
      expect(await store.raiseEpoch(at.part, at.epoch, at.epoch)).toEqual(DONE);
      await part.release(1);
      const next = newTag();
      expect(await store.raiseEpoch(at.part, at.epoch, next)).toEqual(DONE);
      const raised = part.seen({ epoch: next });
      await raised.put(['b', 1]);
      expect(await raised.prepare(['b'])).toMatchObject({ number: 1 });
    });
  });
}

function describeSteps(harness: BoardStoreHarness): void {
  describe.each(TIES)('a chunk that moves, with ties %s', (ties) => {
    const members = ['a', 'h', 'é\u{1f600}', '__proto__', 'max', 'min', 'only'];

    async function prepared() {
      const source = await openPartOn(harness, { mode: 'last', ties });
      const target = await source.sibling();
      const max = Number.MAX_SAFE_INTEGER;
      await source.put(['a', 5], ['h', 5], ['stays', 5], ['é\u{1f600}', 5], ['__proto__', 4]);
      await source.put(['max', max], ['min', -max]);
      const past = { ...source.season, id: 'past' };
      await source.seen({ seasons: [ALL_TIME, past] }).put(['only', 8], ['a', 6]);
      await source.hide('h');
      await source.edit('a', { kind: 'change', meta: '{"n":"é"}' });
      await target.put(['other', 5]);
      const seasons = [...source.seasons, past] as const;
      const outcome = await source.store.prepareChunk(source.at, { seasons, members });
      if (outcome.kind !== 'prepared') throw new Error(outcome.kind);
      return { source, target, past, seasons, chunk: outcome.chunk! };
    }

    test('is put into its target as it was, once', async () => {
      const { source, target, past, seasons, chunk } = await prepared();
      const before = await knownOf(source, members);
      const pastBefore = await source.ask({ kind: 'locate', members }, past);
      for (const _ of [1, 2]) {
        expect(await target.store.admitChunk(target.at, seasons, chunk)).toEqual(DONE);
        expect(await knownOf(target, members)).toEqual(before);
        expect(await target.ask({ kind: 'locate', members }, past)).toEqual(pastBefore);
        expect(await target.read([])).toMatchObject({ admitted: 1 });
        const sum = 5n + 6n + 5n + 4n + 8n;
        expect(await target.stats()).toMatchObject({ size: 7, sum });
        expect(await target.stats(past)).toMatchObject({ size: 2, sum: 14n });
      }
      expect(await target.standing(past)).toEqual(['a 6', 'only 8']);
      expect((await target.scanAll()).sort()).toEqual([...members, 'other'].sort());
      if (ties === 'dense') {
        const levels = await target.ask({ kind: 'levels', below: 100, limit: 9 });
        expect(levels.keys).toEqual([-Number.MAX_SAFE_INTEGER, 4, 5, 6, 8]);
      }
      // What came there later is not put back by a repetition.
      await target.put(['a', 1]);
      expect(await target.store.admitChunk(target.at, seasons, chunk)).toEqual(DONE);
      expect(await target.locate('a')).toMatchObject({ key: 1, meta: '{"n":"é"}' });
    });

    test('is taken out of its source, once', async () => {
      const { source, past, seasons, chunk } = await prepared();
      const before = await source.locate('stays');
      for (const _ of [1, 2]) {
        const released = await source.store.releaseChunk(source.at, seasons, chunk.number);
        expect(released).toEqual(DONE);
        expect(await knownOf(source, members)).toEqual([...members, ...members].map(() => null));
        expect(await source.locate('stays')).toEqual(before);
        expect(await source.scanAll()).toEqual(['stays']);
        expect(await source.standing(past)).toEqual([]);
        for (const season of source.seasons) {
          expect(await source.stats(season)).toMatchObject({ size: 1, sum: 5n });
        }
      }
      if (ties === 'dense') {
        const levels = await source.ask({ kind: 'levels', below: 100, limit: 9 });
        expect(levels.keys).toEqual([5]);
      }
      const fixed = entryOf('a', 1, { mayCreate: false });
      expect(brief(await source.apply([fixed]))).toEqual(['absent null']);
      expect(await source.edit('a', { kind: 'delete' })).toEqual({ kind: 'absent' });
      // Who is made here again has nothing of the one that left.
      await source.put(['a', 3]);
      expect(await source.locate('a')).toMatchObject({ key: 3, meta: null, isHidden: false });
      const again = await source.store.releaseChunk(source.at, seasons, chunk.number);
      expect(again).toEqual(DONE);
      expect(await source.locate('a')).toMatchObject({ key: 3 });
    });
  });

  test('chunks come in their order, and no other is put in or taken out', async () => {
    const source = await openPartOn(harness);
    const target = await source.sibling();
    await source.put(['a', 1], ['b', 2]);
    await expect(source.release(1)).rejects.toThrow();
    const first = await source.prepare(['a']);
    await expect(source.release(2)).rejects.toThrow();
    await expect(target.admit({ ...first!, number: 2 })).rejects.toThrow();
    expect(await target.standing()).toEqual([]);
    expect(await source.standing()).toEqual(['a 1', 'b 2']);
    expect(await target.admit(first!)).toEqual(DONE);
    expect(await source.release(1)).toEqual(DONE);
    const second = await source.prepare(['b']);
    expect(second).toMatchObject({ number: 2 });
    expect(await source.release(1)).toEqual(DONE);
    expect(await target.admit(first!)).toEqual(DONE);
    expect(await target.admit(second!)).toEqual(DONE);
    expect(await source.release(2)).toEqual(DONE);
    expect(await target.standing()).toEqual(['a 1', 'b 2']);
    expect(await source.standing()).toEqual([]);
  });

  test('numbers of chunks begin anew with an epoch', async () => {
    const source = await openPartOn(harness);
    const { store } = source;
    const target = await source.sibling();
    await source.put(['a', 1], ['b', 2]);
    await target.admit((await source.prepare(['a']))!);
    await source.release(1);
    const epoch = newTag();
    for (const { at } of [source, target]) {
      expect(await store.raiseEpoch(at.part, at.epoch, epoch)).toEqual(DONE);
    }
    const [from, to] = [source, target].map((part) => part.seen({ epoch }));
    expect(await to!.read([])).toMatchObject({ admitted: 0 });
    const back = await to!.prepare(['a']);
    expect(back).toMatchObject({ number: 1 });
    expect(await from!.admit(back!)).toEqual(DONE);
    expect(await to!.release(1)).toEqual(DONE);
    expect(await from!.standing()).toEqual(['a 1', 'b 2']);
  });
}

/** Members of both parts, read as readers do: the target first, then the source. */
async function readBoth(
  source: PartUnderTest,
  target: PartUnderTest,
  between: () => Promise<unknown> = async () => {},
): Promise<string[] | string> {
  const first = await target.read([ALL_ROWS]);
  if (first.kind !== 'read') return first.kind;
  await between();
  const second = await source.read([ALL_ROWS], ALL_TIME, first.admitted);
  if (second.kind === 'unreleased') return `unreleased ${second.chunk}`;
  if (second.kind !== 'read') return second.kind;
  return [first, second]
    .flatMap(({ answers }) => answers)
    .flatMap((answer) => (answer.kind === 'rows' ? source.named(answer.rows) : []))
    .sort();
}

function describeReaders(harness: BoardStoreHarness): void {
  describe('readers of a target and its source', () => {
    test('count each member once after each step, or are told what to do', async () => {
      const source = await openPartOn(harness);
      const target = await source.sibling();
      await source.put(['a', 1], ['b', 2], ['c', 3]);
      const all = ['a 1', 'b 2', 'c 3'];
      for (const [index, member] of ['a', 'b'].entries()) {
        const number = index + 1;
        const read = (between?: () => Promise<unknown>) => readBoth(source, target, between);
        expect(await read()).toEqual(all);
        const chunk = await source.prepare([member]);
        expect(await read()).toEqual(all);
        // It is admitted between the two reads: the reader still counts it in the source.
        expect(await read(() => target.admit(chunk!))).toEqual(all);
        expect(await read()).toBe(`unreleased ${number}`);
        expect(await source.read([])).toMatchObject({ kind: 'read' });
        expect(await read(() => source.release(number))).toEqual(all);
        const stale = await source.read([], ALL_TIME, number - 1);
        expect(stale).toEqual({ kind: 'behind' });
      }
      expect(await target.standing()).toEqual(['a 1', 'b 2']);
    });

    test('count each member of a board that moves once, whoever else does what', async () => {
      const prng = new Prng(5);
      const source = await openPartOn(harness);
      const target = await source.sibling();
      const names = Array.from({ length: 60 }, (_, index) => `m${index}`);
      await source.put(...names.map((name, index) => [name, index + 1] as const));
      const keys = new Map(names.map((name, index) => [name, index + 1]));
      const write = async (): Promise<void> => {
        const member = names[prng.nextInt(names.length)]!;
        for (const [part, mayCreate] of [
          [source, false],
          [target, true],
        ] as const) {
          const [outcome] = await part.run([requestOf([entryOf(member, 1, { mayCreate })])]);
          if (outcome?.kind !== 'applied') return;
          if (outcome.entries[0]!.code === 'absent') continue;
          keys.set(member, keys.get(member)! + 1);
          expect(outcome.entries[0]).toEqual({ code: 'applied', key: keys.get(member) });
          return;
        }
      };
      for (let start = 0; start < names.length; start += 7) {
        await write();
        const chunk = (await source.prepare(names.slice(start, start + 7)))!;
        await write();
        await target.admit(chunk);
        await write();
        await source.release(chunk.number);
        const expected = [...keys].map(([member, key]) => `${member} ${key}`).sort();
        expect(await readBoth(source, target)).toEqual(expected);
      }
      expect(await source.standing()).toEqual([]);
      const sum = [...keys.values()].reduce((total, key) => total + key, 0);
      for (const season of target.seasons) {
        expect(await target.stats(season)).toMatchObject({ size: 60, sum: BigInt(sum) });
      }
    });
  });

  test('a walk sees everybody who stays, whoever comes and goes meanwhile', async () => {
    const part = await openPartOn(harness);
    const { store, at } = part;
    const names = Array.from({ length: 4_000 }, (_, index) => `m${index}`);
    for (let start = 0; start < names.length; start += 1_000) {
      await part.put(...names.slice(start, start + 1_000).map((name) => [name, 1] as const));
    }
    const seen = new Set<string>();
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page = await store.scan(at, cursor);
      if (page.kind !== 'scanned') throw new Error(page.kind);
      for (const member of page.members) seen.add(member);
      const leaving = page.members.filter((member) => Number(member.slice(1)) % 5 === 0);
      const chunk = await part.prepare(leaving.slice(0, 200));
      if (chunk !== null) await part.release(chunk.number);
      await part.put([`new${pages}`, 1], ['m1', 1]);
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== null);
    expect(pages).toBeGreaterThan(1);
    const staying = names.filter((name) => Number(name.slice(1)) % 5 > 0);
    expect(staying.filter((name) => !seen.has(name))).toEqual([]);
  });
}

export function describeMoves(harness: BoardStoreHarness): void {
  describeFreezing(harness);
  describeSteps(harness);
  describeReaders(harness);
}
