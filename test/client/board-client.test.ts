import { afterEach, beforeEach, expect, test } from 'vitest';
import { TallyClient } from '../../src/client/tally-client.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

let tally: TestTally;
let client: TallyClient;

beforeEach(async () => {
  tally = await startTestTally();
  client = new TallyClient({ url: tally.url });
});
afterEach(() => tally.close());

test('a board is made, written, read, changed and deleted', async () => {
  const board = client.board('a/b');
  const info = await board.put({ views: ['daily'], decimals: 1 });
  expect(info).toMatchObject({ board: 'a/b', settings: { decimals: 1 }, shards: 1 });
  const scores = await board.post(
    [
      { member: 'x', by: 1.5 },
      { member: 'y', by: 3 },
    ],
    {
      ranks: true,
    },
  );
  expect(scores.results).toEqual([
    { member: 'x', score: 1.5, rank: 2 },
    { member: 'y', score: 3, rank: 1 },
  ]);
  const key = { idempotencyKey: 'k' };
  await board.post([{ member: 'x', by: 1 }], key);
  expect((await board.post([{ member: 'x', by: 1 }], key)).results[0]?.duplicate).toBe(true);
  const first = await board.top({ k: 1, fresh: true, self: 'y' });
  expect(first.entries).toEqual([{ rank: 1, member: 'y', score: 3, self: true }]);
  expect((await board.top({ cursor: first.next! })).entries[0]?.member).toBe('x');
  expect(await board.member('x', { view: 'daily' })).toMatchObject({ score: 2.5, rank: 2 });
  expect((await board.around('x', { n: 1 })).entries).toHaveLength(1);
  expect((await board.ranks(['x', 'z'])).members.map(({ rank }) => rank)).toEqual([2, null]);
  expect(await board.stats({ buckets: 2 })).toMatchObject({ sum: '5.5', min: 2.5, max: 3 });
  await board.changeMember('y', { hidden: true, meta: { a: 1 } });
  expect(await board.member('y')).toMatchObject({ hidden: true, rank: null, meta: { a: 1 } });
  await board.deleteMember('y');
  await board.setShards(2);
  expect((await client.boards()).boards).toMatchObject([{ board: 'a/b' }]);
  await board.delete();
  await expect(board.info()).rejects.toMatchObject({ code: 'board_not_found', status: 404 });
});
