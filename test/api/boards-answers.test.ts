import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { MemoryBoardStore } from '../../src/store/memory/memory-board-store.ts';
import { type Answer, startTestTally, type TestTally } from '../support/tally.ts';

let tally: TestTally;

beforeEach(async () => {
  tally = await startTestTally();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await tally.close();
});

function post(body: unknown, path = '/v1/boards/b/scores', headers = {}): Promise<Answer> {
  return tally.send(body, { path, headers });
}

async function patch(body: string): Promise<Answer['json'] | null> {
  const response = await fetch(`${tally.url}/v1/boards/b/members/a`, {
    method: 'PATCH',
    body,
    headers: { 'Content-Type': 'application/json' },
  });
  expect([204, 400]).toContain(response.status);
  return response.status === 204 ? null : ((await response.json()) as Answer['json']);
}

function top(query = ''): Promise<Answer> {
  return tally.get(`/v1/boards/b/top?${query}`);
}

async function scoresOf(answer: Promise<Answer>): Promise<number[]> {
  return ((await answer).json['entries'] as { score: number }[]).map(({ score }) => score);
}

describe('a page that was read a moment ago', () => {
  test('is answered again, but not to who asks for a fresh one', async () => {
    await post({ member: 'a', by: 1 });
    expect(await scoresOf(top())).toEqual([1]);
    await post({ member: 'a', by: 1 });
    expect(await scoresOf(top())).toEqual([1]);
    expect(await scoresOf(top('fresh=true'))).toEqual([2]);
    expect(await scoresOf(top('k=3'))).toEqual([2]);
    await tally.clock.advance(1_001);
    expect(await scoresOf(top())).toEqual([2]);
  });

  test('is read from the parts once, however many ask and whoever they are', async () => {
    await post({ member: 'a', by: 1 });
    const read = vi.spyOn(MemoryBoardStore.prototype, 'read');
    await top('k=7');
    const once = read.mock.calls.length;
    read.mockClear();
    const asked = Array.from({ length: 20 }, (_, index) => top(`k=8&self=m${index}`));
    await Promise.all(asked);
    expect(read).toHaveBeenCalledTimes(once);
  });

  test('marks the row of who looks at it, and of nobody else', async () => {
    await post([
      { member: 'a', by: 2 },
      { member: 'b', by: 1 },
    ]);
    const rows = [
      { rank: 1, member: 'a', score: 2 },
      { rank: 2, member: 'b', score: 1 },
    ];
    const [first, second] = rows;
    expect((await top('self=b')).json['entries']).toEqual([first, { ...second, self: true }]);
    expect((await top('self=a')).json['entries']).toEqual([{ ...first, self: true }, second]);
    expect((await top('self=nobody')).json['entries']).toEqual(rows);
    expect((await top()).json['entries']).toEqual(rows);
  });

  test('is not answered any more once the board was deleted and made again', async () => {
    await post({ member: 'a', by: 1 });
    await top();
    await fetch(`${tally.url}/v1/boards/b`, { method: 'DELETE' });
    await post({ member: 'c', by: 5 });
    expect(await scoresOf(top())).toEqual([5]);
  });

  test('is answered as stale while the store is away, and marked even so', async () => {
    await post({ member: 'a', by: 1 });
    await top();
    await tally.clock.advance(5_000);
    const away = () => Promise.reject(new StoreUnavailableError('away'));
    vi.spyOn(MemoryBoardStore.prototype, 'read').mockImplementation(away);
    const stale = await top('self=a');
    expect(stale.status).toBe(200);
    expect(stale.json).toMatchObject({
      stale: true,
      asOf: '2026-11-30T10:30:00.000Z',
      entries: [{ member: 'a', self: true }],
    });
    const fresh = await top('fresh=true');
    expect([fresh.status, fresh.json['code']]).toEqual([503, 'store_unavailable']);
    expect(fresh.headers.get('retry-after')).toMatch(/^\d+$/);
    vi.restoreAllMocks();
    await tally.clock.advance(5_000);
    // Nobody waits for the first read that finds the store again; the next one has its answer.
    await top();
    expect((await top()).json['stale']).toBeUndefined();
  });
});

describe('questions about several members', () => {
  test('are answered in the order asked for, with the order among themselves', async () => {
    await post([
      { member: 'a', by: 9 },
      { member: 'b', by: 8 },
      { member: 'c', by: 7 },
    ]);
    const { json } = await post({ members: ['c', 'nobody', 'a'] }, '/v1/boards/b/ranks');
    expect(json).toMatchObject({ board: 'b', view: 'all', season: 'all', of: 3, shards: 1 });
    expect(json['members']).toEqual([
      { member: 'c', score: 7, rank: 3, place: 2 },
      { member: 'nobody', score: null, rank: null, place: null },
      { member: 'a', score: 9, rank: 1, place: 1 },
    ]);
  });

  test('have statistics whose histogram holds each of them once', async () => {
    const scores = [0, 5, 10, 10, -10];
    await post(scores.map((by, index) => ({ member: `m${index}`, by })));
    const { json } = await tally.get('/v1/boards/b/stats?buckets=2');
    expect(json).toMatchObject({ of: 4, sum: '15', min: -10, max: 10 });
    expect(json['histogram']).toEqual([
      { from: -10, to: 0, count: 1 },
      { from: 0, to: 10, count: 3 },
    ]);
  });
});

describe('requests at the limit are taken, and refused beyond it:', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

  test.each([
    ['members/a/around?n=500', 'members/a/around?n=501'],
    ['members/a/around?n=1', 'members/a/around?n=0'],
    ['stats?buckets=50', 'stats?buckets=51'],
    ['top?k=500', 'top?k=501'],
    ['top?offset=1000000000', 'top?offset=1000000001'],
    ['top?fresh=true', 'top?fresh=1'],
    ['members/a?view=all', 'members/a?view=all&view=all'],
    ['stats', 'stats?k=1'],
  ])('%s and %s', async (taken, refused) => {
    await post({ member: 'a', by: 1 });
    expect((await tally.get(`/v1/boards/b/${taken}`)).status).toBe(200);
    expect((await tally.get(`/v1/boards/b/${refused}`)).status).toBe(400);
  });

  test('members of one question', async () => {
    await post({ member: 'a', by: 1 });
    const ask = (members: string[]) => post({ members }, '/v1/boards/b/ranks');
    expect((await ask(names(500))).status).toBe(200);
    expect((await ask(names(501))).json).toMatchObject({
      ...{ status: 400, code: 'invalid_body', parameter: 'members' },
    });
    expect((await ask([])).status).toBe(400);
  });

  test('increments of one post, and boards of one list', async () => {
    const all = names(1_000).map((member) => ({ member, by: 1 }));
    expect((await post(all)).status).toBe(200);
    expect((await post([...all, { member: 'x', by: 1 }])).status).toBe(400);
    expect((await tally.get('/v1/boards?limit=1000')).status).toBe(200);
    expect((await tally.get('/v1/boards?limit=1001')).status).toBe(400);
  });
});

describe('an increment', () => {
  test('with by and score is refused: one of them would be left out in silence', async () => {
    const list = [
      { member: 'a', by: 1 },
      { member: 'b', by: 1, score: 2 },
    ];
    expect((await post(list)).json).toMatchObject({ code: 'invalid_body', index: 1 });
    expect((await post({ member: 'b', by: 1, score: 2 })).json).toMatchObject({ index: 0 });
    expect((await tally.get('/v1/boards/b')).status).toBe(404);
  });

  test('of 0 makes nobody, and changes neither score nor rank', async () => {
    await post([
      { member: 'a', by: 5 },
      { member: 'b', by: 5 },
    ]);
    const again = await post([{ member: 'a', by: 0 }], '/v1/boards/b/scores?ranks=true');
    expect(again.json['results']).toEqual([{ member: 'a', score: 5, rank: 1 }]);
    const none = await post([{ member: 'c', by: 0 }], '/v1/boards/b/scores?ranks=true');
    expect(none.json['results']).toEqual([{ member: 'c', score: null, rank: null }]);
    expect(await scoresOf(top())).toEqual([5, 5]);
  });

  test('that is refused does not use its key', async () => {
    const key = { 'Idempotency-Key': 'k' };
    const path = '/v1/boards/b/scores';
    expect((await post({ member: 'a', by: 0.5 }, path, key)).status).toBe(400);
    expect((await post({ member: 'a', by: 5 }, path, key)).json['results']).toEqual([
      { member: 'a', score: 5 },
    ]);
  });
});

describe('metadata', () => {
  beforeEach(() => post({ member: 'a', by: 1 }));

  const nested = (depth: number) => `{"meta":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  test('may be as deep as its bytes allow, and no deeper', async () => {
    expect(await patch(nested(512))).toBeNull();
    expect(await patch(nested(513))).toMatchObject({ code: 'invalid_body', parameter: 'meta' });
    expect(await patch(nested(500_000))).toMatchObject({ code: 'invalid_body' });
  });

  test('comes back as it was sent, whatever its fields are called', async () => {
    const meta = '{"__proto__":{"x":1},"constructor":null,"":[false]}';
    expect(await patch(`{"meta":${meta}}`)).toBeNull();
    expect((await top('fresh=true')).text).toContain(`"meta":${meta}`);
  });

  test('stays when something else is changed, and goes with null', async () => {
    await patch('{"meta":{"team":"x"}}');
    await patch('{"hidden":false}');
    expect((await top('fresh=true')).text).toContain('"meta":{"team":"x"}');
    await patch('{"meta":null}');
    expect((await top('fresh=true')).text).not.toContain('meta');
  });

  test.each(['{}', '[]', 'null', '{"hidden":null}', '{"hidden":1}', '{"x":1}', '{"meta":1e999}'])(
    'or nothing: %s is refused',
    async (body) => {
      expect(await patch(body)).toMatchObject({ status: 400, code: 'invalid_body' });
    },
  );
});
