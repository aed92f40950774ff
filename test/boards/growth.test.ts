import { expect, test } from 'vitest';
import { type BoardsRoom, openBoardsRoom } from '../../src/boards/boards-room.ts';
import { ManualClock } from '../../src/lib/clock.ts';
import type { DocumentStore } from '../../src/lib/document-store.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { MemoryBoardStore } from '../../src/store/memory/memory-board-store.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { MemoryRateStore } from '../../src/store/memory/memory-rate-store.ts';

const PART_RATE = 100;
const INTERVAL_MS = 5_000;
const LIMITS = { keyTtlMs: 86_400_000, idTtlMs: 3_600_000, callTtlMs: 600_000 };

/** As if there were three primaries: parts of memory all lie in one process. */
class WideStore extends MemoryBoardStore {
  override readonly primaryCount = 3;
}

class Processes {
  readonly clock = new ManualClock(Date.UTC(2026, 10, 30));
  readonly #tags = seededTags(new Prng(1));
  readonly #rates = new MemoryRateStore();
  readonly #documents: DocumentStore = new MemoryDocumentStore(this.#tags);
  readonly #store: MemoryBoardStore;

  constructor(Store: typeof MemoryBoardStore = WideStore) {
    const { clock } = this;
    this.#store = new Store({ ...LIMITS, clock, tags: this.#tags, maxRememberedIds: 1e6 });
  }

  open(): BoardsRoom {
    return openBoardsRoom({
      ...{ store: this.#store, documents: this.#documents, rates: this.#rates, ...LIMITS },
      ...{ clock: this.clock, tags: this.#tags, hash: new KeyedHash({ k0: 1, k1: 2 }) },
      ...{ maxBoards: 100, partRatePerSecond: PART_RATE, headroom: 0.5 },
    });
  }
}

/** For one interval of reports; most of it from batches, as hot boards get them. */
async function write(room: BoardsRoom, board: string, perSecond: number): Promise<void> {
  const left = (perSecond * INTERVAL_MS) / 1_000;
  for (let sent = 0; sent < left; sent += 100) {
    const length = Math.min(100, left - sent);
    const entries = Array.from({ length }, (_, index) => ({ member: `m${index}`, by: 1 }));
    await room.boards.post(board, { entries, key: null, withRanks: false });
  }
}

async function shardsOf(room: BoardsRoom, board: string): Promise<number> {
  await room.mover.run(board);
  return (await room.boards.describe(board)).shards;
}

test('a board grows while its parts get more than they take well, over all processes', async () => {
  const processes = new Processes();
  const [one, two] = [processes.open(), processes.open()];
  const seen: number[] = [];
  for (let interval = 0; interval < 4; interval += 1) {
    // Neither of them alone is too much for one part with its headroom of a half.
    await write(one, 'hot', 90);
    await write(two, 'hot', 90);
    await write(one, 'calm', 40);
    await processes.clock.advance(INTERVAL_MS);
    await Promise.all([one.growth.report(), two.growth.report()]);
    await one.growth.grow();
    seen.push(await shardsOf(one, 'hot'));
  }
  // 180 writes a second at 50 a part are four parts; a step doubles.
  expect(seen).toEqual([2, 4, 4, 4]);
  expect(await shardsOf(one, 'calm')).toBe(1);
});

test('a board that must not split, and one on a single node, stay as they are', async () => {
  const processes = new Processes();
  const room = processes.open();
  await room.boards.put('fixed', { autoSplit: false });
  const single = new Processes(MemoryBoardStore);
  const alone = single.open();
  await write(room, 'fixed', 500);
  await write(alone, 'hot', 500);
  await processes.clock.advance(INTERVAL_MS);
  await single.clock.advance(INTERVAL_MS);
  await Promise.all([room.growth.report(), alone.growth.report()]);
  await Promise.all([room.growth.grow(), alone.growth.grow()]);
  expect((await room.growth.hot())[0]?.key).toBe('fixed');
  expect(await shardsOf(room, 'fixed')).toBe(1);
  expect(await shardsOf(alone, 'hot')).toBe(1);
});

test('growth ends at four parts a primary', async () => {
  const processes = new Processes();
  const room = processes.open();
  for (let interval = 0; interval < 6; interval += 1) {
    await write(room, 'hot', 5_000);
    await processes.clock.advance(INTERVAL_MS);
    await room.growth.report();
    await room.growth.grow();
    await room.mover.run('hot');
  }
  expect(await shardsOf(room, 'hot')).toBe(8);
});

test('reports of a process that is gone do not count for long', async () => {
  const processes = new Processes();
  const room = processes.open();
  await write(room, 'hot', 500);
  await processes.clock.advance(INTERVAL_MS);
  await room.growth.report();
  expect(await room.growth.hot()).toHaveLength(1);
  await processes.clock.advance(60_000);
  expect(await room.growth.hot()).toEqual([]);
});
