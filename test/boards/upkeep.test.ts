import { expect, test } from 'vitest';
import type { BoardsRoom } from '../../src/boards/boards-room.ts';
import { livingParts } from '../../src/shards/layout.ts';
import { DAY_MS } from '../../src/streams/buckets.ts';
import { memoryStores, openRoom } from './real-board.ts';
import { SteppedStore } from './stepped-store.ts';

const NAME = 'quiz';
const ALL = { view: 'all', season: null } as const;
/** Ids are forgotten within twice their 400 days. */
const FORGOTTEN_MS = 801 * DAY_MS;
const MEMBERS = Array.from({ length: 30 }, (_, index) => `m${index}`);

function setUp() {
  const stores = memoryStores();
  const store = new SteppedStore(stores.store);
  const { clock } = stores;
  const room = openRoom({ ...stores, store });
  return { room, other: openRoom({ ...stores, store }), store, clock };
}

async function postAll({ boards }: BoardsRoom): Promise<number> {
  const entries = MEMBERS.map((member) => ({ member, by: 1, id: 'once' }));
  const { results } = await boards.post(NAME, { entries, key: null, withRanks: false });
  return results.filter(({ isDuplicate }) => isDuplicate).length;
}

async function sumOf({ boards }: BoardsRoom): Promise<string> {
  return (await boards.stats(NAME, { ...ALL, buckets: 1 })).sum;
}

async function layoutOf({ registry }: BoardsRoom) {
  return (await registry.reread(NAME))!.document.layout;
}

async function moveTo(room: BoardsRoom, shards: number): Promise<void> {
  await room.boards.setShards(NAME, shards);
  await room.mover.run(NAME);
}

test('a part of an earlier set goes once its ids are forgotten, and no sooner', async () => {
  const { room, store, clock } = setUp();
  await room.boards.put(NAME, {});
  await moveTo(room, 2);
  const two = await layoutOf(room);
  await postAll(room);
  await moveTo(room, 1);
  const over = two.parts[1]!;
  const at = {
    part: over,
    epoch: two.epoch,
    rules: { mode: 'increment', ties: 'earliest' },
  } as const;
  const all = { view: 'all', id: 'all', startsAtMs: 0, endsAtMs: null, expiresAtMs: null };
  const isGone = async (): Promise<boolean> =>
    (await store.read(at, { season: all, admitted: null, asks: [] })).kind === 'gone';

  await room.upkeep.run();
  expect(await isGone()).toBe(false);
  expect(await postAll(room)).toBe(MEMBERS.length);

  clock.jumpTo(clock.nowMs() + FORGOTTEN_MS);
  await room.upkeep.run();
  expect(await isGone()).toBe(true);
  expect((await layoutOf(room)).past).toEqual([]);
  expect(await sumOf(room)).toBe('30');
  expect(await postAll(room)).toBe(0);
  expect(await sumOf(room)).toBe('60');
});

test('a move that its process left in the middle is ended by another one', async () => {
  const { room, other, store } = setUp();
  await room.boards.put(NAME, {});
  await postAll(room);
  for (const steps of [0, 1, 2, 3, 4, 5, 6, 7]) {
    store.stepsLeft = steps;
    const target = (await layoutOf(room)).parts.length === 1 ? 2 : 1;
    await room.boards.setShards(NAME, target);
    await expect(room.mover.run(NAME)).rejects.toThrow('no more steps');
    store.stepsLeft = Number.POSITIVE_INFINITY;
    expect(await sumOf(other)).toBe('30');
    await other.upkeep.run();
    const layout = await layoutOf(other);
    expect(layout.move).toBeNull();
    expect(livingParts(layout).length).toBe(target);
    expect(await sumOf(room)).toBe('30');
    expect(await postAll(room)).toBe(MEMBERS.length);
  }
});

test('a board that was marked as deleted is dropped by whoever comes by', async () => {
  const { room, other } = setUp();
  await room.boards.put(NAME, {});
  await postAll(room);
  await room.registry.change(NAME, (before) => ({ ...before!, isDeleted: true }));
  await expect(sumOf(other)).rejects.toMatchObject({ code: 'board_not_found' });
  expect((await other.boards.list({ after: null, limit: 10 })).boards).toEqual([]);
  await other.upkeep.run();
  expect(await other.registry.reread(NAME)).toBeNull();
  expect(await postAll(other)).toBe(0);
  expect(await sumOf(other)).toBe('30');
});
