import { afterEach, describe, expect, test } from 'vitest';
import { problem } from '../../src/api/answer-schemas.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { streamInfo } from '../../src/api/stream-schemas.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

const PATH = '/v1/streams/default';

let tally: TestTally;
afterEach(() => tally.close());

function put(body: unknown, path = PATH) {
  return tally.send(body, { method: 'PUT', path });
}

describe('settings of a stream', () => {
  test('are the defaults where nothing was set', async () => {
    tally = await startTestTally();
    const info = streamInfo.parse((await tally.get(PATH)).json);
    expect(info).toMatchObject({ stream: 'default', generation: '0', dimensions: [] });
    expect(info.settings).toMatchObject({
      dimensions: [],
      retention: { minute: '25h', hour: '32d', day: '400d' },
      kMax: 500,
      candidates: 2000,
      viewerBytes: 131_072,
      mode: 'open',
    });
  });

  test('are replaced as a whole, and what was answered can be put back', async () => {
    tally = await startTestTally();
    const settings = {
      dimensions: [{ name: 'country' }, { name: 'device', values: ['tv', 'phone'] }],
      retention: { minute: '3h', hour: '48h', day: '90d' },
      epsilon: 0.001,
      delta: 0.01,
      kMax: 100,
      candidates: 400,
      viewerBytes: 65_536,
      mode: 'review',
    };
    const { status, json } = await put(settings);
    expect(status).toBe(200);
    const info = streamInfo.parse(json);
    expect(info.settings).toEqual({
      ...settings,
      dimensions: [
        { name: 'country', values: null, maxValues: 50 },
        { name: 'device', values: ['tv', 'phone'], maxValues: 2 },
      ],
    });
    expect(info.dimensions).toEqual([
      { name: 'country', since: null, values: ['other'] },
      { name: 'device', since: null, values: ['tv', 'phone', 'other'] },
    ]);
    expect((await put(info.settings)).json).toEqual(json);
    expect((await tally.get(PATH)).json).toEqual(json);
    const emptied = await put({});
    expect(emptied.json['settings']).toMatchObject({ dimensions: [], kMax: 500, mode: 'open' });
  });

  test.for([
    [{ kMax: 0 }, 'kMax'],
    [{ kMax: 501 }, 'kMax'],
    [{ kMax: 1.5 }, 'kMax'],
    [{ candidates: 1999 }, 'candidates'],
    [{ candidates: 10_001 }, 'candidates'],
    [{ epsilon: 0.02 }, 'epsilon'],
    [{ epsilon: 0 }, 'epsilon'],
    [{ delta: 0.2 }, 'delta'],
    [{ viewerBytes: 8191 }, 'viewerBytes'],
    [{ viewerBytes: 1_048_577 }, 'viewerBytes'],
    [{ retention: { minute: '119m' } }, 'retention.minute'],
    [{ retention: { minute: '26h' } }, 'retention.minute'],
    [{ retention: { day: '401d' } }, 'retention.day'],
    [{ retention: { minute: '20h', hour: '10h' } }, 'retention.minute'],
    [{ dimensions: [{ name: 'Country' }] }, 'dimensions.0.name'],
    [{ dimensions: [{ name: '' }] }, 'dimensions.0.name'],
    [{ dimensions: [{ name: 'a' }, { name: 'a' }] }, 'dimensions'],
    [{ dimensions: Array.from('abcdefghi', (name) => ({ name })) }, 'dimensions'],
    [{ dimensions: [{ name: 'a', maxValues: 0 }] }, 'dimensions.0.maxValues'],
    [{ dimensions: [{ name: 'a', maxValues: 201 }] }, 'dimensions.0.maxValues'],
    [{ dimensions: [{ name: 'a', values: ['other'] }] }, 'dimensions.0.values'],
    [{ dimensions: [{ name: 'a', values: ['b', 'b'] }] }, 'dimensions.0.values'],
    [{ dimensions: Array.from('abc', (name) => ({ name, maxValues: 200 })) }, 'dimensions'],
  ])('%j is refused by its field', async ([settings, parameter]) => {
    tally = await startTestTally();
    const { status, json } = await put(settings);
    expect(status).toBe(400);
    expect(problem.parse(json)).toMatchObject({ code: 'invalid_settings', parameter });
    expect((await tally.get(PATH)).json['settings']).toMatchObject({ kMax: 500, dimensions: [] });
  });

  test.for([
    [{ kMax: 1, candidates: 4 }],
    [{ kMax: 500 }],
    [{ candidates: 10_000 }],
    [{ viewerBytes: 8_192 }],
    [{ viewerBytes: 1_048_576 }],
    [{ epsilon: 0.01, delta: 0.1 }],
    [{ epsilon: 0.000_05, delta: 0.000_5 }],
    [{ retention: { minute: '2h', hour: '2h', day: '2h' } }],
    [{ retention: { day: '400d' } }],
    [{ dimensions: [{ name: 'a'.repeat(64), maxValues: 200 }] }],
    [{ dimensions: Array.from('abcdefgh', (name) => ({ name, maxValues: 50 })) }],
    [{ dimensions: [{ name: 'a', values: ['v'.repeat(128)] }] }],
  ])('%j is taken', async ([settings]) => {
    tally = await startTestTally();
    expect((await put(settings)).status).toBe(200);
  });

  test.for([
    ['[]', undefined],
    ['{"colour":1}', undefined],
    ['{"kMax":"5"}', 'kMax'],
    ['{"mode":"closed"}', 'mode'],
    ['{"retention":{"minute":3600000}}', 'retention.minute'],
    ['{"retention":{"minute":"1w"}}', 'retention.minute'],
    ['{"dimensions":{}}', 'dimensions'],
    ['{"dimensions":[{"name":"a","values":["\\ud800"]}]}', 'dimensions.0.values.0'],
    [`{"dimensions":[{"name":"a","values":["${'v'.repeat(129)}"]}]}`, 'dimensions.0.values.0'],
  ])('the body %s has the wrong shape', async ([body, parameter]) => {
    tally = await startTestTally();
    const { status, json } = await put(body);
    expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_body', parameter]);
  });

  test('the retention of a stream with events may shrink, but not grow', async () => {
    tally = await startTestTally();
    expect((await put({ retention: { day: '90d' } })).status).toBe(200);
    expect((await put({ retention: { day: '100d' } })).status).toBe(200);
    await tally.send([{ item: 'a' }]);
    expect((await put({ retention: { day: '90d' } })).status).toBe(200);
    const { status, json } = await put({ retention: { day: '91d' } });
    expect(status).toBe(409);
    expect(problem.parse(json)).toMatchObject({ code: 'retention_grows' });
    expect((await tally.get(PATH)).json['settings']).toMatchObject({ retention: { day: '90d' } });
  });

  test('a stream’s largest k is refused beyond, in every question', async () => {
    tally = await startTestTally();
    await put({ kMax: 5 });
    for (const place of ['top', 'trending', 'moderation/queue']) {
      expect((await tally.get(`${PATH}/${place}?k=5`)).status).toBe(200);
      const { status, json } = await tally.get(`${PATH}/${place}?k=6`);
      expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_parameter', 'k']);
    }
  });

  test('streams beyond the limit are refused, for events and for settings', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_STREAMS: '2' } });
    expect((await put({ kMax: 5 }, '/v1/streams/a')).status).toBe(200);
    const events = [
      { item: 'x', stream: 'b' },
      { item: 'x', stream: 'c' },
      { item: 'x', stream: 'a' },
    ];
    const { status, json } = await tally.send(events);
    expect(status).toBe(202);
    expect(json).toMatchObject({
      accepted: 2,
      rejected: 1,
      errors: [{ index: 1, code: 'too_many_streams' }],
    });
    const refused = await put({ kMax: 5 }, '/v1/streams/d');
    expect([refused.status, refused.json['code']]).toEqual([409, 'too_many_streams']);
    expect((await fetch(`${tally.url}/v1/streams/a`, { method: 'DELETE' })).status).toBe(204);
    expect((await put({ kMax: 5 }, '/v1/streams/d')).status).toBe(200);
  });

  test('that are damaged harm their own stream only, and deleting it repairs it', async () => {
    const tags = seededTags(new Prng(3));
    const registryStore = new MemoryDocumentStore(tags);
    const damaged = { name: 'default', expectedTag: null, tag: tags(), text: '{"version":1' };
    await registryStore.putDocuments([damaged], 10);
    tally = await startTestTally({ registryStore });
    const asked = [
      await tally.get(PATH),
      await tally.get('/top'),
      await tally.get(`${PATH}/moderation`),
      await put({ kMax: 5 }),
      await tally.send({ queries: [{ type: 'top' }] }, { path: '/v1/query' }),
    ];
    for (const { status, json } of asked) {
      expect([status, problem.parse(json).code]).toEqual([500, 'stream_damaged']);
    }
    const sent = await tally.send([{ item: 'a' }, { item: 'a', stream: 'other' }]);
    expect(sent.json).toMatchObject({
      accepted: 1,
      rejected: 1,
      errors: [{ index: 0, code: 'stream_damaged' }],
    });
    expect((await fetch(tally.url + PATH, { method: 'DELETE' })).status).toBe(204);
    expect((await tally.get(PATH)).status).toBe(200);
  });

  test('go with the stream when it is deleted', async () => {
    tally = await startTestTally();
    await put({ kMax: 5 });
    await fetch(tally.url + PATH, { method: 'DELETE' });
    expect((await tally.get(PATH)).json['settings']).toMatchObject({ kMax: 500 });
  });
});
