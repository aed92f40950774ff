/**
 * What a Redis primary must be like before anything is stored in it. One INFO tells it all, so no
 * right to CONFIG is needed, which managed services do not give.
 */
import { RedisRefusedError } from './redis-refused-error.ts';

/** Scripts with flags, PEXPIRETIME and PXAT: all there since 7.0. */
const LOWEST_MAJOR_VERSION = 7;

/** Throws RedisRefusedError that names the setting; `info` is the reply to INFO. */
export function checkPrimary(address: string, info: string, isClusterClient: boolean): void {
  const facts = parseInfo(info);
  const version = facts.get('redis_version') ?? 'unknown';
  if (!(Number.parseInt(version, 10) >= LOWEST_MAJOR_VERSION)) {
    throw new RedisRefusedError(
      `Redis at ${address} is version ${version}; ${LOWEST_MAJOR_VERSION}.0 or later is needed`,
    );
  }
  if (facts.get('role') !== 'master') {
    throw new RedisRefusedError(`Redis at ${address} is a replica; name its master in REDIS_URL`);
  }
  const policy = facts.get('maxmemory_policy') ?? 'unknown';
  if (policy !== 'noeviction') {
    throw new RedisRefusedError(
      `Redis at ${address} may evict keys (maxmemory-policy ${policy}): set maxmemory-policy to ` +
        'noeviction, else acknowledged events disappear when its memory is full',
    );
  }
  if (facts.get('cluster_enabled') === '1' && !isClusterClient) {
    throw new RedisRefusedError(
      `Redis at ${address} is a node of a cluster: write REDIS_URL as redis+cluster://...`,
    );
  }
}

function parseInfo(info: string): Map<string, string> {
  const facts = new Map<string, string>();
  for (const line of info.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0) {
      facts.set(line.slice(0, colon), line.slice(colon + 1));
    }
  }
  return facts;
}
