import { type IncomingHttpHeaders, request } from 'node:http';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { startTally } from '../../src/main.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { MemoryStreamStore } from '../../src/store/memory/memory-stream-store.ts';
import type { DocumentStore } from '../../src/lib/document-store.ts';
import type { StreamStore } from '../../src/streams/store-port.ts';

/** Half past, so that windows of minutes and of hours differ. */
export const START_MS = Date.parse('2026-11-30T10:30:00Z');
const FOLD_MS = 500;

/** What stands between the server and its store: it can be switched off, held up, and counts. */
interface StoreControl {
  /** Called before each call of a method; a rejection is what the server gets to see. */
  before: (method: keyof StreamStore, partition: unknown) => Promise<void>;
  readonly calls: Map<keyof StreamStore, number>;
}

export interface TestTally {
  readonly url: string;
  readonly clock: ManualClock;
  readonly store: MemoryStreamStore;
  readonly control: StoreControl;
  /** The log, a line of JSON each. */
  readonly log: readonly string[];
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  send(events: unknown, options?: SendOptions): Promise<Answer>;
  /** Lets the background jobs run once. */
  fold(): Promise<void>;
  close(): Promise<void>;
}

interface SendOptions {
  readonly method?: 'POST' | 'PUT';
  readonly path?: string;
  readonly type?: string | null;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; null when it is none. */
  readonly json: Record<string, unknown>;
}

export interface TestTallyOptions {
  readonly env?: Record<string, string>;
  readonly partitions?: number;
  /** Default: an empty one. */
  readonly registryStore?: DocumentStore;
}

/** A whole server on the memory store, with a clock that moves only when told. */
export async function startTestTally(options: TestTallyOptions = {}): Promise<TestTally> {
  const config = readConfig({ TALLY_PORT: '0', TALLY_LOG_LEVEL: 'debug', ...options.env });
  const clock = new ManualClock(START_MS);
  const tags = seededTags(new Prng(1));
  const store = new MemoryStreamStore({
    partitionCount: options.partitions ?? 1,
    clock,
    tags,
    maxBacklogBytes: config.maxBacklogBytes,
    maxBacklogEntries: config.maxBacklogEntries,
    clientIdTtlMs: config.idempotencyTtlMs,
    serverIdTtlMs: config.serverIdTtlMs,
    maxRememberedIds: config.maxRememberedIds,
  });
  const control: StoreControl = { before: async () => {}, calls: new Map() };
  const log: string[] = [];
  const tally = await startTally(config, {
    clock,
    tags,
    logger: pino({ level: config.logLevel }, linesInto(log)),
    store: controlled(store, control),
    registryStore: options.registryStore ?? new MemoryDocumentStore(tags),
  });
  const { url } = tally;
  return {
    url,
    clock,
    store,
    control,
    log,
    get: (path, headers = {}) => answerOf(fetch(url + path, { headers })),
    send: (events, sendOptions = {}) => send(url, events, sendOptions),
    fold: () => clock.advance(FOLD_MS),
    close: () => tally.close(),
  };
}

export async function answerOf(response: Promise<Response>): Promise<Answer> {
  const { status, headers, ...rest } = await response.then(async (received) => ({
    status: received.status,
    headers: received.headers,
    text: await received.text(),
  }));
  const isJson = /json/.test(headers.get('content-type') ?? '');
  return { status, headers, text: rest.text, json: isJson ? JSON.parse(rest.text) : null };
}

/** A request with exactly this target: `fetch` would tidy up the path. */
export function rawRequest(
  url: string,
  method: string,
  target: string,
  headers: Record<string, string | string[]> = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path: target, headers }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** A gate that holds whoever waits at it until it is opened. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

function send(url: string, events: unknown, options: SendOptions): Promise<Answer> {
  const { method = 'POST', path = '/v1/events', type = 'application/json', headers = {} } = options;
  const isRaw = typeof events === 'string' || events instanceof Uint8Array;
  return answerOf(
    fetch(url + path, {
      method,
      body: isRaw ? (events as string | Uint8Array<ArrayBuffer>) : JSON.stringify(events),
      headers: { ...(type === null ? {} : { 'content-type': type }), ...headers },
    }),
  );
}

function controlled(store: MemoryStreamStore, control: StoreControl): StreamStore {
  return new Proxy(store, {
    get(target, name: keyof StreamStore) {
      const member = target[name];
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        control.calls.set(name, (control.calls.get(name) ?? 0) + 1);
        await control.before(name, args[0]);
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

function linesInto(lines: string[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
}
