import { afterEach, describe, expect, test } from 'vitest';
import {
  distinctAnswer,
  itemAnswer,
  itemsAnswer,
  seriesAnswer,
  topAnswer,
} from '../../src/api/answer-schemas.ts';
import { streamInfo, streamList } from '../../src/api/stream-schemas.ts';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { gate, START_MS, startTestTally, type TestTally } from '../support/tally.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let tally: TestTally;
afterEach(() => tally.close());

function gone(): Promise<never> {
  return Promise.reject(new StoreUnavailableError());
}

describe('top', () => {
  test('lists items by count, then by bytes, with everything an answer owes', async () => {
    tally = await startTestTally({ partitions: 3 });
    const events = [
      { item: 'b', count: 2 },
      { item: 'a', count: 2 },
      { item: 'c', count: 5 },
      { item: 'd' },
    ];
    for (const event of events) await tally.send([event]);
    await tally.fold();
    const { status, json } = await tally.get('/v1/streams/default/top?window=2m&k=3');
    expect(status).toBe(200);
    expect(topAnswer.parse(json)).toEqual({
      stream: 'default',
      from: '2026-11-30T10:29:00.000Z',
      to: '2026-11-30T10:30:00.500Z',
      asOf: '2026-11-30T10:30:00.500Z',
      by: 'events',
      total: 10,
      exact: true,
      k: 3,
      offset: 0,
      returned: 3,
      certainRanks: 3,
      errorBound: 0,
      maxUnlisted: 1,
      items: [
        { rank: 1, item: 'c', count: 5, lower: 5, upper: 5 },
        { rank: 2, item: 'a', count: 2, lower: 2, upper: 2 },
        { rank: 3, item: 'b', count: 2, lower: 2, upper: 2 },
      ],
    });
  });

  test('the short form gives the same answer, for the default stream or a named one', async () => {
    tally = await startTestTally();
    await tally.send([{ item: 'a' }, { item: 'b', stream: 'ü {1}/%' }]);
    await tally.fold();
    const long = await tally.get('/v1/streams/default/top?window=1h&k=10');
    expect((await tally.get('/top')).text).toBe(long.text);
    const name = encodeURIComponent('ü {1}/%');
    const longNamed = await tally.get(`/v1/streams/${name}/top`);
    expect(longNamed.json['items']).toMatchObject([{ item: 'b' }]);
    expect((await tally.get(`/top?stream=${name}&window=1h`)).text).toBe(longNamed.text);
  });

  test('a stream that was never written is empty and exact', async () => {
    tally = await startTestTally();
    const { status, json } = await tally.get('/v1/streams/nobody/top');
    expect(status).toBe(200);
    expect(topAnswer.parse(json)).toMatchObject({ total: 0, exact: true, returned: 0, items: [] });
  });

  test('until ends the window in the past, rounded down to the minute', async () => {
    tally = await startTestTally();
    await tally.send([
      { item: 'in', at: START_MS - 2 * MINUTE_MS },
      { item: 'out', at: START_MS - MINUTE_MS },
    ]);
    await tally.fold();
    for (const until of ['2026-11-30T10:29:59Z', String(START_MS - 1)]) {
      const { json } = await tally.get(`/top?window=1m&until=${until}`);
      expect(json).toMatchObject({
        from: '2026-11-30T10:28:00.000Z',
        to: '2026-11-30T10:29:00.000Z',
        items: [{ item: 'in' }],
      });
    }
  });
});

describe('distinct', () => {
  test('counts actors, leaves out who named none, and says how many', async () => {
    tally = await startTestTally();
    await tally.send([
      { item: 'a', actor: 'x' },
      { item: 'b', actor: 'x' },
      { item: 'a', actor: 'y', count: 3 },
      { item: 'a', count: 7 },
    ]);
    await tally.fold();
    const { json } = await tally.get('/v1/streams/default/distinct?window=1h');
    expect(distinctAnswer.parse(json)).toMatchObject({
      estimate: 2,
      lower: 2,
      upper: 2,
      standardError: 0,
      exact: true,
      total: 12,
      withoutActor: 7,
    });
  });
});

describe('items', () => {
  test('one item, also with a slash, dots or the name of another route', async () => {
    tally = await startTestTally();
    const items = ['/a/b?c=d', '...', 'counts', '%2F', ' '];
    await tally.send(items.map((item, index) => ({ item, count: index + 1 })));
    await tally.fold();
    for (const [index, item] of items.entries()) {
      const { json } = await tally.get(
        `/v1/streams/default/items/${encodeURIComponent(item)}?window=1h`,
      );
      expect(itemAnswer.parse(json)).toMatchObject({ item, count: index + 1, total: 15 });
    }
  });

  test('an item that never occurred counts 0', async () => {
    tally = await startTestTally();
    const { status, json } = await tally.get('/v1/streams/default/items/nothing');
    expect(status).toBe(200);
    expect(json).toMatchObject({ count: 0, lower: 0, upper: 0, exact: true });
  });

  test('several items in one call keep their order, and up to 500 are allowed', async () => {
    tally = await startTestTally();
    await tally.send([{ item: 'a' }, { item: 'b', count: 2 }]);
    await tally.fold();
    const path = '/v1/streams/default/items/counts?window=1h';
    const { status, json } = await tally.send({ items: ['b', 'x', 'a', 'b'] }, { path });
    expect(status).toBe(200);
    const { items } = itemsAnswer.parse(json);
    expect(items.map(({ item, count }) => [item, count])).toEqual([
      ['b', 2],
      ['x', 0],
      ['a', 1],
      ['b', 2],
    ]);
    const many = (count: number) => ({ items: Array.from({ length: count }, String) });
    expect((await tally.send(many(500), { path })).status).toBe(200);
    const refused = await tally.send(many(501), { path });
    expect(refused.status).toBe(400);
    expect(refused.json).toMatchObject({ code: 'invalid_body', parameter: 'items' });
  });

  test.for([
    ['{"items":[]}', 'items'],
    ['{"items":["a",""]}', 'items.1'],
    ['{"items":"a"}', 'items'],
    ['{"items":["a"],"k":1}', undefined],
    ['[]', undefined],
  ])('the body %s is refused', async ([body, parameter]) => {
    tally = await startTestTally();
    const path = '/v1/streams/default/items/counts';
    const { status, json } = await tally.send(body, { path });
    expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_body', parameter]);
  });

  test('only JSON is taken', async () => {
    tally = await startTestTally();
    const path = '/v1/streams/default/items/counts';
    const { status } = await tally.send('{"items":["a"]}', { path, type: 'application/x-ndjson' });
    expect(status).toBe(415);
  });
});

describe('series', () => {
  test('of a stream: a point for each step, without gaps, with its actors', async () => {
    tally = await startTestTally();
    await tally.send([
      { item: 'a', actor: 'x', at: START_MS - 2 * HOUR_MS },
      { item: 'b', actor: 'x', at: START_MS },
      { item: 'b', actor: 'y', at: START_MS, count: 4 },
    ]);
    await tally.fold();
    const { json } = await tally.get('/v1/streams/default/series?window=3h&step=1h');
    const { points, stepSeconds } = seriesAnswer.parse(json);
    expect(stepSeconds).toBe(3600);
    expect(points.map(({ from, count, distinct }) => [from, count, distinct?.estimate])).toEqual([
      ['2026-11-30T08:00:00.000Z', 1, 1],
      ['2026-11-30T09:00:00.000Z', 0, 0],
      ['2026-11-30T10:00:00.000Z', 5, 2],
    ]);
  });

  test('of an item: its counts; minutes by default for short windows', async () => {
    tally = await startTestTally();
    await tally.send([{ item: 'a', count: 3 }, { item: 'b' }]);
    await tally.fold();
    const { json } = await tally.get('/v1/streams/default/items/a/series?window=5m');
    const { item, points, stepSeconds } = seriesAnswer.parse(json);
    expect([item, stepSeconds, points.length]).toEqual(['a', 60, 5]);
    expect(points.at(-1)).toMatchObject({ count: 3, lower: 3, upper: 3, exact: true });
    expect(points.at(-1)).not.toHaveProperty('distinct');
  });

  test.for([
    ['window=24h', 24],
    ['window=2h', 120],
    ['window=25h&step=1m', 1500],
    ['window=31d&step=1h', 744],
    ['window=31d&step=1d', 31],
    ['window=31d', 744],
    ['window=32d', 32],
    ['window=400d&step=1w', 58],
    ['window=24h&step=90m', 16],
  ] as const)('%s has %i points', async ([query, count]) => {
    tally = await startTestTally();
    const { json } = await tally.get(`/v1/streams/default/series?${query}`);
    expect(seriesAnswer.parse(json).points).toHaveLength(count);
  });

  test.for([
    'window=26h&step=1m',
    'window=1h&step=2h',
    'step=0m',
    'step=2mo',
    'step=401d',
    'window=30d&step=1mo',
    'window=400d&step=1h',
  ])('%s is refused by its step', async (query) => {
    tally = await startTestTally();
    const { status, json } = await tally.get(`/v1/streams/default/series?${query}`);
    expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_parameter', 'step']);
  });
});

describe('streams', () => {
  test('are listed in the order of their bytes, a page at a time', async () => {
    tally = await startTestTally({ partitions: 3 });
    const names = ['Z', 'a b', 'b', '\u{ffff}', '\u{1f3cf}'];
    for (const stream of names) await tally.send([{ item: 'a', stream }]);
    await tally.fold();
    const seen: string[] = [];
    let path: string | null = '/v1/streams?limit=2';
    while (path !== null) {
      const { streams, next } = streamList.parse((await tally.get(path)).json);
      seen.push(...streams.map(({ stream }) => stream));
      path = next === null ? null : `/v1/streams?limit=2&after=${encodeURIComponent(next)}`;
    }
    expect(seen).toEqual(names);
  });

  test('a deleted stream is empty at once, begins anew and has another generation', async () => {
    tally = await startTestTally({ partitions: 2 });
    const info = async () => streamInfo.parse((await tally.get('/v1/streams/default')).json);
    const total = async () => (await tally.get('/top')).json['total'];
    const before = await info();
    await tally.send([{ item: 'a' }]);
    await tally.fold();
    expect(await total()).toBe(1);
    await tally.send([{ item: 'waits' }]);
    const path = `${tally.url}/v1/streams/default`;
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(204);
    expect(await total()).toBe(0);
    await tally.send([{ item: 'new' }]);
    await tally.clock.advance(2_000);
    expect((await tally.get('/top')).json['items']).toMatchObject([{ item: 'new', count: 1 }]);
    const after = await info();
    expect(after.generation).not.toBe(before.generation);
    expect(await info()).toEqual(after);
  });
});

describe('freshness', () => {
  test('an event is visible within 2 s of its 202, also where an answer is cached', async () => {
    tally = await startTestTally();
    for (let offsetMs = 0; offsetMs < 1_000; offsetMs += 100) {
      const item = `item ${offsetMs}`;
      const path = `/v1/streams/default/items/${encodeURIComponent(item)}`;
      await tally.clock.advance(offsetMs);
      expect((await tally.get(path)).json['count']).toBe(0);
      await tally.send([{ item }]);
      // Somebody asks all the time, so that an answer from before is always at hand.
      for (let tick = 0; tick < 19; tick += 1) {
        await tally.clock.advance(100);
        await tally.get(path);
      }
      await tally.clock.advance(100);
      expect((await tally.get(path)).json['count']).toBe(1);
    }
  });

  test('an event is visible after 2 s where nobody asked in between', async () => {
    tally = await startTestTally();
    expect((await tally.get('/top')).json['total']).toBe(0);
    await tally.send([{ item: 'a' }]);
    await tally.clock.advance(2_000);
    expect((await tally.get('/top')).json['total']).toBe(1);
  });

  test('many who ask at once make one read', async () => {
    tally = await startTestTally();
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'readIndex' ? opened : Promise.resolve());
    const asked = Array.from({ length: 50 }, () => tally.get('/top?k=7'));
    await until('all of them wait', async () => {
      return (await tally.get('/metrics')).text.includes('result="miss"} 50\n');
    });
    open();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(tally.control.calls.get('readIndex')).toBe(1);
  });

  test('what waits for more than 5 s makes the answer lagging, as of then', async () => {
    tally = await startTestTally();
    tally.control.before = async (method) => {
      if (method === 'readLog') await gone();
    };
    await tally.send([{ item: 'a' }]);
    await tally.clock.advance(5_000);
    expect((await tally.get('/top')).json).not.toHaveProperty('lagging');
    await tally.clock.advance(2_000);
    const { json } = await tally.get('/top');
    expect(topAnswer.parse(json)).toMatchObject({
      lagging: true,
      asOf: '2026-11-30T10:30:00.000Z',
      total: 0,
    });
  });
});

describe('a store that is gone', () => {
  test('serves the last answer, marked stale, as of then, up to a stated age', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_STALE_SECONDS: '60' } });
    await tally.send([{ item: 'a' }]);
    await tally.fold();
    const fresh = topAnswer.parse((await tally.get('/top')).json);
    tally.control.before = gone;
    await tally.clock.advance(59_000);
    for (let time = 0; time < 2; time += 1) {
      expect(topAnswer.parse((await tally.get('/top')).json)).toEqual({ ...fresh, stale: true });
    }
    await tally.clock.advance(2_000);
    const refused = await tally.get('/top');
    expect([refused.status, refused.json['code']]).toEqual([503, 'store_unavailable']);
    expect(refused.headers.get('retry-after')).toBe('1');
    tally.control.before = async () => {};
    expect((await tally.get('/top')).json).not.toHaveProperty('stale');
  });

  test.for(['/top', '/v1/streams', '/v1/streams/default', '/v1/streams/default/distinct'])(
    '%s is 503 where nothing was answered before',
    async (path) => {
      tally = await startTestTally();
      tally.control.before = gone;
      const { status, json } = await tally.get(path);
      expect([status, json['code']]).toEqual([503, 'store_unavailable']);
    },
  );

  test('events are refused with 503', async () => {
    tally = await startTestTally();
    tally.control.before = gone;
    const { status, json } = await tally.send([{ item: 'a' }]);
    expect([status, json['code']]).toEqual([503, 'store_unavailable']);
  });

  test('one partition that is gone makes the answer partial and is named', async () => {
    tally = await startTestTally({ partitions: 3 });
    for (let batch = 0; batch < 3; batch += 1) await tally.send([{ item: 'a' }]);
    await tally.fold();
    tally.control.before = async (method, partition) => {
      if (method !== 'readStats' && partition === 1) await gone();
    };
    const { status, json } = await tally.get('/top');
    expect(status).toBe(200);
    expect(topAnswer.parse(json)).toMatchObject({
      partial: true,
      missing: ['partition 1'],
      total: 2,
    });
    const list = streamList.parse((await tally.get('/v1/streams')).json);
    expect(list).toMatchObject({ partial: true, missing: ['partition 1'] });
  });
});
