import { Validator } from '@seriousme/openapi-schema-validator';
import { afterEach, describe, expect, test } from 'vitest';
import { aliveAnswer, problem, readyAnswer } from '../../src/api/answer-schemas.ts';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { gate, START_MS, startTestTally, type TestTally } from '../support/tally.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

let tally: TestTally;
afterEach(() => tally.close());

function storeGone(): void {
  tally.control.before = () => Promise.reject(new StoreUnavailableError());
}

async function metric(name: string): Promise<number | null> {
  const { text } = await tally.get('/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}

describe('health', () => {
  test('the process is alive whatever the store does', async () => {
    tally = await startTestTally();
    storeGone();
    const { status, json } = await tally.get('/healthz');
    expect(status).toBe(200);
    expect(aliveAnswer.parse(json)).toEqual({ status: 'ok' });
  });

  test('it is ready while the store answers', async () => {
    tally = await startTestTally();
    const ready = await tally.get('/readyz');
    expect(ready.status).toBe(200);
    expect(readyAnswer.parse(ready.json)).toEqual({ status: 'ready', warnings: [] });
    storeGone();
    await tally.clock.advance(300);
    const refused = await tally.get('/readyz');
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(problem.parse(refused.json)).toMatchObject({
      code: 'not_ready',
      reasons: ['the store cannot be reached'],
    });
  });

  test('a store that does not answer for long counts as gone', async () => {
    tally = await startTestTally();
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'readStats' ? opened : Promise.resolve());
    const pending = tally.get('/readyz');
    let isAnswered = false;
    void pending.then(() => {
      isAnswered = true;
    });
    while (!isAnswered) {
      await tally.clock.advance(100);
      await tally.get('/healthz');
    }
    expect((await pending).status).toBe(503);
    expect(tally.clock.nowMs() - START_MS).toBeLessThan(5_000);
    open();
  });

  test('lag and damaged entries are warnings: they keep nobody from answering', async () => {
    tally = await startTestTally();
    await tally.store.append(0, [
      {
        idSource: 'server',
        id: 'ab',
        fingerprint: '',
        attempt: '0123456789abcdef',
        answer: '',
        blob: Buffer.from('no batch'),
      },
    ]);
    await tally.fold();
    tally.control.before = async (method) => {
      if (method === 'readLog') throw new StoreUnavailableError();
    };
    await tally.send([{ item: 'a' }]);
    await tally.clock.advance(7_000);
    const { status, json } = await tally.get('/readyz');
    expect(status).toBe(200);
    expect(readyAnswer.parse(json).warnings).toEqual([
      'partition 0 lags 7 s behind',
      'partition 0 has 1 damaged entries',
    ]);
    expect(await metric('tally_damaged_entries{partition="0"}')).toBe(1);
    expect(await metric('tally_backlog_age_seconds{partition="0"}')).toBe(7);
    expect(await metric('tally_job_seconds_count{job="fold-0",outcome="failed"}')).toBeGreaterThan(
      5,
    );
  });
});

describe('metrics', () => {
  test('count requests by route, events by outcome, and what waits', async () => {
    tally = await startTestTally();
    const headers = { 'idempotency-key': 'k' };
    await tally.send([{ item: 'a' }, { item: 'b' }, {}], { headers });
    await tally.send([{ item: 'a' }, { item: 'b' }, {}], { headers });
    await tally.get('/v1/streams/some/items/thing');
    await tally.get('/nothing');
    expect(await metric('tally_events_total{outcome="accepted"}')).toBe(2);
    expect(await metric('tally_events_total{outcome="duplicate"}')).toBe(2);
    expect(await metric('tally_events_total{outcome="rejected"}')).toBe(2);
    expect(await metric('tally_backlog_entries{partition="0"}')).toBe(1);
    expect(await metric('tally_backlog_bytes{partition="0"}')).toBeGreaterThan(0);
    const requests = (labels: string) => metric(`tally_http_request_seconds_count{${labels}}`);
    expect(await requests('method="POST",route="/v1/events",status="202"')).toBe(2);
    expect(await requests('method="GET",route="unknown",status="404"')).toBe(1);
    const route = '/v1/streams/{stream}/items/{item}';
    expect(await requests(`method="GET",route="${route}",status="200"`)).toBe(1);
    await tally.fold();
    expect(await metric('tally_folded_entries_total{outcome="folded"}')).toBe(1);
    expect(await metric('tally_backlog_entries{partition="0"}')).toBe(0);
  });

  test('tell hits from misses, and how large the caches are', async () => {
    tally = await startTestTally();
    await tally.send([{ item: 'a' }]);
    await tally.fold();
    await tally.get('/top');
    await tally.get('/top');
    expect(await metric('tally_answer_cache_total{result="miss"}')).toBe(1);
    expect(await metric('tally_answer_cache_total{result="hit"}')).toBe(1);
    expect(await metric('tally_answer_cache_bytes')).toBeGreaterThan(100);
    expect(await metric('tally_summary_cache_bytes')).toBeGreaterThan(0);
    expect(await metric('tally_body_bytes_in_flight')).toBe(0);
  });

  test('are there when the store is not, and say so', async () => {
    tally = await startTestTally();
    expect(await metric('tally_store_up')).toBe(1);
    storeGone();
    await tally.clock.advance(300);
    expect(await metric('tally_store_up')).toBe(0);
  });
});

describe('the description of the API', () => {
  test('is valid OpenAPI 3.1', async () => {
    tally = await startTestTally();
    const { json } = await tally.get('/openapi.json');
    const validator = new Validator();
    const result = await validator.validate(json);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  test('lists every route that is served, and no other', async () => {
    tally = await startTestTally();
    const { json } = await tally.get('/openapi.json');
    const paths = json['paths'] as Record<string, Record<string, unknown>>;
    for (const [path, operations] of Object.entries(paths)) {
      const example = path.replaceAll(/\{\w+\}/g, 'x');
      const { headers } = await fetch(tally.url + example, { method: 'SEARCH' });
      const served = (headers.get('allow') ?? '').split(', ').filter((name) => name !== 'HEAD');
      const listed = METHODS.filter((method) => method in operations);
      // Two paths of the description may fit one path: .../items/{item} and .../items/counts.
      for (const method of listed) expect(served).toContain(method.toUpperCase());
    }
    expect(Object.keys(paths).sort()).toEqual([
      '/docs',
      '/docs/start.js',
      '/docs/swagger-ui-bundle.js',
      '/docs/swagger-ui.css',
      '/healthz',
      '/metrics',
      '/openapi.json',
      '/readyz',
      '/top',
      '/v1/boards',
      '/v1/boards/{board}',
      '/v1/boards/{board}/members/{member}',
      '/v1/boards/{board}/members/{member}/around',
      '/v1/boards/{board}/ranks',
      '/v1/boards/{board}/scores',
      '/v1/boards/{board}/shards',
      '/v1/boards/{board}/stats',
      '/v1/boards/{board}/top',
      '/v1/distinct',
      '/v1/events',
      '/v1/query',
      '/v1/streams',
      '/v1/streams/{stream}',
      '/v1/streams/{stream}/distinct',
      '/v1/streams/{stream}/items/counts',
      '/v1/streams/{stream}/items/{item}',
      '/v1/streams/{stream}/items/{item}/distinct',
      '/v1/streams/{stream}/items/{item}/series',
      '/v1/streams/{stream}/moderation',
      '/v1/streams/{stream}/moderation/audit',
      '/v1/streams/{stream}/moderation/changes',
      '/v1/streams/{stream}/moderation/queue',
      '/v1/streams/{stream}/series',
      '/v1/streams/{stream}/top',
      '/v1/streams/{stream}/trending',
    ]);
  });

  test('states limits and defaults as they hold', async () => {
    tally = await startTestTally();
    const { json } = await tally.get('/openapi.json');
    const text = JSON.stringify(json);
    expect(text).toContain('"minimum":1,"maximum":500,"default":10');
    const paths = json['paths'] as Record<string, { get: { parameters: { name: string }[] } }>;
    const parameters = paths['/v1/streams/{stream}/top']?.get.parameters ?? [];
    expect(
      parameters
        .map(({ name }) => name)
        .sort()
        .join(' '),
    ).toBe('by decay explain from k movement offset period stream to tz until where window');
    const schemaOf = (name: string) => {
      const parameter = parameters.find((each) => each.name === name);
      expect(parameter).toMatchObject({ in: 'query' });
      expect(parameter).not.toMatchObject({ required: name !== 'stream' });
      return (parameter as { schema?: unknown } | undefined)?.schema;
    };
    expect(schemaOf('window')).toMatchObject({ type: 'string' });
    expect(schemaOf('explain')).toMatchObject({ type: 'boolean', default: false });
    expect(schemaOf('by')).toMatchObject({ enum: ['events', 'actors'], default: 'events' });
    expect(schemaOf('offset')).toMatchObject({ minimum: 0, maximum: 10_000, default: 0 });
  });

  test('is shown by a page that loads nothing from elsewhere', async () => {
    tally = await startTestTally();
    const page = await tally.get('/docs');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('upgrade-insecure-requests');
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links).toHaveLength(3);
    for (const link of links) {
      const { status, text } = await tally.get(link);
      expect([link, status]).toEqual([link, 200]);
      expect(text.length).toBeGreaterThan(50);
    }
    expect(page.text).not.toMatch(/<script>|<style>|https?:/);
  });
});
