import { RedisRefusedError } from './redis-refused-error.ts';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Where Redis is, as `REDIS_URL` says it. Only database 0 is used: a cluster has no other. */
export type RedisTarget =
  | (Credentials & { readonly kind: 'single'; readonly node: HostPort; readonly tls: boolean })
  | (Credentials & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly HostPort[];
      readonly primaryName: string;
    })
  | (Credentials & { readonly kind: 'cluster'; readonly nodes: readonly HostPort[] });

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const SHAPES =
  'redis://host:port, rediss://host:port, redis+sentinel://host:port,host:port/master or ' +
  'redis+cluster://host:port,host:port, each with user:password@ before the host if needed';

/**
 * Reads one of the four shapes of `REDIS_URL`; user and password are percent-decoded.
 * Throws RedisRefusedError, which never repeats the URL: it may hold a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const match = /^([a-z+]+):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^?#]*))?$/.exec(url);
  if (match === null) {
    throw refusal();
  }
  const [, scheme, userInfo = '', hosts = '', path = ''] = match;
  const credentials = parseUserInfo(userInfo);
  switch (scheme) {
    case 'redis':
    case 'rediss': {
      const [node, ...others] = parseHosts(hosts, REDIS_PORT);
      if (node === undefined || others.length > 0) {
        throw refusal();
      }
      if (path !== '' && path !== '0') {
        throw new RedisRefusedError('REDIS_URL may not name a database other than 0');
      }
      return { kind: 'single', node, tls: scheme === 'rediss', ...credentials };
    }
    case 'redis+sentinel':
      if (path === '') {
        throw new RedisRefusedError('REDIS_URL for Sentinel must end with the name of the master');
      }
      return {
        kind: 'sentinel',
        sentinels: parseHosts(hosts, SENTINEL_PORT),
        primaryName: decode(path),
        ...credentials,
      };
    case 'redis+cluster':
      if (path !== '') {
        throw refusal();
      }
      return { kind: 'cluster', nodes: parseHosts(hosts, REDIS_PORT), ...credentials };
    default:
      throw refusal();
  }
}

/** The target's addresses without credentials, for messages. */
export function describeTarget(target: RedisTarget): string {
  switch (target.kind) {
    case 'single':
      return hostText(target.node);
    case 'sentinel':
      return `${target.sentinels.map(hostText).join(',')} (Sentinel, ${target.primaryName})`;
    case 'cluster':
      return `${target.nodes.map(hostText).join(',')} (Cluster)`;
  }
}

export function hostText({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseUserInfo(userInfo: string): Credentials {
  const colon = userInfo.indexOf(':');
  const username = decode(colon === -1 ? userInfo : userInfo.slice(0, colon));
  const password = colon === -1 ? '' : decode(userInfo.slice(colon + 1));
  return {
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
  };
}

function parseHosts(text: string, defaultPort: number): HostPort[] {
  return text.split(',').map((part) => {
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(part);
    const host = match?.[1] ?? match?.[2];
    const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
    if (host === undefined || port < 1 || port > 65_535) {
      throw refusal();
    }
    return { host, port };
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal();
  }
}

function refusal(): RedisRefusedError {
  return new RedisRefusedError(`REDIS_URL must look like ${SHAPES}`);
}
