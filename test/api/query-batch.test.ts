import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { problem, queryAnswer } from '../../src/api/answer-schemas.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

const PATH = '/v1/query';

let tally: TestTally;
beforeEach(async () => {
  tally = await startTestTally({ partitions: 2 });
  const dimensions = [{ name: 'country' }];
  await tally.send({ dimensions }, { method: 'PUT', path: '/v1/streams/default' });
  await tally.send([
    { item: 'a', actor: 'x', count: 3, dims: { country: 'IN' } },
    { item: 'b', actor: 'y' },
    { item: 'c', stream: 'other' },
  ]);
  await tally.fold();
});
afterEach(() => tally.close());

function ask(...queries: unknown[]) {
  return tally.send({ queries }, { path: PATH });
}

describe('several questions at once', () => {
  test('are answered in their order, as each would be by itself', async () => {
    const window = { from: '2026-11-30T10:00:00Z', to: '2026-11-30T10:30:00Z' };
    const { status, json } = await ask(
      { type: 'top', k: 1, ...window },
      { type: 'distinct', ...window },
      { type: 'distinct', by: 'country', ...window },
      { type: 'distinct', item: 'a', ...window },
      { type: 'items', items: ['b', 'a'], ...window },
      { type: 'series', step: '15m', ...window },
      { type: 'series', step: '15m', item: 'a', ...window },
      { type: 'trending', ...window },
      { type: 'top', stream: 'other', where: undefined, explain: false },
    );
    expect(json).not.toHaveProperty('code');
    expect(status).toBe(200);
    const { results } = queryAnswer.parse(json);
    expect(results.map(({ type }) => type)).toEqual([
      ...['top', 'distinct', 'distinct', 'distinct', 'items', 'series', 'series', 'trending'],
      'top',
    ]);
    const query = `from=${window.from}&to=${window.to}`;
    const alone = [
      await tally.get(`/top?k=1&${query}`),
      await tally.get(`/v1/streams/default/distinct?${query}`),
      await tally.get(`/v1/streams/default/distinct?by=country&${query}`),
      await tally.get(`/v1/streams/default/items/a/distinct?${query}`),
      await tally.send(
        { items: ['b', 'a'] },
        { path: `/v1/streams/default/items/counts?${query}` },
      ),
      await tally.get(`/v1/streams/default/series?step=15m&${query}`),
      await tally.get(`/v1/streams/default/items/a/series?step=15m&${query}`),
      await tally.get(`/v1/streams/default/trending?${query}`),
    ];
    for (const [index, each] of alone.entries()) {
      expect(results[index]?.answer).toEqual(each.json);
    }
  });

  test('those about one stream are as of one moment, whatever is folded meanwhile', async () => {
    let reads = 0;
    tally.control.before = async (method) => {
      if (method !== 'readIndex') return;
      reads += 1;
      await tally.send([{ item: 'late' }]);
    };
    const types = ['top', 'distinct', 'series'];
    const { json } = await ask(...types.map((type) => ({ type, window: '1h' })));
    const { results } = queryAnswer.parse(json);
    expect(new Set(results.map(({ answer }) => answer.asOf)).size).toBe(1);
    expect(reads).toBe(2);
  });

  test('times may be numbers, numbers and truth values are no texts', async () => {
    const to = Date.parse('2026-11-30T10:30:00Z');
    const { status } = await ask({ type: 'top', from: to - 60_000, to, k: 500, movement: true });
    expect(status).toBe(200);
    for (const [name, value] of Object.entries({ k: '10', movement: 'true', offset: 1.5 })) {
      const { json } = await ask({ type: 'top', [name]: value });
      expect(json).toMatchObject({ code: 'invalid_parameter', parameter: name, index: 0 });
    }
  });

  test.for([
    [{ type: 'top', k: 501 }, 'invalid_parameter', 'k'],
    [{ type: 'top', k: 0 }, 'invalid_parameter', 'k'],
    [{ type: 'top', offset: 10_001 }, 'invalid_parameter', 'offset'],
    [{ type: 'top', windw: '1h' }, 'unknown_parameter', 'windw'],
    [{ type: 'top', window: '401d' }, 'invalid_parameter', 'window'],
    [{ type: 'top', stream: '' }, 'invalid_parameter', 'stream'],
    [{ type: 'top', period: 'today', window: '1h' }, 'invalid_parameter', 'window'],
    [{ type: 'top', until: '2027-01-01T00:00:00Z' }, 'invalid_parameter', 'until'],
    [{ type: 'top', where: 'planet:earth' }, 'unknown_dimension', 'where'],
    [{ type: 'top', by: 'actors', decay: '1h' }, 'invalid_parameter', 'decay'],
    [{ type: 'distinct', by: 'country', item: 'a' }, 'invalid_parameter', 'by'],
    [{ type: 'items', items: [] }, 'invalid_parameter', 'items'],
    [{ type: 'items', items: Array.from({ length: 501 }, String) }, 'invalid_parameter', 'items'],
    [{ type: 'items' }, 'invalid_parameter', 'items'],
    [{ type: 'series', step: '1y' }, 'invalid_parameter', 'step'],
    [{ type: 'series', window: '400d', step: '1m' }, 'invalid_parameter', 'step'],
    [{ type: 'trending', baseline: 29 }, 'invalid_parameter', 'baseline'],
    [{ type: 'topp' }, 'invalid_parameter', 'type'],
    [{}, 'invalid_parameter', 'type'],
    ['top', 'invalid_parameter', undefined],
  ])('%j refuses the request, with its place', async ([query, code, parameter]) => {
    const { status, json } = await ask({ type: 'top' }, query, { type: 'distinct' });
    expect(status).toBe(400);
    const { index, ...refusal } = problem.parse(json);
    expect([refusal.code, refusal.parameter, index]).toEqual([code, parameter, 1]);
  });

  test('up to 20 are taken', async () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ type: 'distinct' }));
    expect((await ask(...many(20))).status).toBe(200);
    for (const refused of [await ask(...many(21)), await ask()]) {
      expect([refused.status, refused.json['code'], refused.json['parameter']]).toEqual([
        400,
        'invalid_body',
        'queries',
      ]);
    }
  });

  test.for(['[]', '{}', '{"queries":{}}', '{"queries":[{"type":"top"}],"k":1}'])(
    'the body %s has the wrong shape',
    async (body) => {
      const { status, json } = await tally.send(body, { path: PATH });
      expect([status, json['code']]).toEqual([400, 'invalid_body']);
    },
  );
});
