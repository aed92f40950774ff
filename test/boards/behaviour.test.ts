/** What other leaderboards got wrong, on both stores, and on one part as on several. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BoardsRoom } from '../../src/boards/boards-room.ts';
import type { SettingsInput } from '../../src/boards/settings.ts';
import { connectRedis, type RedisConnection } from '../../src/store/redis/connection.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { memoryStores, openRoom, redisStores, refusalOf } from './real-board.ts';

const ALL = { view: 'all', season: null } as const;
const { MAX_SAFE_INTEGER } = Number;

let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection.close();
  await server.stop();
});

/** A board with settings, of so many parts. */
class Board {
  readonly #room: BoardsRoom;
  readonly name: string;

  constructor(room: BoardsRoom, name: string) {
    this.#room = room;
    this.name = name;
  }

  get boards() {
    return this.#room.boards;
  }

  async make(settings: SettingsInput, shards: number): Promise<this> {
    await this.boards.put(this.name, settings);
    for (let count = 2; count <= shards; count *= 2) {
      await this.boards.setShards(this.name, count);
      await this.#room.mover.run(this.name);
    }
    return this;
  }

  /** Members and what they are given, each in a post of its own. */
  async post(...scores: readonly (readonly [string, number])[]): Promise<void> {
    for (const [member, score] of scores) await this.send([[member, score]]);
  }

  async send(scores: readonly (readonly [string, number])[], ids: readonly string[] = []) {
    const { settings } = await this.boards.describe(this.name);
    const field = settings.mode === 'increment' ? 'by' : 'score';
    const entries = scores.map(([member, score], index) => {
      return { member, [field]: score, id: ids[index] };
    });
    return this.boards.post(this.name, { entries, key: null, withRanks: true });
  }

  /** Rows such as `1 ann 5`. */
  async top(k = 100): Promise<string[]> {
    const page = await this.boards.page(this.name, { ...ALL, k, offset: 0, cursor: null });
    return page.entries.map(({ rank, member, score }) => `${rank} ${member} ${score}`);
  }

  member(member: string) {
    return this.boards.member(this.name, member, ALL);
  }
}

let boardCount = 0;

describe.each([
  ['memory', 1],
  ['memory', 4],
  ['Redis', 1],
  ['Redis', 4],
] as const)('a board in %s of %d parts', (store, shards) => {
  const open = async (settings: SettingsInput = {}): Promise<Board> => {
    const room = openRoom(store === 'memory' ? memoryStores() : redisStores(connection));
    boardCount += 1;
    return new Board(room, `board ${boardCount}`).make(settings, shards);
  };

  test.each([1, 2, 3, 5, 9, 10])('has four rows around rank %d of ten', async (rank) => {
    const board = await open();
    const scores = Array.from(
      { length: 10 },
      (_, index) => [`m${index + 1}`, 100 - index] as const,
    );
    await board.send(scores);
    const { entries } = await board.boards.around(board.name, `m${rank}`, { ...ALL, n: 4 });
    const first = Math.max(1, Math.min(rank - 2, 7));
    const ranks = [first, first + 1, first + 2, first + 3];
    expect(entries.map((entry) => entry.rank)).toEqual(ranks);
    expect(entries.map(({ member }) => member)).toEqual(ranks.map((one) => `m${one}`));
  });

  test('has all rows around a member where more are asked for than there are', async () => {
    const board = await open();
    await board.post(['a', 3], ['b', 2], ['c', 1]);
    const { entries, next, previous } = await board.boards.around(board.name, 'b', {
      ...{ ...ALL, n: 50 },
    });
    expect(entries.map(({ rank, member }) => `${rank} ${member}`)).toEqual(['1 a', '2 b', '3 c']);
    expect([next, previous]).toEqual([null, null]);
  });

  test('tells a member whose score went up by 0 the rank that the list has', async () => {
    const board = await open();
    await board.post(['a', 5], ['b', 5], ['c', 5]);
    const { results } = await board.send([
      ['a', 0],
      ['c', 0],
    ]);
    expect(results.map(({ rank }) => rank)).toEqual([1, 3]);
    expect(await board.top()).toEqual(['1 a 5', '2 b 5', '3 c 5']);
    for (const [index, member] of ['a', 'b', 'c'].entries()) {
      expect(await board.member(member)).toMatchObject({ rank: index + 1, of: 3 });
    }
  });

  test('is not joined by a member who is given 0 for the first time', async () => {
    const board = await open();
    const { results } = await board.send([['a', 0]]);
    expect(results).toMatchObject([{ member: 'a', score: null, rank: null }]);
    expect(await board.top()).toEqual([]);
    expect(await refusalOf(board.member('a'))).toBe('member_not_found');
  });

  test('of mode best has one row of a member, which a worse score leaves as it is', async () => {
    const board = await open({ mode: 'best' });
    await board.post(['a', 100], ['b', 70], ['a', 50], ['b', 100]);
    expect(await board.top()).toEqual(['1 a 100', '2 b 100']);
    const ascending = await open({ mode: 'best', order: 'ascending' });
    await ascending.post(['a', 50], ['b', 70], ['a', 100], ['b', 50]);
    expect(await ascending.top()).toEqual(['1 a 50', '2 b 50']);
  });

  test('that is deleted and made again knows nothing of what was', async () => {
    const board = await open();
    const scores = Array.from({ length: 20 }, (_, index) => [`m${index}`, index] as const);
    await board.send(
      scores,
      scores.map(([member]) => `id of ${member}`),
    );
    await board.boards.changeMember(board.name, 'm1', { isHidden: true, meta: '{"team":1}' });
    expect(await board.boards.remove(board.name)).toBe(true);
    expect(await refusalOf(board.member('m1'))).toBe('board_not_found');
    await board.boards.put(board.name, { mode: 'last' });
    expect(await board.top()).toEqual([]);
    expect(await refusalOf(board.member('m1'))).toBe('member_not_found');
    const { results } = await board.send([['m1', 7]], ['id of m1']);
    expect(results).toMatchObject([{ score: 7, rank: 1, isDuplicate: false }]);
    expect(await board.member('m1')).toMatchObject({ isHidden: false, meta: null, of: 1 });
  });

  test.each(['earliest', 'competition', 'dense'] as const)(
    'with ties %s ranks members of score 0 like any others',
    async (ties) => {
      const board = await open({ mode: 'last', ties });
      await board.post(['a', 0], ['b', 0], ['c', 0]);
      const tied = ties !== 'earliest';
      expect(await board.top()).toEqual(['1 a 0', `${tied ? 1 : 2} b 0`, `${tied ? 1 : 3} c 0`]);
      expect(await board.member('a')).toMatchObject({ rank: 1, score: 0 });
      await board.post(['d', -1], ['e', 1]);
      const ranks = { earliest: 5, competition: 5, dense: 3 };
      expect(await board.member('d')).toMatchObject({ rank: ranks[ties], percentile: 0 });
      expect(await board.member('a')).toMatchObject({ rank: 2 });
      expect(await board.member('e')).toMatchObject({ rank: 1 });
    },
  );

  test('says 1 of what was raised by 0.1 ten times', async () => {
    const board = await open({ decimals: 1 });
    for (let time = 0; time < 10; time += 1) await board.send([['a', 0.1]]);
    await board.send(Array.from({ length: 10 }, () => ['b', 0.1] as const));
    expect(await board.top()).toEqual(['1 a 1', '2 b 1']);
    const stats = await board.boards.stats(board.name, { ...ALL, buckets: 1 });
    expect(stats).toMatchObject({ sum: '2', min: 1, max: 1 });
  });

  test.each([
    [Number.POSITIVE_INFINITY, 'infinite'],
    [Number.NEGATIVE_INFINITY, 'infinite below zero'],
    [Number.NaN, 'no number'],
    [0.25, 'of more decimals than are kept'],
    [1e21, 'beyond what is kept exactly'],
  ])('refuses %d, which is %s, and all that came with it', async (score) => {
    for (const mode of ['increment', 'best', 'last'] as const) {
      const board = await open({ mode, decimals: 1 });
      await board.post(['a', 1]);
      const sent = board.send([
        ['a', 2],
        ['b', score],
      ]);
      expect(await refusalOf(sent)).toBe('invalid_score 1');
      expect(await board.top()).toEqual(['1 a 1']);
    }
  });

  test('adds up to what is kept exactly, and no further in either direction', async () => {
    const board = await open();
    for (const sign of [1, -1]) {
      const member = `m${sign}`;
      await board.post([member, sign * MAX_SAFE_INTEGER]);
      const sent = board.send([[member, sign]]);
      expect(await refusalOf(sent)).toBe('out_of_range 0');
      expect(await board.member(member)).toMatchObject({ score: sign * MAX_SAFE_INTEGER });
    }
    const { sum } = await board.boards.stats(board.name, { ...ALL, buckets: 5 });
    expect(sum).toBe('0');
    await board.post(['m1', -MAX_SAFE_INTEGER], ['m-1', MAX_SAFE_INTEGER]);
    expect(await board.top()).toEqual(['1 m1 0', '2 m-1 0']);
  });

  test('gives the best two of five where the lowest leads', async () => {
    const board = await open({ mode: 'best', order: 'ascending' });
    await board.post(['a', 50], ['b', 10], ['c', 40], ['d', 20], ['e', 30]);
    expect(await board.top(2)).toEqual(['1 b 10', '2 d 20']);
    for (const member of ['a', 'c', 'e']) await board.boards.removeMember(board.name, member);
    expect(await board.top()).toEqual(['1 b 10', '2 d 20']);
  });
});
