import { createServer } from 'node:net';

/** Linux's ephemeral range starts at 32768; a port below it is not taken by outgoing sockets. */
const LOWEST_PORT = 20_000;
const HIGHEST_PORT = 32_000;

/**
 * A loopback port that is free at this moment, and whose bus port (+10,000) is free too, which
 * every Redis Cluster node needs. Another process may take it before the caller binds it, so
 * callers retry with a new port when their server does not come up.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = candidatePort();
    if ((await isFree(port)) && (await isFree(port + 10_000))) {
      return port;
    }
  }
}

// Test files run in several processes at once. Each starts at a place of its own in the range
// and walks from there, so that two of them seldom probe the same port.
let nextOffset = (process.pid * 61) % (HIGHEST_PORT - LOWEST_PORT);

function candidatePort(): number {
  nextOffset = (nextOffset + 1) % (HIGHEST_PORT - LOWEST_PORT);
  return LOWEST_PORT + nextOffset;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
