/** The load on HTTP servers, by autocannon, in a process of its own. */
import autocannon from 'autocannon';
import { bodyOf, type Events, type EventsOptions, generateEvents } from './load-events.ts';
import { answerParent } from './servers-child.ts';

export type LoadRequest =
  /** Makes the events that the bodies will hold. */
  | { readonly kind: 'prepare'; readonly events: EventsOptions }
  /** Posts the first events in bodies of `batchSize`, all of them `passes` times. */
  | {
      readonly kind: 'post';
      readonly url: string;
      readonly batchSize: number;
      readonly requestCount: number;
      readonly passes: number;
      readonly connections: number;
    }
  | {
      readonly kind: 'get';
      readonly url: string;
      readonly seconds: number;
      readonly connections: number;
    };

export interface LoadResult {
  readonly answered: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
}

const REQUEST_TIMEOUT_SECONDS = 20;
/** How soon autocannon notices that all is answered. */
const SAMPLE_MS = 50;

let events: Events = { items: new Uint32Array(), actors: new Uint32Array() };
/** Bodies by batch size: made once, before any time is measured. */
const bodies = new Map<number, Buffer[]>();

answerParent(async (request: LoadRequest): Promise<LoadResult> => {
  switch (request.kind) {
    case 'prepare':
      events = generateEvents(request.events);
      return { answered: 0, seconds: 0 };
    case 'post':
      return post(request);
    case 'get':
      return run({
        url: request.url,
        connections: request.connections,
        duration: request.seconds,
      });
  }
});

function post(request: Extract<LoadRequest, { kind: 'post' }>): Promise<LoadResult> {
  const { url, batchSize, requestCount, passes, connections } = request;
  const all = bodiesOf(batchSize, requestCount);
  let connection = 0;
  return run({
    url,
    connections,
    amount: requestCount * passes,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    setupClient: (client) => {
      // Every connection has its own share, so that each body is sent equally often.
      const own = all.filter((_, index) => index % connections === connection);
      connection += 1;
      client.setRequests(own.map((body) => ({ body })));
    },
  });
}

function bodiesOf(batchSize: number, requestCount: number): Buffer[] {
  const known = bodies.get(batchSize);
  if (known?.length === requestCount) return known;
  const made = Array.from({ length: requestCount }, (_, index) =>
    Buffer.from(bodyOf(events, index * batchSize, batchSize)),
  );
  bodies.set(batchSize, made);
  return made;
}

/** Every answer must be of the 200s, or the figure would be that of something else. */
function run(options: autocannon.Options): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    let startMs = 0;
    let lastAnswerMs = 0;
    let answered = 0;
    const settings = { ...options, timeout: REQUEST_TIMEOUT_SECONDS, sampleInt: SAMPLE_MS };
    const instance = autocannon(settings, (error: unknown, result: autocannon.Result) => {
      const { errors, non2xx } = result;
      if (error instanceof Error) reject(error);
      else if (errors + non2xx > 0) {
        reject(new Error(`${options.url}: ${errors} errors, ${non2xx} answers that are not 2xx`));
      } else resolve({ answered, seconds: (lastAnswerMs - startMs) / 1000 });
    });
    instance.on('start', () => {
      startMs = performance.now();
    });
    instance.on('response', () => {
      lastAnswerMs = performance.now();
      answered += 1;
    });
  });
}
