/** Requests and their answers: time limits, bounded retries, and faults as TallyErrors. */
import { type Clock, systemClock } from '../lib/clock.ts';
import { type ClientCode, TallyError } from './tally-error.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_ATTEMPTS = 6;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
/** A server may ask for a longer pause than the client would choose, but not for any. */
const MAX_RETRY_AFTER_SECONDS = 60;
/** "Not now": the same request may succeed later. 502 and 504 come from proxies in between. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export interface TransportOptions {
  /** Where the server is, e.g. `http://127.0.0.1:8080`; a path in it is kept as a prefix. */
  readonly url: string;
  readonly fetch?: typeof fetch;
  /** For one attempt, the whole answer included. */
  readonly timeoutMs?: number;
  /** Requests in all, the first one included; 1 switches retries off. */
  readonly attempts?: number;
  readonly clock?: Clock;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Overrides the client's own number for this call. */
  readonly attempts?: number;
}

export interface Call extends RequestOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: string;
  readonly idempotencyKey?: string;
}

export class Transport {
  readonly #baseUrl: string;
  readonly #fetch: typeof fetch;
  readonly #timeoutMs: number;
  readonly #attempts: number;
  readonly #clock: Clock;

  constructor(options: TransportOptions) {
    this.#baseUrl = baseUrlOf(options.url);
    this.#fetch = options.fetch ?? fetch;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#attempts = options.attempts ?? DEFAULT_ATTEMPTS;
    this.#clock = options.clock ?? systemClock;
  }

  /** Rejects with TallyError, or with the signal's reason after an abort. */
  async call<Answer>(call: Call): Promise<Answer> {
    const attempts = call.attempts ?? this.#attempts;
    for (let attempt = 1; ; attempt += 1) {
      call.signal?.throwIfAborted();
      try {
        return (await this.#attempt(call)) as Answer;
      } catch (error) {
        if (attempt >= attempts || !(error instanceof TallyError) || !isRetryable(error)) {
          throw error;
        }
        await this.#clock.sleep(waitMsAfter(attempt, error.retryAfterSeconds), call.signal);
      }
    }
  }

  async #attempt(call: Call): Promise<unknown> {
    const aborter = new AbortController();
    const finished = new AbortController();
    const passOn = (): void => aborter.abort();
    call.signal?.addEventListener('abort', passOn);
    let timedOut = false;
    void this.#clock.sleep(this.#timeoutMs, finished.signal).then(() => {
      timedOut = !finished.signal.aborted;
      aborter.abort();
    });
    try {
      const response = await this.#fetch(this.#baseUrl + call.path + searchOf(call.query), {
        method: call.method,
        headers: headersOf(call),
        signal: aborter.signal,
        ...(call.body === undefined ? {} : { body: call.body }),
      });
      return answerOf(response, await response.text());
    } catch (error) {
      if (error instanceof TallyError) throw error;
      call.signal?.throwIfAborted();
      throw timedOut
        ? noAnswer('timeout', `no answer within ${this.#timeoutMs / 1000} s`, error)
        : noAnswer('unreachable', `${this.#baseUrl} cannot be reached (${reasonOf(error)})`, error);
    } finally {
      finished.abort();
      call.signal?.removeEventListener('abort', passOn);
    }
  }
}

function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalidArgument(`${JSON.stringify(text)} is not an http or https URL`);
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function searchOf(query: Call['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function headersOf(call: Call): Record<string, string> {
  return {
    accept: 'application/json',
    ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
  };
}

function isRetryable(error: TallyError): boolean {
  const hadNoAnswer = error.code === 'unreachable' || error.code === 'timeout';
  return hadNoAnswer || RETRYABLE_STATUSES.has(error.status);
}

function waitMsAfter(attempt: number, retryAfterSeconds: number | null): number {
  const ownWaitMs = Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), MAX_WAIT_MS);
  const askedForMs = Math.min(retryAfterSeconds ?? 0, MAX_RETRY_AFTER_SECONDS) * 1000;
  return Math.max(ownWaitMs, askedForMs);
}

function answerOf(response: Response, text: string): unknown {
  if (response.status === 204) return null;
  const json = parseObject(text);
  if (response.ok && json !== null) return json;
  const code = json?.['code'];
  if (response.ok || typeof code !== 'string') {
    throw new TallyError({
      status: response.status,
      code: 'unexpected_answer',
      detail: `${response.url} answered ${response.status}, and not as a Tally server does`,
      retryAfterSeconds: retryAfterOf(response),
    });
  }
  throw new TallyError({
    status: response.status,
    code,
    detail: textOr(json?.['detail'], code),
    retryAfterSeconds: retryAfterOf(response),
    parameter: textOr(json?.['parameter'], null),
    index: typeof json?.['index'] === 'number' ? json['index'] : null,
    requestId: textOr(json?.['instance'], null),
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function textOr<Other>(value: unknown, other: Other): string | Other {
  return typeof value === 'string' ? value : other;
}

/** Only the form in seconds: Tally never sends a date. */
function retryAfterOf(response: Response): number | null {
  const text = response.headers.get('retry-after');
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** fetch hides the reason (ECONNREFUSED, ENOTFOUND, ...) in the cause of a TypeError. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'network error';
  const cause: unknown = error.cause;
  if (typeof cause === 'object' && cause !== null && 'code' in cause) return String(cause.code);
  return error.message;
}

function noAnswer(code: ClientCode, detail: string, cause: unknown): TallyError {
  return new TallyError({ status: 0, code, detail, cause });
}

export function invalidArgument(detail: string): TallyError {
  return new TallyError({ status: 0, code: 'invalid_argument', detail });
}
