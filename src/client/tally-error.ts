/** Codes that the client itself gives; all others come from the server's catalogue. */
export type ClientCode =
  /** No connection, or it broke before the whole answer was there. */
  | 'unreachable'
  /** No answer within `timeoutMs`. */
  | 'timeout'
  /** An answer that is not Tally's: not JSON, or an error without a code. */
  | 'unexpected_answer'
  /** Refused before anything was sent. */
  | 'invalid_argument';

export interface TallyErrorFields {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** From the Retry-After header; null when there was none. */
  readonly retryAfterSeconds?: number | null;
  /** Which parameter or field was at fault, where one was. */
  readonly parameter?: string | null;
  /** Which of several questions or events was at fault, 0-based, where one was. */
  readonly index?: number | null;
  /** The server's id of the request, for its logs. */
  readonly requestId?: string | null;
  readonly cause?: unknown;
}

/** Every failure of a TallyClient method, but for an abort by the caller's own signal. */
export class TallyError extends Error {
  override readonly name = 'TallyError';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly retryAfterSeconds: number | null;
  readonly parameter: string | null;
  readonly index: number | null;
  readonly requestId: string | null;

  constructor(fields: TallyErrorFields) {
    super(`${fields.code}: ${fields.detail}`, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.detail = fields.detail;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.parameter = fields.parameter ?? null;
    this.index = fields.index ?? null;
    this.requestId = fields.requestId ?? null;
  }
}
