import { createHash } from 'node:crypto';
import type { TallyEvent } from '../../../src/client/types.ts';

interface Remembered {
  readonly digest: string;
  readonly accepted: number;
}

/**
 * What the importer relies on of the server, as a `fetch`: generations, and keys that make a
 * second request with the same body a duplicate and one with another body a refusal.
 */
export class ModelServer {
  /** Every event that was counted, in the order of counting. */
  readonly counted: TallyEvent[] = [];
  readonly generations = new Map<string, string>();
  /** Sizes of the requests that were counted. */
  readonly batchSizes: number[] = [];
  requestCount = 0;
  maxEventsPerRequest = 10_000;
  /** Asked before each answer to a send: true loses the answer after the work was done. */
  losesAnswer: () => boolean = () => false;
  readonly #remembered = new Map<string, Remembered>();

  readonly fetch = (async (input: string | URL | Request, init?: RequestInit) => {
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    if (init?.method === 'GET') {
      const stream = decodeURIComponent(path.split('/').at(-1) ?? '');
      return Response.json({ stream, generation: this.generations.get(stream) ?? '0' });
    }
    this.requestCount += 1;
    const body = typeof init?.body === 'string' ? init.body : '';
    const key = new Headers(init?.headers).get('idempotency-key') ?? '';
    const answer = this.#apply(key, body);
    if (this.losesAnswer()) throw new TypeError('the answer was lost');
    return answer;
  }) as typeof fetch;

  #apply(key: string, body: string): Response {
    const events = JSON.parse(body) as TallyEvent[];
    if (events.length > this.maxEventsPerRequest) return refusal(413, 'too_many_events');
    const digest = createHash('sha256').update(body).digest('hex');
    const known = this.#remembered.get(key);
    if (known === undefined) {
      this.counted.push(...events);
      this.batchSizes.push(events.length);
      this.#remembered.set(key, { digest, accepted: events.length });
      return answer(events.length, 0);
    }
    return known.digest === digest ? answer(0, known.accepted) : refusal(422, 'key_reused');
  }
}

function answer(accepted: number, duplicate: number): Response {
  return Response.json({ accepted, rejected: 0, duplicate, errors: [] }, { status: 202 });
}

function refusal(status: number, code: string): Response {
  return Response.json({ code, detail: code }, { status });
}
