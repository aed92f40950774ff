/** Listening, and stopping without cutting anybody off. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../lib/clock.ts';

/** For the whole of one request, and for its head: nobody may hold a connection for ever. */
const REQUEST_TIMEOUT_MS = 60_000;
const HEADERS_TIMEOUT_MS = 20_000;
/** Longer than proxies keep idle connections, so that it is they who close them. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export interface HttpServer {
  readonly url: string;
  /**
   * Takes no new connection, lets what is in flight finish, and cuts off what is not done after
   * `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

/** Rejects with the error of `listen`, such as EADDRINUSE. */
export async function listen(
  app: RequestListener,
  host: string,
  port: number,
  clock: Clock,
): Promise<HttpServer> {
  let isStopping = false;
  const server = createServer({
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  });
  server.on('request', (_request, response) => {
    if (isStopping) response.setHeader('Connection', 'close');
    // A connection that becomes idle while stopping would wait for a next request in vain.
    response.once('close', () => {
      if (isStopping) setImmediate(() => server.closeIdleConnections());
    });
  });
  server.on('request', app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    url: urlOf(server),
    async stop(graceMs) {
      isStopping = true;
      const stopped = new AbortController();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      void clock.sleep(graceMs, stopped.signal).then(() => server.closeAllConnections());
      await closed;
      stopped.abort();
    },
  };
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
