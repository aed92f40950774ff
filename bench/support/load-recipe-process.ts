/**
 * The recipe that people use today, in a process of its own: for each event one ZINCRBY into the
 * sorted set of its minute and one PFADD, through ioredis, in pipelines. It gets its events for
 * nothing: no HTTP, nothing to parse.
 */
import { Redis } from 'ioredis';
import {
  actorName,
  type Events,
  type EventsOptions,
  generateEvents,
  itemName,
} from './load-events.ts';
import { answerParent } from './servers-child.ts';

export type RecipeRequest =
  | {
      readonly kind: 'prepare';
      readonly url: string;
      readonly events: EventsOptions;
      /** The sorted set of a minute is named by this and the minute. */
      readonly topPrefix: string;
    }
  /** Sends all events once; `pipelineEvents` in each pipeline, `inFlight` pipelines at a time. */
  | { readonly kind: 'run'; readonly pipelineEvents: number; readonly inFlight: number };

export interface RecipeResult {
  readonly seconds: number;
}

const MINUTE_MS = 60_000;
const ACTORS_PREFIX = 'recipe:actors:';

let redis: Redis | null = null;
let topPrefix = '';
let items: string[] = [];
let actors: string[] = [];

answerParent(async (request: RecipeRequest): Promise<RecipeResult> => {
  if (request.kind === 'prepare') {
    redis = new Redis(request.url);
    await redis.ping();
    topPrefix = request.topPrefix;
    const events: Events = generateEvents(request.events);
    items = Array.from(events.items, itemName);
    actors = Array.from(events.actors, actorName);
    return { seconds: 0 };
  }
  const startMs = performance.now();
  await sendAll(request.pipelineEvents, request.inFlight);
  return { seconds: (performance.now() - startMs) / 1000 };
});

async function sendAll(pipelineEvents: number, inFlight: number): Promise<void> {
  let next = 0;
  const sendOn = async (): Promise<void> => {
    while (next < items.length) {
      const start = next;
      next += pipelineEvents;
      await send(start, Math.min(next, items.length));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, sendOn));
}

async function send(start: number, end: number): Promise<void> {
  if (redis === null) throw new Error('the recipe is not connected');
  const minute = Math.floor(Date.now() / MINUTE_MS);
  const pipeline = redis.pipeline();
  for (let event = start; event < end; event += 1) {
    pipeline.zincrby(topPrefix + minute, 1, items[event]!);
    pipeline.pfadd(ACTORS_PREFIX + minute, actors[event]!);
  }
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
}
