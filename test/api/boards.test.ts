import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, startTestTally, type TestTally } from '../support/tally.ts';

let tally: TestTally;

afterEach(() => tally?.close());

async function start(): Promise<void> {
  tally = await startTestTally();
}

function post(board: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return tally.send(body, { path: `/v1/boards/${encodeURIComponent(board)}/scores`, headers });
}

function put(path: string, body: unknown): Promise<Answer> {
  return tally.send(body, { method: 'PUT', path: `/v1/boards/${path}` });
}

async function request(method: string, path: string, body?: unknown): Promise<number> {
  const { status } = await fetch(`${tally.url}/v1/boards/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  return status;
}

async function top(board: string, query = ''): Promise<[number, string, number][]> {
  const { json } = await tally.get(`/v1/boards/${board}/top?fresh=true&${query}`);
  const entries = json['entries'] as { rank: number; member: string; score: number }[];
  return entries.map(({ rank, member, score }) => [rank, member, score]);
}

describe('scores', () => {
  test('make a board, add up, and are answered in the order sent', async () => {
    await start();
    const answer = await post('quiz', [
      { member: 'ana', by: 3 },
      { member: 'bo', by: 5 },
      { member: 'ana', by: 4 },
    ]);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      board: 'quiz',
      shards: 1,
      results: [
        { member: 'ana', score: 7 },
        { member: 'bo', score: 5 },
        { member: 'ana', score: 7 },
      ],
    });
    expect(await top('quiz')).toEqual([
      [1, 'ana', 7],
      [2, 'bo', 5],
    ]);
  });

  test('come alone, as a list, or named', async () => {
    await start();
    await post('b', { member: 'a', by: 1 });
    await post('b', [{ member: 'a', by: 1 }]);
    const { json } = await post('b', { increments: [{ member: 'a', by: 1 }] });
    expect(json['results']).toEqual([{ member: 'a', score: 3 }]);
  });

  test('with an id, or a key, count once', async () => {
    await start();
    await post('b', { member: 'a', by: 2, id: 'x' });
    const again = await post('b', { member: 'a', by: 2, id: 'x' });
    expect(again.json['results']).toEqual([{ member: 'a', score: 2, duplicate: true }]);
    const key = { 'Idempotency-Key': 'k' };
    await post('b', [{ member: 'a', by: 5 }], key);
    const retry = await post('b', [{ member: 'a', by: 5 }], key);
    expect(retry.json['results']).toEqual([{ member: 'a', score: 7, duplicate: true }]);
    expect((await post('b', [{ member: 'a', by: 6 }], key)).json['code']).toBe('key_reused');
    expect(await top('b')).toEqual([[1, 'a', 7]]);
  });

  test('are answered with ranks if they are asked for', async () => {
    await start();
    await post('b', [{ member: 'a', by: 9 }]);
    const answer = await tally.send([{ member: 'b', by: 3 }], {
      path: '/v1/boards/b/scores?ranks=true',
    });
    expect(answer.json['results']).toEqual([{ member: 'b', score: 3, rank: 2 }]);
  });

  test.each([
    ['null for a number', [{ member: 'a', by: null }], 'invalid_body', 0],
    ['a text for a number', [{ member: 'a', by: '1' }], 'invalid_body', 0],
    ['no member', [{ by: 1 }], 'invalid_body', 0],
    ['an empty member', [{ member: '', by: 1 }], 'invalid_body', 0],
    ['a member of 513 bytes', [{ member: 'x'.repeat(513), by: 1 }], 'invalid_body', 0],
    ['an unknown field', [{ member: 'a', by: 1, x: 1 }], 'invalid_body', 0],
    ['score on a board that adds up', [{ member: 'a', score: 1 }], 'wrong_score_field', 0],
    ['decimals', [{ member: 'a', by: 0.5 }], 'invalid_score', 0],
    ['more than can be kept', [{ member: 'a', by: 2 ** 53 }], 'invalid_score', 0],
    ['no list', '"text"', 'invalid_body', undefined],
    ['an empty list', [], 'invalid_body', undefined],
    ['1,001 increments', Array(1_001).fill({ member: 'a', by: 1 }), 'invalid_body', undefined],
  ])('with %s are refused whole', async (_what, body, code, index) => {
    await start();
    const good = { member: 'good', by: 1 };
    const list = Array.isArray(body) && body.length === 1 ? [...body, good] : body;
    const answer = await post('b', list);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject(index === undefined ? { code } : { code, index });
    expect(await request('GET', 'b')).toBe(404);
  });

  test('that are infinite never get in', async () => {
    await start();
    const response = await fetch(`${tally.url}/v1/boards/b/scores`, {
      method: 'POST',
      body: '[{"member":"a","by":1e999}]',
      headers: { 'Content-Type': 'application/json' },
    });
    expect(response.status).toBe(400);
    expect(await request('GET', 'b')).toBe(404);
  });

  test('whose result leaves the safe range are refused, and nothing is applied', async () => {
    await start();
    await post('b', { member: 'a', by: Number.MAX_SAFE_INTEGER });
    const answer = await post('b', [
      { member: 'c', by: 1 },
      { member: 'a', by: 1 },
    ]);
    expect(answer.json).toMatchObject({ code: 'out_of_range', index: 1 });
    expect(await top('b')).toEqual([[1, 'a', Number.MAX_SAFE_INTEGER]]);
  });

  test('of 0.1 ten times are 1', async () => {
    await start();
    await put('b', { decimals: 1 });
    for (let time = 0; time < 10; time += 1) await post('b', { member: 'a', by: 0.1 });
    expect(await top('b')).toEqual([[1, 'a', 1]]);
  });
});

describe('a board', () => {
  test('has settings that hold from its beginning, and some that may change', async () => {
    await start();
    const made = await put('b', { mode: 'best', ties: 'competition', views: ['daily'] });
    expect(made.status).toBe(201);
    expect((await put('b', { mode: 'best', keepSeasons: 2 })).status).toBe(200);
    const fixed = await put('b', { mode: 'last' });
    expect([fixed.status, fixed.json['code'], fixed.json['parameter']]).toEqual([
      ...[409, 'settings_fixed', 'mode'],
    ]);
    const { json } = await tally.get('/v1/boards/b');
    expect(json).toMatchObject({ settings: { mode: 'best', keepSeasons: 2, views: ['daily'] } });
  });

  test.each([
    [{ decimals: 7 }, 'invalid_body'],
    [{ tz: 'Mars/Olympus' }, 'invalid_settings'],
    [{ views: ['yearly'] }, 'invalid_body'],
    [{ views: [{ name: 'x', cron: '61 * * * *' }] }, 'invalid_settings'],
    [{ unknown: 1 }, 'invalid_body'],
  ])('is not made with %j', async (settings, code) => {
    await start();
    expect((await put('b', settings)).json['code']).toBe(code);
    expect(await request('GET', 'b')).toBe(404);
  });

  test('of mode best keeps the better score', async () => {
    await start();
    await put('b', { mode: 'best' });
    await post('b', { member: 'a', score: 100 });
    const { json } = await post('b', { member: 'a', score: 50 });
    expect(json['results']).toEqual([{ member: 'a', score: 100 }]);
    expect(await top('b')).toEqual([[1, 'a', 100]]);
  });

  test('that is deleted and made again is empty', async () => {
    await start();
    await post('b', { member: 'a', by: 1 });
    expect(await request('DELETE', 'b')).toBe(204);
    expect(await request('GET', 'b/top')).toBe(404);
    await post('b', { member: 'c', by: 2 });
    expect(await top('b')).toEqual([[1, 'c', 2]]);
  });

  test('splits and shrinks, and answers the same', async () => {
    await start();
    await put('b', { ties: 'competition' });
    const entries = Array.from({ length: 300 }, (_, index) => ({
      member: `m${index}`,
      by: 1 + (index % 40),
    }));
    await post('b', entries);
    const before = await top('b', 'k=300');
    for (const shards of [2, 4, 2]) {
      expect((await put('b/shards', { shards })).status).toBe(202);
      await tally.fold();
      await expect
        .poll(async () => (await tally.get('/v1/boards/b')).json['movingTo'])
        .toBeUndefined();
      expect(await top('b', 'k=300')).toEqual(before);
    }
    expect((await put('b/shards', { shards: 8 })).json['code']).toBe('invalid_shards');
    expect((await put('b/shards', { shards: 3 })).json['code']).toBe('invalid_shards');
  });

  test('is listed by its name', async () => {
    await start();
    for (const name of ['c', 'a/b', 'é']) await post(name, { member: 'x', by: 1 });
    const first = await tally.get('/v1/boards?limit=2');
    expect(first.json).toEqual({
      boards: [
        { board: 'a/b', shards: 1 },
        { board: 'c', shards: 1 },
      ],
      next: 'c',
    });
    const rest = await tally.get('/v1/boards?after=c');
    expect(rest.json).toEqual({ boards: [{ board: 'é', shards: 1 }] });
  });
});

describe('reads', () => {
  test('of a member tell rank and percentile, and know who is not there', async () => {
    await start();
    await post('b', [
      { member: 'a', by: 3 },
      { member: 'zero', by: 0 },
      { member: 'minus', by: -1 },
    ]);
    const { json } = await tally.get('/v1/boards/b/members/a');
    expect(json).toMatchObject({ score: 3, rank: 1, percentile: 50, of: 2 });
    const unknown = await tally.get('/v1/boards/b/members/zero');
    expect([unknown.status, unknown.json['code']]).toEqual([404, 'member_not_found']);
  });

  test('around rank 2 show ranks 1 to 4', async () => {
    await start();
    await post(
      'b',
      Array.from({ length: 10 }, (_, index) => ({ member: `m${index}`, by: 100 - index })),
    );
    const { json } = await tally.get('/v1/boards/b/members/m1/around?n=4');
    const entries = json['entries'] as { rank: number; self?: true }[];
    expect(entries.map(({ rank }) => rank)).toEqual([1, 2, 3, 4]);
    expect(entries.map(({ self = false }) => self)).toEqual([false, true, false, false]);
  });

  test('page both ways by cursors', async () => {
    await start();
    await post(
      'b',
      Array.from({ length: 9 }, (_, index) => ({ member: `m${index}`, by: 100 - index })),
    );
    const first = await tally.get('/v1/boards/b/top?k=4');
    const second = await tally.get(`/v1/boards/b/top?k=4&cursor=${String(first.json['next'])}`);
    const back = await tally.get(`/v1/boards/b/top?k=4&cursor=${String(second.json['previous'])}`);
    expect(back.json['entries']).toEqual(first.json['entries']);
    expect(first.json['previous']).toBeUndefined();
    expect((await tally.get('/v1/boards/b/top?cursor=bm9wZQ')).json['code']).toBe('invalid_cursor');
  });

  test('close ranks up where a member is hidden, which comes back unhurt', async () => {
    await start();
    await post('b', [
      { member: 'a', by: 3 },
      { member: 'b', by: 2 },
    ]);
    expect(await request('PATCH', 'b/members/a', { hidden: true, meta: { team: 'x' } })).toBe(204);
    await post('b', { member: 'a', by: 1 });
    expect(await top('b')).toEqual([[1, 'b', 2]]);
    const hidden = await tally.get('/v1/boards/b/members/a');
    expect(hidden.json).toMatchObject({ hidden: true, rank: null, score: 4, meta: { team: 'x' } });
    expect(await request('PATCH', 'b/members/a', { hidden: false })).toBe(204);
    expect(await top('b')).toEqual([
      [1, 'a', 4],
      [2, 'b', 2],
    ]);
    expect(await request('DELETE', 'b/members/a')).toBe(204);
    expect(await top('b')).toEqual([[1, 'b', 2]]);
    expect(await request('PATCH', 'b/members/nobody', { hidden: true })).toBe(404);
    expect(await request('PATCH', 'b/members/b', { meta: 'x'.repeat(1_023) })).toBe(400);
    expect(await request('PATCH', 'b/members/b', { meta: 'x'.repeat(1_022) })).toBe(204);
  });

  test('of a season tell when it ends, and of an ended one by its id', async () => {
    await start();
    await put('b', { views: ['hourly'], keepSeasons: 1 });
    await post('b', { member: 'a', by: 3 });
    const now = await tally.get('/v1/boards/b/top?view=hourly&fresh=true');
    expect(now.json).toMatchObject({
      season: '20261130T100000Z',
      endsAt: '2026-11-30T11:00:00.000Z',
      of: 1,
    });
    await tally.clock.advance(3_600_000);
    await post('b', { member: 'a', by: 4 });
    expect(await top('b', 'view=hourly')).toEqual([[1, 'a', 4]]);
    expect(await top('b', 'view=hourly&season=20261130T100000Z')).toEqual([[1, 'a', 3]]);
    expect(await top('b')).toEqual([[1, 'a', 7]]);
    await tally.clock.advance(3_600_000);
    const gone = await tally.get('/v1/boards/b/top?view=hourly&season=20261130T100000Z');
    expect([gone.status, gone.json['code']]).toEqual([404, 'season_not_found']);
    const unknown = await tally.get('/v1/boards/b/top?view=weekly');
    expect([unknown.status, unknown.json['parameter']]).toEqual([404, 'view']);
  });

  test('of names with anything in them find them', async () => {
    await start();
    const member = 'a/b {c}%\u0000 é😀';
    await post('{x}/?', { member, by: 1 });
    const path = `/v1/boards/${encodeURIComponent('{x}/?')}/members/${encodeURIComponent(member)}`;
    expect((await tally.get(path)).json).toMatchObject({ member, rank: 1 });
  });

  test.each(['k=0', 'k=501', 'offset=-1', 'k=1&k=2', 'x=1'])('refuse ?%s', async (query) => {
    await start();
    await post('b', { member: 'a', by: 1 });
    expect((await tally.get(`/v1/boards/b/top?${query}`)).status).toBe(400);
  });
});
