/** The load on boards over HTTP, in a process of its own. */
import { Agent, request } from 'node:http';
import autocannon from 'autocannon';
import { Prng } from '../../src/lib/prng.ts';
import { memberName, scoreOfMember } from './board-members.ts';
import { answerParent } from './servers-child.ts';

export type BoardLoadRequest =
  /** Members from the first one on, each once, with its own score of so many. */
  | {
      readonly kind: 'fill';
      readonly url: string;
      readonly members: number;
      readonly first: number;
      readonly count: number;
    }
  /** Increments of random members; with a batch size of 1 one is sent as it is, without an id. */
  | {
      readonly kind: 'post';
      readonly url: string;
      readonly members: number;
      readonly batchSize: number;
      readonly requestCount: number;
      readonly connections: number;
      /** Another one gives other members and ids. */
      readonly seed: number;
    }
  /** One after the other. */
  | { readonly kind: 'get'; readonly urls: readonly string[]; readonly count: number };

export interface BoardLoadResult {
  /** Increments a second, or 0. */
  readonly perSecond: number;
  /** Of each request, in ms; only of `get`. */
  readonly latenciesMs: readonly number[];
}

const FILL_BATCH = 1_000;
const FILL_CONNECTIONS = 4;
const REQUEST_TIMEOUT_SECONDS = 30;
const agent = new Agent({ keepAlive: true, maxSockets: FILL_CONNECTIONS });

answerParent(async (load: BoardLoadRequest): Promise<BoardLoadResult> => {
  switch (load.kind) {
    case 'fill':
      await fill(load);
      return { perSecond: 0, latenciesMs: [] };
    case 'post':
      return { perSecond: await post(load), latenciesMs: [] };
    case 'get': {
      const latenciesMs: number[] = [];
      for (let at = 0; at < load.count; at += 1) {
        const startMs = performance.now();
        await send('GET', load.urls[at % load.urls.length]!);
        latenciesMs.push(performance.now() - startMs);
      }
      return { perSecond: 0, latenciesMs };
    }
  }
});

async function fill(load: Extract<BoardLoadRequest, { kind: 'fill' }>): Promise<void> {
  const { url, members, first: begin, count } = load;
  const end = Math.min(begin + count, members);
  let next = begin;
  const work = async (): Promise<void> => {
    while (next < end) {
      const first = next;
      next += FILL_BATCH;
      const length = Math.min(FILL_BATCH, end - first);
      const entries = Array.from({ length }, (_, index) => ({
        member: memberName(first + index),
        by: scoreOfMember(first + index, members),
      }));
      await send('POST', url, JSON.stringify(entries));
    }
  };
  await Promise.all(Array.from({ length: FILL_CONNECTIONS }, work));
}

async function post(load: Extract<BoardLoadRequest, { kind: 'post' }>): Promise<number> {
  const { url, members, batchSize, requestCount, connections, seed } = load;
  const prng = new Prng(seed);
  const increment = (id: string) => ({
    member: memberName(prng.nextInt(members)),
    by: 1 + prng.nextInt(9),
    ...(batchSize === 1 ? {} : { id }),
  });
  const bodies = Array.from({ length: requestCount }, (_, body) => {
    const batch = Array.from({ length: batchSize }, (_each, index) =>
      increment(`${seed}-${body}-${index}`),
    );
    return JSON.stringify(batchSize === 1 ? batch[0] : batch);
  });
  let connection = 0;
  const seconds = await timed({
    url,
    connections,
    amount: requestCount,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    setupClient: (client) => {
      const own = bodies.filter((_, index) => index % connections === connection);
      connection += 1;
      client.setRequests(own.map((body) => ({ body })));
    },
  });
  return (batchSize * requestCount) / seconds;
}

/** From the first request to the last answer; every answer must be of the 200s. */
function timed(options: autocannon.Options): Promise<number> {
  return new Promise((resolve, reject) => {
    let startMs = 0;
    let lastAnswerMs = 0;
    const settings = { ...options, timeout: REQUEST_TIMEOUT_SECONDS };
    const instance = autocannon(settings, (error: unknown, result: autocannon.Result) => {
      const wrong = result.errors + result.non2xx;
      if (error instanceof Error) reject(error);
      else if (wrong > 0) reject(new Error(`${options.url}: ${wrong} answers are not 2xx`));
      else resolve((lastAnswerMs - startMs) / 1_000);
    });
    instance.on('start', () => {
      startMs = performance.now();
    });
    instance.on('response', () => {
      lastAnswerMs = performance.now();
    });
  });
}

function send(method: string, url: string, body: string | null = null): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    const sent = request(url, { method, agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${url}: ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
