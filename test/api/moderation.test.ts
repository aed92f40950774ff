import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { itemAnswer, problem, queueAnswer, topAnswer } from '../../src/api/answer-schemas.ts';
import { moderationAudit, moderationLists, moderationSizes } from '../../src/api/stream-schemas.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

const PATH = '/v1/streams/default';
const CHANGES = `${PATH}/moderation/changes`;

let tally: TestTally;
beforeEach(async () => {
  tally = await startTestTally();
  const events = [
    { item: 'ad:1', count: 9, actor: 'x' },
    { item: 'ad:2', count: 8, actor: 'y' },
    { item: 'news', count: 7 },
    { item: 'cat', count: 6 },
  ];
  await tally.send(events);
  await tally.fold();
});
afterEach(() => tally.close());

function change(...changes: object[]) {
  return tally.send({ by: 'asha', changes }, { path: CHANGES });
}

async function shown(): Promise<string[]> {
  const { items } = topAnswer.parse((await tally.get('/top')).json);
  expect(items.map(({ rank }) => rank)).toEqual(items.map((_, index) => index + 1));
  return items.map(({ item }) => item);
}

describe('moderation', () => {
  test('a blocked item leaves a cached answer at once, ranks close up, and it comes back', async () => {
    expect(await shown()).toEqual(['ad:1', 'ad:2', 'news', 'cat']);
    const { status, json } = await change({ action: 'block', item: 'ad:2' });
    expect(status).toBe(200);
    expect(moderationSizes.parse(json)).toEqual({
      stream: 'default',
      mode: 'open',
      blocked: { items: 1, prefixes: 0 },
      allowed: { items: 0, prefixes: 0 },
    });
    expect(await shown()).toEqual(['ad:1', 'news', 'cat']);
    await change({ action: 'block', prefix: 'ad:' });
    expect(await shown()).toEqual(['news', 'cat']);
    const one = await tally.get(`${PATH}/items/ad:1`);
    expect(itemAnswer.parse(one.json)).toMatchObject({ count: 0, upper: 0, blocked: true });
    const total = (await tally.get('/top')).json['total'];
    expect(total).toBe(30);
    expect((await tally.get(`${PATH}/distinct`)).json['estimate']).toBe(2);
    await change({ action: 'unblock', prefix: 'ad:' }, { action: 'unblock', item: 'ad:2' });
    expect(await shown()).toEqual(['ad:1', 'ad:2', 'news', 'cat']);
    expect((await tally.get(`${PATH}/items/ad:1`)).json).toMatchObject({ count: 9, lower: 9 });
  });

  test('in the mode allowlist only allowed items are shown, and never blocked ones', async () => {
    await tally.send({ mode: 'allowlist' }, { method: 'PUT', path: PATH });
    expect(await shown()).toEqual([]);
    await change({ action: 'allow', prefix: 'ad:' }, { action: 'allow', item: 'cat' });
    expect(await shown()).toEqual(['ad:1', 'ad:2', 'cat']);
    await change({ action: 'block', item: 'ad:1' }, { action: 'disallow', item: 'cat' });
    expect(await shown()).toEqual(['ad:2']);
  });

  test('in the mode review the queue holds what nobody has decided on', async () => {
    const queue = async (query = '') => {
      const { status, json } = await tally.get(`${PATH}/moderation/queue?${query}`);
      expect(status).toBe(200);
      return queueAnswer.parse(json).items.map(({ item, count }) => [item, count]);
    };
    expect(await queue()).toEqual([]);
    await tally.send({ mode: 'review' }, { method: 'PUT', path: PATH });
    expect(await queue('k=2')).toEqual([
      ['ad:1', 9],
      ['ad:2', 8],
    ]);
    await change({ action: 'allow', item: 'news' }, { action: 'block', prefix: 'ad:' });
    expect(await queue()).toEqual([['cat', 6]]);
    expect(await shown()).toEqual(['news']);
  });

  test('the audit names who, when, what and why, newest first', async () => {
    const reason = 'complaints';
    const changes = [{ action: 'block', item: 'ad:1' }];
    await tally.send({ by: 'asha', reason, changes }, { path: CHANGES });
    await tally.send({ by: 'ben', changes }, { path: CHANGES });
    await change({ action: 'allow', prefix: 'n' });
    const { json } = await tally.get(`${PATH}/moderation/audit`);
    const at = '2026-11-30T10:30:00.500Z';
    expect(moderationAudit.parse(json)).toEqual({
      stream: 'default',
      entries: [
        { at, by: 'asha', action: 'allow', prefix: 'n' },
        { at, by: 'asha', action: 'block', item: 'ad:1', reason },
      ],
    });
    const last = await tally.get(`${PATH}/moderation/audit?limit=1`);
    expect(last.json['entries']).toHaveLength(1);
    for (const limit of [0, 1_001]) {
      const refused = await tally.get(`${PATH}/moderation/audit?limit=${limit}`);
      expect([refused.status, refused.json['parameter']]).toEqual([400, 'limit']);
    }
  });

  test('an export can be put back, and replaces all there is', async () => {
    await change({ action: 'block', item: 'ad:1' }, { action: 'allow', prefix: 'n' });
    const path = `${PATH}/moderation`;
    const exported = moderationLists.parse((await tally.get(path)).json);
    expect(exported).toEqual({
      stream: 'default',
      mode: 'open',
      blocked: { items: ['ad:1'], prefixes: [] },
      allowed: { items: [], prefixes: ['n'] },
    });
    await change({ action: 'block', item: 'ad:2' });
    const { blocked, allowed } = exported;
    const body = { by: 'asha', reason: 'back to friday', blocked, allowed };
    const { status, json } = await tally.send(body, { method: 'PUT', path });
    expect([status, json['blocked']]).toEqual([200, { items: 1, prefixes: 0 }]);
    expect((await tally.get(path)).json).toEqual(exported);
    const { entries } = moderationAudit.parse((await tally.get(`${path}/audit?limit=1`)).json);
    expect(entries).toMatchObject([{ by: 'asha', action: 'import', reason: 'back to friday' }]);
    await tally.send({ by: 'asha' }, { method: 'PUT', path });
    expect(await shown()).toHaveLength(4);
  });

  test('a list holds 10,000 items and no more', async () => {
    const path = `${PATH}/moderation`;
    const lists = (count: number) => ({
      by: 'asha',
      blocked: { items: Array.from({ length: count }, (_, index) => `i${index}`) },
    });
    expect((await tally.send(lists(10_000), { method: 'PUT', path })).status).toBe(200);
    const again = await change({ action: 'block', item: 'i0' });
    expect(again.status).toBe(200);
    for (const refused of [
      await change({ action: 'block', item: 'one more' }),
      await tally.send(lists(10_001), { method: 'PUT', path }),
    ]) {
      expect([refused.status, problem.parse(refused.json).code]).toEqual([409, 'moderation_full']);
    }
  });

  test.for([
    ['{"by":"a","changes":[]}', 'changes'],
    ['{"by":"","changes":[{"action":"block","item":"a"}]}', 'by'],
    ['{"changes":[{"action":"block","item":"a"}]}', 'by'],
    [`{"by":"${'b'.repeat(129)}","changes":[{"action":"block","item":"a"}]}`, 'by'],
    [`{"by":"a","reason":"${'r'.repeat(513)}","changes":[]}`, 'reason'],
    ['{"by":"a","changes":[{"action":"hide","item":"a"}]}', 'changes.0.action'],
    ['{"by":"a","changes":[{"action":"block"}]}', 'changes.0'],
    ['{"by":"a","changes":[{"action":"block","item":"a","prefix":"a"}]}', 'changes.0'],
    ['{"by":"a","changes":[{"action":"block","item":""}]}', 'changes.0.item'],
    ['{"by":"a","changes":[{"action":"block","prefix":""}]}', 'changes.0.prefix'],
    ['{"by":"a","changes":{}}', 'changes'],
    ['{"by":"a","changes":[],"x":1}', 'changes'],
    ['[]', undefined],
  ])('the changes %s have the wrong shape', async ([body, parameter]) => {
    const { status, json } = await tally.send(body, { path: CHANGES });
    expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_body', parameter]);
  });

  test('up to 1,000 changes are made at once, all or none', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ action: 'block', item: `i${index}` }));
    expect((await change(...many(1_001))).json).toMatchObject({ code: 'invalid_body' });
    expect((await change(...many(1_000))).json).toMatchObject({ blocked: { items: 1_000 } });
  });

  test('only JSON is taken', async () => {
    const body = '{"by":"a","changes":[{"action":"block","item":"a"}]}';
    const { status } = await tally.send(body, { path: CHANGES, type: 'text/plain' });
    expect(status).toBe(415);
  });
});
