/** The HTTP application: which routes a process serves, and what every request passes through. */
import compression from 'compression';
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { Boards } from '../boards/boards.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Prng } from '../lib/prng.ts';
import type { TagSource } from '../lib/random-tag.ts';
import type { EventIngest } from '../streams/ingest.ts';
import type { StreamQueries } from '../streams/queries.ts';
import type { StreamRegistry } from '../streams/registry.ts';
import { AnswerCache } from './answer-cache.ts';
import { boardEndpoints } from './board-routes.ts';
import { BodyReader } from './body-reader.ts';
import { eventsEndpoint } from './events-route.ts';
import type { HealthMonitor } from './health.ts';
import { itemEndpoints } from './item-routes.ts';
import type { ApiMetrics } from './metrics.ts';
import { moderationEndpoints } from './moderation-routes.ts';
import { openApiDocument } from './openapi.ts';
import { docsEndpoints, operationsEndpoints } from './operations-routes.ts';
import { problemHandler, undecodablePath, unknownPath } from './problems.ts';
import { queryEndpoints } from './query-routes.ts';
import { requestId, requestLog } from './request-log.ts';
import type { Endpoint } from './route.ts';
import { setEndpoint } from './set-route.ts';
import { streamEndpoints } from './stream-routes.ts';

/** Shorter answers take longer to compress than to send. */
const COMPRESSION_BYTES_MIN = 1024;

export interface ProcessParts {
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly logger: Logger;
  readonly metrics: ApiMetrics;
  readonly health: HealthMonitor;
}

export interface ApiParts extends ProcessParts {
  readonly config: Config;
  readonly prng: Prng;
  readonly ingest: EventIngest;
  readonly queries: StreamQueries;
  readonly registry: StreamRegistry;
  readonly boards: Boards;
  readonly summaryCacheBytes: () => number;
}

/** Everything: events, queries, boards, and what `workerApp` serves. */
export function apiApp(parts: ApiParts): Express {
  const { clock, config, health, ingest, metrics, prng, queries, registry } = parts;
  const bodies = new BodyReader({
    maxBytes: config.maxBodyBytes,
    maxBytesInFlight: config.maxBodyBytesInFlight,
  });
  const cache = new AnswerCache({
    clock,
    prng,
    maxBytes: config.answerCacheBytes,
    maxStaleMs: config.maxStaleMs,
    onResult: (result) => metrics.countAnswer(result),
  });
  metrics.watch(() => ({
    answerCacheBytes: cache.bytes,
    bodyBytesInFlight: bodies.bytesInFlight,
    summaryCacheBytes: parts.summaryCacheBytes(),
  }));
  const { maxEventsPerRequest } = config;
  return serve(parts, [
    eventsEndpoint({ ingest, bodies, metrics, maxEventsPerRequest }),
    ...queryEndpoints({ queries, registry, cache, bodies, clock }),
    ...itemEndpoints({ queries, registry, cache, bodies, clock }),
    setEndpoint({ queries, registry, cache }),
    ...streamEndpoints({ queries, registry, cache, bodies }),
    ...moderationEndpoints({ queries, registry, bodies }),
    ...boardEndpoints({ boards: parts.boards, cache, bodies, metrics }),
    ...operationsEndpoints({ health, metrics }),
  ]);
}

/** Health and metrics only. */
export function workerApp(parts: ProcessParts): Express {
  const { health, metrics } = parts;
  return serve(parts, operationsEndpoints({ health, metrics }));
}

function serve(parts: ProcessParts, endpoints: readonly Endpoint[]): Express {
  let document: Buffer | null = null;
  const all: readonly Endpoint[] = [
    ...endpoints,
    ...docsEndpoints(() => {
      document ??= Buffer.from(JSON.stringify(openApiDocument(specs)));
      return document;
    }),
  ];
  const specs = all.map(({ spec }) => spec);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  app.use(requestId(parts.tags));
  app.use(requestLog(parts.logger, parts.metrics, parts.clock));
  app.use(securityHeaders());
  app.use(compression({ threshold: COMPRESSION_BYTES_MIN }));
  for (const each of all) each.mount(app);
  app.use(unknownPath(specs));
  app.use(undecodablePath(specs));
  app.use(problemHandler(parts.logger));
  return app;
}

/** This server speaks plain HTTP on loopback; HTTPS is up to the proxy in front of it. */
function securityHeaders() {
  return helmet({
    strictTransportSecurity: false,
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
  });
}
