import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as boards from '../../src/api/board-schemas.ts';
import * as answers from '../../src/api/answer-schemas.ts';
import * as streams from '../../src/api/stream-schemas.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

/** The sections that describe a route, by `METHOD path`. */
const sections = new Map(
  page
    .split('\n### ')
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n');
      return [heading, lines.join('\n')];
    }),
);

const EXAMPLES: Readonly<Record<string, z.ZodType>> = {
  'POST /v1/events': answers.eventsAnswer,
  'GET /v1/streams/{stream}/top': answers.topAnswer,
  'GET /v1/streams/{stream}/trending': answers.trendingAnswer,
  'GET /v1/streams/{stream}/distinct': z.union([answers.distinctAnswer, answers.distinctByAnswer]),
  'GET /v1/distinct': answers.setAnswer,
  'GET /v1/streams/{stream}/items/{item}': answers.itemAnswer,
  'GET /v1/streams/{stream}/items/{item}/distinct': answers.itemDistinctAnswer,
  'POST /v1/streams/{stream}/items/counts': answers.itemsAnswer,
  'GET /v1/streams/{stream}/series': answers.seriesAnswer,
  'GET /v1/streams/{stream}/items/{item}/series': answers.seriesAnswer,
  'POST /v1/query': answers.queryAnswer,
  'GET /v1/streams/{stream}/moderation': streams.moderationLists,
  'PUT /v1/streams/{stream}/moderation': streams.moderationSizes,
  'POST /v1/streams/{stream}/moderation/changes': streams.moderationSizes,
  'GET /v1/streams/{stream}/moderation/audit': streams.moderationAudit,
  'GET /v1/streams/{stream}/moderation/queue': answers.queueAnswer,
  'GET /v1/streams': streams.streamList,
  'GET /v1/streams/{stream}': streams.streamInfo,
  'GET /v1/boards': boards.boardList,
  'GET /v1/boards/{board}': boards.boardInfo,
  'POST /v1/boards/{board}/scores': boards.scoresAnswer,
  'GET /v1/boards/{board}/top': boards.pageAnswer,
  'GET /v1/boards/{board}/members/{member}': boards.memberAnswer,
  'POST /v1/boards/{board}/ranks': boards.ranksAnswer,
  'GET /v1/boards/{board}/stats': boards.statsAnswer,
  'GET /healthz': answers.aliveAnswer,
  'GET /readyz': answers.readyAnswer,
};

let tally: TestTally;
beforeAll(async () => {
  tally = await startTestTally();
});
afterAll(() => tally.close());

describe('docs/api.md', () => {
  test('describes every route of the API, and no other', async () => {
    const { json } = await tally.get('/openapi.json');
    const routes = Object.entries(json['paths'] as Record<string, object>)
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      )
      .filter((route) => !route.startsWith('GET /docs/'));
    expect([...sections.keys()].sort()).toEqual(routes.sort());
  });

  test.for(Object.entries(EXAMPLES))('the examples of %s have its shape', ([route, schema]) => {
    const examples = [...(sections.get(route) ?? '').matchAll(/```json\n(.*?)\n```/gs)];
    expect(examples.length).toBeGreaterThan(0);
    for (const [, example = ''] of examples) schema.parse(JSON.parse(example));
  });
});
