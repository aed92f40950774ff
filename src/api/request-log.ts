/**
 * The id of each request, one line of log and one measurement for it. The line holds the route and
 * never the path, the query, a header or the body, for these may name actors; that is why it is
 * written here and not by a library that logs requests.
 */
import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import type { ApiMetrics } from './metrics.ts';

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Asked for every few seconds by machines: not worth a line. */
const QUIET_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);
const UNKNOWN_ROUTE = 'unknown';

/** Takes over the caller's request id where it is harmless, else makes one; answers with it. */
export function requestId(tags: TagSource): RequestHandler {
  return (request, response, next) => {
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : tags();
    response.locals['requestId'] = id;
    response.setHeader('X-Request-Id', id);
    next();
  };
}

export function requestLog(logger: Logger, metrics: ApiMetrics, clock: Clock): RequestHandler {
  return (request, response, next) => {
    const startMs = clock.nowMs();
    response.once('close', () => {
      const { method } = request;
      const route = routeOf(response);
      const status = response.statusCode;
      const ms = Math.max(clock.nowMs() - startMs, 0);
      metrics.countRequest(method, route, status, ms);
      if (QUIET_ROUTES.has(route)) return;
      const fields = { requestId: requestIdOf(response), method, route, status, ms };
      if (response.writableFinished) logger.info(fields, 'request');
      else logger.info(fields, 'request not answered: the client went away');
    });
    next();
  };
}

export function requestIdOf(response: Response): string {
  return String(response.locals['requestId']);
}

function routeOf(response: Response): string {
  const route: unknown = response.locals['route'];
  return typeof route === 'string' ? route : UNKNOWN_ROUTE;
}
