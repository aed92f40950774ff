import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { topAnswer, trendingAnswer } from '../../src/api/answer-schemas.ts';
import { START_MS, startTestTally, type TestTally } from '../support/tally.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let tally: TestTally;
beforeEach(async () => {
  tally = await startTestTally({ partitions: 2 });
});
afterEach(() => tally.close());

/** Events of so many minutes ago. */
function ago(minutes: number, item: string, count = 1, actor?: string) {
  return { item, count, at: START_MS - minutes * MINUTE_MS, ...(actor ? { actor } : {}) };
}

async function top(query: string) {
  const { status, json } = await tally.get(`/top?${query}`);
  expect(status).toBe(200);
  return topAnswer.parse(json);
}

describe('top by actors', () => {
  test('counts one who comes a thousand times once, and never more actors than events', async () => {
    await tally.send([
      ago(1, 'bot', 1_000, 'b'),
      ago(1, 'liked', 1, 'x'),
      ago(2, 'liked', 1, 'y'),
      ago(1, 'nobody', 50),
    ]);
    await tally.fold();
    const answer = await top('by=actors');
    expect(answer).toMatchObject({ by: 'actors', total: 1_052, exact: true, standardError: 0 });
    expect(answer.items).toEqual([
      { rank: 1, item: 'liked', count: 2, lower: 2, upper: 2, events: 2 },
      { rank: 2, item: 'bot', count: 1, lower: 1, upper: 1, events: 1_000 },
    ]);
  });
});

describe('top with a half-life', () => {
  test('ranks by what is hot now, and shows the plain counts beside the score', async () => {
    await tally.send([ago(55, 'old', 10), ago(1, 'new', 6)]);
    await tally.fold();
    expect((await top('')).items.map(({ item }) => item)).toEqual(['old', 'new']);
    const answer = await top('decay=30m');
    expect(answer.halfLifeSeconds).toBe(1_800);
    expect(answer.items).toMatchObject([
      { rank: 1, item: 'new', count: 6 },
      { rank: 2, item: 'old', count: 10, lower: 10 },
    ]);
    const [hot, old] = answer.items;
    // 2^(-age / 30 min), from the middle of the minute on.
    expect(old?.score).toBeCloseTo(10 * 2 ** -(54.5 / 30), 1);
    expect(hot?.scoreLower).toBeLessThanOrEqual(hot?.score ?? 0);
  });

  test.for([
    ['decay=0m', 'decay'],
    ['decay=401d', 'decay'],
    ['decay=30', 'decay'],
    ['decay=1h&by=actors', 'decay'],
    ['by=items', 'by'],
    ['by=', 'by'],
    ['movement=1', 'movement'],
    ['offset=-1', 'offset'],
    ['offset=10001', 'offset'],
    ['offset=1.5', 'offset'],
  ])('%s is refused by name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`/top?${query}`);
    expect([status, json['code'], json['parameter']]).toEqual([
      400,
      'invalid_parameter',
      parameter,
    ]);
  });

  test.for(['decay=1m', 'decay=400d', 'offset=10000', 'by=events', 'movement=false'])(
    '%s is taken',
    async (query) => {
      expect((await tally.get(`/top?${query}`)).status).toBe(200);
    },
  );
});

describe('movement', () => {
  test('tells the rank in the window before, and what is certainly new', async () => {
    await tally.send([
      ago(90, 'a', 5),
      ago(90, 'b', 3),
      ago(90, 'gone', 9),
      ago(5, 'b', 7),
      ago(5, 'a', 2),
      ago(5, 'new', 1),
    ]);
    await tally.fold();
    const answer = await top('window=1h&movement=true');
    expect(answer.previous).toEqual({
      from: '2026-11-30T08:31:00.000Z',
      to: '2026-11-30T09:31:00.000Z',
      complete: true,
    });
    expect(
      answer.items.map(({ item, previousRank, isNew }) => [item, previousRank, isNew]),
    ).toEqual([
      ['b', 3, false],
      ['a', 2, false],
      ['new', null, true],
    ]);
    expect((await top('window=1h')).items[0]).not.toHaveProperty('previousRank');
  });

  test('nothing is new where the window before is not kept', async () => {
    await tally.send([ago(5, 'a')]);
    await tally.fold();
    const answer = await top('window=400d&movement=true');
    expect(answer.previous?.complete).toBe(false);
    expect(answer.items).toMatchObject([{ item: 'a', previousRank: null, isNew: false }]);
  });
});

describe('pages', () => {
  test('go on where the one before ended, and say how far ranks are certain', async () => {
    await tally.send(Array.from({ length: 25 }, (_, index) => ago(1, `i${index}`, 100 - index)));
    await tally.fold();
    const ranks: number[] = [];
    for (const offset of [0, 10, 20]) {
      const answer = await top(`k=10&offset=${offset}`);
      ranks.push(...answer.items.map(({ rank }) => rank));
      expect(answer).toMatchObject({ k: 10, offset, returned: offset === 20 ? 5 : 10 });
      expect(answer.certainRanks).toBe(Math.min(offset + 10, 25));
    }
    expect(ranks).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
    expect(await top('offset=100')).toMatchObject({ returned: 0, items: [], total: 2_200 });
  });
});

describe('explain', () => {
  test('names what was read, and is never answered from the cache', async () => {
    await tally.send([ago(1, 'a'), ago(90, 'b')]);
    await tally.fold();
    const explained = (await top('window=2h&explain=true')).explain;
    expect(explained?.summaryCount).toBe(explained?.summaries.length);
    expect(explained?.summaries.length).toBeGreaterThan(0);
    expect(explained?.summaries[0]).toMatchObject({ stream: 'default', itemsExact: true, cut: 0 });
    expect(explained?.summaryBytes).toBeGreaterThan(0);
    expect(await top('window=2h')).not.toHaveProperty('explain');
    await tally.send([ago(1, 'c')]);
    await tally.fold();
    expect((await top('window=2h&explain=true')).total).toBe(3);
    const metrics = await tally.get('/metrics');
    expect(metrics.text).toContain('result="miss"} 1\n');
  });

  test('is there for every question about a stream', async () => {
    for (const place of ['top', 'trending', 'distinct', 'series', 'items/a', 'items/a/distinct']) {
      const { json } = await tally.get(`/v1/streams/default/${place}?explain=true`);
      expect([place, json]).toMatchObject([place, { explain: { summaryCount: 0 } }]);
    }
  });
});

describe('trending', () => {
  /** Seven calm days, and a burst now; the whole stream is twice as busy today. */
  async function sendWeek(): Promise<void> {
    const days = Array.from({ length: 8 }, (_, day) => day);
    for (const day of days) {
      const at = START_MS - day * DAY_MS - 10 * MINUTE_MS;
      const rhythm = day === 0 ? 2 : 1;
      await tally.send([
        { item: 'burst', count: day === 0 ? 300 : 20, at, actor: `u${day}` },
        { item: 'big', count: 500 * rhythm, at, actor: `v${day}` },
        { item: 'rest', count: 4_000 * rhythm, at, actor: `w${day}` },
      ]);
    }
    await tally.fold();
  }

  async function trending(query: string) {
    const { status, json } = await tally.get(`/v1/streams/default/trending?${query}`);
    expect(status).toBe(200);
    return trendingAnswer.parse(json);
  }

  test('names what is above the usual with the reason, not what is merely big', async () => {
    await sendWeek();
    const answer = await trending('window=1h&movement=true');
    expect(answer).toMatchObject({
      by: 'events',
      k: 10,
      returned: 1,
      trendingCount: 1,
      total: 9_300,
      exact: true,
      baseline: { kind: 'days', used: 7, of: 7, tz: 'UTC' },
      minSupport: 10,
    });
    const [row] = answer.items;
    expect(row).toMatchObject({ rank: 1, item: 'burst', count: 300, lower: 300, upper: 300 });
    expect(row).toMatchObject({ previousRank: null, isNew: true });
    expect(row?.days).toHaveLength(7);
    expect(row?.score).toBeGreaterThanOrEqual(answer.threshold);
    expect(row?.lift).toBeCloseTo(300 / (row?.expected ?? 0), 2);
  });

  test('takes fewer days, a higher support, another zone', async () => {
    await sendWeek();
    expect((await trending('baseline=3')).baseline).toMatchObject({ used: 3, of: 3 });
    expect((await trending('minSupport=301')).items).toEqual([]);
    expect((await trending('tz=Asia/Kathmandu')).baseline.tz).toBe('Asia/Kathmandu');
    expect((await trending('by=actors')).items).toEqual([]);
  });

  test('says when windows right before stand in for days', async () => {
    await tally.send([ago(5, 'a', 100), ago(90, 'a', 1), ago(150, 'a', 1), ago(150, 'b', 50)]);
    await tally.fold();
    expect((await trending('window=1h')).baseline.kind).toBe('windows');
  });

  test.for([
    ['baseline=0', 'baseline'],
    ['baseline=29', 'baseline'],
    ['minSupport=0', 'minSupport'],
    ['minSupport=1000000001', 'minSupport'],
    ['k=0', 'k'],
    ['k=501', 'k'],
    ['tz=Mars/Olympus', 'tz'],
    ['by=items', 'by'],
    ['offset=1', 'offset'],
  ])('%s is refused by name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`/v1/streams/default/trending?${query}`);
    const code = parameter === 'offset' ? 'unknown_parameter' : 'invalid_parameter';
    expect([status, json['code'], json['parameter']]).toEqual([400, code, parameter]);
  });

  test.for(['baseline=1', 'baseline=28', 'minSupport=1', 'minSupport=1000000000', 'k=500'])(
    '%s is taken',
    async (query) => {
      expect((await tally.get(`/v1/streams/default/trending?${query}`)).status).toBe(200);
    },
  );
});
