import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  distinctAnswer,
  distinctByAnswer,
  itemAnswer,
  itemDistinctAnswer,
  itemsAnswer,
  problem,
  seriesAnswer,
  setAnswer,
  topAnswer,
} from '../../src/api/answer-schemas.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

const PATH = '/v1/streams/default';

let tally: TestTally;
beforeEach(async () => {
  tally = await startTestTally({ partitions: 2 });
  const dimensions = [{ name: 'country' }, { name: 'device', values: ['tv'] }];
  const { status } = await tally.send({ dimensions }, { method: 'PUT', path: PATH });
  expect(status).toBe(200);
});
afterEach(() => tally.close());

/** x is in both countries, z names none, an event names no actor; c is seen in India only. */
async function sendVisits(): Promise<void> {
  await tally.send([
    { item: 'a', actor: 'x', dims: { country: 'IN', device: 'tv' } },
    { item: 'a', actor: 'x', dims: { country: 'FR', device: 'phone' } },
    { item: 'b', actor: 'y', dims: { country: 'IN', planet: 'earth' }, count: 4 },
    { item: 'b', actor: 'z' },
    { item: 'c', dims: { country: 'IN' } },
  ]);
  await tally.fold();
}

describe('where', () => {
  test('asks about the events with one value of one dimension, in every question', async () => {
    await sendVisits();
    const get = async (place: string) => {
      const separator = place.includes('?') ? '&' : '?';
      return (await tally.get(`${PATH}/${place}${separator}where=country:IN`)).json;
    };
    const top = topAnswer.parse(await get('top'));
    expect(top).toMatchObject({ where: 'country:IN', total: 6, exact: true });
    expect(top.items.map(({ item, count }) => [item, count])).toEqual([
      ['b', 4],
      ['a', 1],
      ['c', 1],
    ]);
    const distinct = distinctAnswer.parse(await get('distinct'));
    expect(distinct).toMatchObject({ estimate: 2, total: 6, withoutActor: 1 });
    expect(itemAnswer.parse(await get('items/a'))).toMatchObject({ count: 1 });
    const path = `${PATH}/items/counts?where=country:FR`;
    const counts = itemsAnswer.parse((await tally.send({ items: ['a', 'b'] }, { path })).json);
    expect(counts.items.map(({ count }) => count)).toEqual([1, 0]);
    const { points } = seriesAnswer.parse(await get('series?window=1h&step=1h'));
    expect(points).toMatchObject([{ count: 6, distinct: { estimate: 2 } }]);
    const itemDistinct = itemDistinctAnswer.parse(await get('items/a/distinct'));
    expect(itemDistinct).toMatchObject({ estimate: 1, exact: true, events: { count: 1 } });
  });

  test('counts values beyond those kept under other', async () => {
    await sendVisits();
    const total = async (where: string) =>
      (await tally.get(`/top?where=${encodeURIComponent(where)}`)).json;
    expect(await total('device:other')).toMatchObject({ total: 1 });
    expect(await total('device:tv')).toMatchObject({ total: 1 });
    expect(await total('device:phone')).toMatchObject({
      total: 0,
      partial: true,
      missing: ['dimension device value phone: counted under other'],
    });
    expect(await total('country:other')).toMatchObject({ total: 0, exact: true });
    expect(await total('country:DE')).toMatchObject({ total: 0, exact: true });
  });

  test('takes a value with colons and any other text', async () => {
    const value = 'a:b c/ü%,';
    await tally.send([{ item: 'a', dims: { country: value } }]);
    await tally.fold();
    const { json } = await tally.get(`/top?where=${encodeURIComponent(`country:${value}`)}`);
    expect(json).toMatchObject({ where: `country:${value}`, total: 1 });
  });

  test('a dimension that is not kept has its own code', async () => {
    for (const query of ['top?where=planet:earth', 'distinct?by=planet']) {
      const { status, json } = await tally.get(`${PATH}/${query}`);
      const parameter = query.includes('where') ? 'where' : 'by';
      expect([status, problem.parse(json)]).toMatchObject([
        400,
        { code: 'unknown_dimension', parameter },
      ]);
    }
  });

  test.for([
    ['top?where=country', 'where'],
    ['top?where=country:', 'where'],
    ['top?where=:IN', 'where'],
    ['top?where=Country:IN', 'where'],
    [`top?where=country:${'v'.repeat(129)}`, 'where'],
    [`top?where=${'c'.repeat(65)}:IN`, 'where'],
    ['distinct?by=', 'by'],
    ['distinct?by=Country', 'by'],
    ['distinct?by=country&where=device:tv', 'where'],
  ])('%s is refused by name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`${PATH}/${query}`);
    expect([status, json['code'], json['parameter']]).toEqual([
      400,
      'invalid_parameter',
      parameter,
    ]);
  });

  test('takes values up to 128 bytes', async () => {
    expect((await tally.get(`/top?where=country:${'é'.repeat(64)}`)).status).toBe(200);
  });

  test('a dimension added later says from when on it is complete', async () => {
    await sendVisits();
    const dimensions = [{ name: 'country' }, { name: 'planet' }];
    await tally.send({ dimensions }, { method: 'PUT', path: PATH });
    const { json } = await tally.get('/top?where=planet:earth');
    expect(json).toMatchObject({ partial: true, total: 0 });
    expect(json['missing']).toEqual([
      expect.stringMatching(/^dimension planet before 2026-11-30T/),
    ]);
    const dropped = await tally.get('/top?where=device:tv');
    expect(dropped.json['code']).toBe('unknown_dimension');
  });
});

describe('distinct by a dimension', () => {
  test('gives the union, the parts, their sum and why they differ', async () => {
    await sendVisits();
    const { json } = await tally.get(`${PATH}/distinct?by=country`);
    expect(distinctByAnswer.parse(json)).toMatchObject({
      by: 'country',
      union: { estimate: 3, exact: true },
      parts: [
        { value: 'IN', estimate: 2, lower: 2, upper: 2, exact: true, total: 6 },
        { value: 'FR', estimate: 1, exact: true, total: 1 },
      ],
      sumOfParts: 3,
      reason: expect.stringContaining('once in the union'),
      total: 8,
      withoutActor: 1,
      withoutDimension: 1,
    });
  });
});

describe('distinct of an item', () => {
  test('one actor who comes a thousand times is one', async () => {
    await tally.send([
      { item: 'a', actor: 'x', count: 1_000 },
      { item: 'a', actor: 'y' },
      { item: 'a' },
      { item: 'b', actor: 'z' },
    ]);
    await tally.fold();
    const { json } = await tally.get(`${PATH}/items/a/distinct`);
    expect(itemDistinctAnswer.parse(json)).toMatchObject({
      item: 'a',
      estimate: 2,
      lower: 2,
      upper: 2,
      standardError: 0,
      exact: true,
      events: { count: 1_002, lower: 1_002, upper: 1_002 },
    });
    const nobody = await tally.get(`${PATH}/items/nothing/distinct`);
    expect(nobody.json).toMatchObject({ estimate: 0, exact: true });
  });
});

describe('distinct of several streams', () => {
  async function sendStreams(): Promise<void> {
    const visit = (stream: string, actor: string) => ({ item: 'i', stream, actor });
    await tally.send([
      ...['u', 'v', 'w'].map((actor) => visit('a', actor)),
      ...['v', 'w', 'x', 'y'].map((actor) => visit('b', actor)),
      visit('c,%', 'z'),
    ]);
    await tally.fold();
  }

  test.for([
    ['streams=a,b', 'union', 5],
    ['streams=a,b&op=union', 'union', 5],
    ['streams=a,b&op=intersection', 'intersection', 2],
    ['streams=a,b&op=difference', 'difference', 1],
    ['streams=b,a&op=difference', 'difference', 2],
    ['streams=a&op=union', 'union', 3],
    ['streams=a,b,c%252C%2525', 'union', 6],
    ['streams=a%2Cnobody&op=intersection', 'intersection', 0],
  ] as const)('%s: the %s has %i actors', async ([query, op, estimate]) => {
    await sendStreams();
    const { status, json } = await tally.get(`/v1/distinct?${query}&window=1h`);
    expect(status).toBe(200);
    expect(setAnswer.parse(json)).toMatchObject({
      op,
      estimate,
      lower: estimate,
      upper: estimate,
      exact: true,
      conclusive: true,
    });
  });

  test('names each stream with its own numbers', async () => {
    await sendStreams();
    const { json } = await tally.get('/v1/distinct?streams=b,a');
    expect(json['streams']).toMatchObject([
      { stream: 'b', estimate: 4, total: 4 },
      { stream: 'a', estimate: 3, total: 3 },
    ]);
  });

  test.for([
    ['', 'streams'],
    ['streams=', 'streams'],
    ['streams=a,,b', 'streams'],
    ['streams=a,a', 'streams'],
    ['streams=a,%25', 'streams'],
    [`streams=a,${'b'.repeat(129)}`, 'streams'],
    ['streams=a,b,c,d,e,f,g,h,i', 'streams'],
    ['streams=a&op=intersection', 'streams'],
    ['streams=a,b,c&op=difference', 'streams'],
    ['streams=a,b&op=both', 'op'],
    ['streams=a,b&tz=UTC', 'tz'],
  ])('%s is refused by name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`/v1/distinct?${query}`);
    expect([status, json['code'], json['parameter']]).toEqual([
      400,
      'invalid_parameter',
      parameter,
    ]);
  });

  test('up to 8 streams are united', async () => {
    expect((await tally.get('/v1/distinct?streams=a,b,c,d,e,f,g,h')).status).toBe(200);
  });

  test('a segment must be kept by all of them', async () => {
    const { status, json } = await tally.get('/v1/distinct?streams=default,b&where=country:IN');
    expect([status, json['code']]).toEqual([400, 'unknown_dimension']);
  });
});
