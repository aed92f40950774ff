import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problem, topAnswer } from '../../src/api/answer-schemas.ts';
import { START_MS, startTestTally, type TestTally } from '../support/tally.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Now is 10:30 on Monday, 2026-11-30, UTC; each item is named by its age. */
let tally: TestTally;
beforeAll(async () => {
  tally = await startTestTally();
  const aged = (item: string, ageMs: number) => ({ item, at: START_MS - ageMs });
  await tally.send([
    aged('1m', MINUTE_MS),
    aged('2h', 2 * HOUR_MS),
    aged('1d', DAY_MS),
    aged('8d', 8 * DAY_MS),
    aged('40d', 40 * DAY_MS),
    aged('300d', 300 * DAY_MS),
  ]);
  await tally.fold();
});
afterAll(() => tally.close());

async function top(query: string) {
  const { json } = await tally.get(`/top?${query}`);
  const { items, ...answer } = topAnswer.parse(json);
  return { ...answer, items: items.map(({ item }) => item).sort() };
}

describe('windows', () => {
  test.for([
    ['window=400d', ['1d', '1m', '2h', '300d', '40d', '8d']],
    ['from=2026-11-30T08:30:00Z&to=2026-11-30T08:31:00Z', ['2h']],
    [`from=${START_MS - 2 * HOUR_MS}&to=${START_MS - 2 * HOUR_MS + 119_999}`, ['2h']],
    ['from=2026-11-30T08:30:59Z', ['1m', '2h']],
    ['from=2026-11-30T08:31:00Z', ['1m']],
    ['from=2026-11-22T00:00:00%2B05:30&to=2026-11-23T00:00:00Z', ['8d']],
    ['period=today', ['1m', '2h']],
    ['period=yesterday', ['1d']],
    ['period=this_week', ['1m', '2h']],
    ['period=last_week', ['1d']],
    ['period=2026-W47', ['8d']],
    ['period=this_month', ['1d', '1m', '2h', '8d']],
    ['period=last_month', ['40d']],
    ['period=2026-02', ['300d']],
    ['period=2026-11-22', ['8d']],
    ['period=this_year', ['1d', '1m', '2h', '300d', '40d', '8d']],
    ['period=2026', ['1d', '1m', '2h', '300d', '40d', '8d']],
    ['period=today&tz=Asia/Tokyo', ['1m', '2h']],
    ['period=yesterday&tz=Asia/Tokyo', ['1d']],
  ] as const)('%s holds %s', async ([query, items]) => {
    expect((await top(query)).items).toEqual(items);
  });

  test('a day is that of the zone, whole or half an hour off', async () => {
    expect(await top('period=yesterday&tz=Asia/Kolkata')).toMatchObject({
      from: '2026-11-28T18:00:00.000Z',
      to: '2026-11-29T18:30:00.000Z',
      // Half an hour of minutes is gone 40 hours later.
      widened: true,
    });
    expect(await top('period=today&tz=Asia/Kolkata')).toMatchObject({
      from: '2026-11-29T18:30:00.000Z',
    });
    expect(await top('period=yesterday&tz=America/New_York')).toMatchObject({
      from: '2026-11-29T05:00:00.000Z',
      to: '2026-11-30T05:00:00.000Z',
    });
  });

  test('an edge whose minutes are gone is widened, and the answer says so', async () => {
    const asked = 'from=2026-11-20T10:15:00Z&to=2026-11-20T12:00:00Z';
    expect(await top(asked)).toMatchObject({
      from: '2026-11-20T10:00:00.000Z',
      to: '2026-11-20T12:00:00.000Z',
      widened: true,
    });
    expect(await top('from=2026-11-20T10:00:00Z&to=2026-11-20T12:00:00Z')).not.toHaveProperty(
      'widened',
    );
  });

  test('all questions about a stream take them', async () => {
    for (const place of ['top', 'distinct', 'items/1d', 'items/1d/distinct', 'series']) {
      const { status, json } = await tally.get(`/v1/streams/default/${place}?period=yesterday`);
      expect([place, status, json['from']]).toEqual([place, 200, '2026-11-29T00:00:00.000Z']);
    }
  });

  test.for([
    ['to=2026-11-30T10:00:00Z', 'to'],
    ['from=2026-11-30T10:00:00Z&window=1h', 'window'],
    ['from=2026-11-30T10:00:00Z&until=2026-11-30T10:10:00Z', 'until'],
    ['period=today&window=1h', 'window'],
    ['period=today&from=2026-11-30T10:00:00Z', 'from'],
    ['period=today&to=2026-11-30T10:00:00Z', 'to'],
    ['tz=UTC', 'tz'],
    ['window=1h&tz=UTC', 'tz'],
    ['from=2026-11-30T10:00:00Z&to=2026-11-30T10:00:59Z', 'from'],
    ['from=2026-11-30T10:31:00Z', 'from'],
    ['from=2026-11-30T10:00:00Z&to=2026-11-30T10:31:00Z', 'to'],
    ['from=yesterday', 'from'],
    ['from=-1', 'from'],
    ['period=tomorrow', 'period'],
    ['period=2026-13', 'period'],
    ['period=2026-W54', 'period'],
    ['period=2026-02-29', 'period'],
    ['period=2026-12', 'period'],
    ['period=', 'period'],
    ['period=this_century_or_so', 'period'],
    ['period=today&tz=Mars/Olympus', 'tz'],
    ['period=today&tz=%2B05:30', 'tz'],
    [`period=today&tz=${'a'.repeat(65)}`, 'tz'],
    ['explain=yes', 'explain'],
    ['explain=1', 'explain'],
  ])('%s is refused by name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`/top?${query}`);
    expect([status, problem.parse(json)]).toMatchObject([
      400,
      { code: 'invalid_parameter', parameter },
    ]);
  });

  test('a series has the days of a zone, one of 25 hours where its clock is turned back', async () => {
    const { json } = await tally.get(
      '/v1/streams/default/series?period=2026-11&step=1d&tz=America/New_York',
    );
    const points = json['points'] as { from: string; to: string }[];
    const hours = points.map(({ from, to }) => (Date.parse(to) - Date.parse(from)) / HOUR_MS);
    expect(hours.slice(0, -1)).toEqual([25, ...Array.from({ length: 28 }, () => 24)]);
  });

  test('a series says its step and zone, and its length where all are the same', async () => {
    const series = async (query: string) =>
      (await tally.get(`/v1/streams/default/series?${query}`)).json;
    const plain = await series('window=24h&step=1h');
    expect(plain).toMatchObject({ step: '1h', stepSeconds: 3600, tz: 'UTC' });
    expect(await series('window=3d&step=1d')).toMatchObject({ step: '1d', stepSeconds: 86_400 });
    const local = await series('window=3d&step=1d&tz=Africa/Cairo');
    expect(local).toMatchObject({ step: '1d', tz: 'Africa/Cairo' });
    expect(local).not.toHaveProperty('stepSeconds');
    expect(await series('window=90d&step=1mo')).not.toHaveProperty('stepSeconds');
  });
});
