/**
 * The catalogue of everything that can be answered instead of a result. A code never changes its
 * meaning and a retired one is never used again; docs/errors.md lists the same codes (a test
 * compares them).
 */

interface ErrorKind {
  readonly status: number;
  readonly title: string;
  /** What it means and what to do about it. */
  readonly description: string;
  /** How long to wait before the same request may go through: every 503 says so. */
  readonly retryAfterSeconds?: number;
}

export const ERRORS = {
  invalid_parameter: {
    status: 400,
    title: 'A query parameter is malformed or out of range',
    description: '`parameter` names it, `detail` says what is expected.',
  },
  unknown_parameter: {
    status: 400,
    title: 'There is no such query parameter',
    description: '`parameter` names it. A misspelt parameter is never ignored.',
  },
  repeated_parameter: {
    status: 400,
    title: 'A query parameter occurs more than once',
    description: '`parameter` names it.',
  },
  invalid_path: {
    status: 400,
    title: 'An element of the path is not a valid name',
    description:
      'Empty, too long, `.` or `..`, or not the percent-encoding of valid UTF-8. `parameter` ' +
      'names the element.',
  },
  invalid_header: {
    status: 400,
    title: 'A request header is malformed',
    description: '`Idempotency-Key` is 1 to 512 bytes and is sent at most once.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    description: 'Nothing of the request was applied.',
  },
  invalid_utf8: {
    status: 400,
    title: 'The body is not valid UTF-8',
    description: 'Nothing of the request was applied.',
  },
  invalid_gzip: {
    status: 400,
    title: 'The body is not valid gzip',
    description: 'It is damaged or cut off. Nothing of the request was applied.',
  },
  invalid_body: {
    status: 400,
    title: 'The body has the wrong shape',
    description: '`detail` says what is expected; `parameter` names the field where there is one.',
  },
  strict_rejected: {
    status: 400,
    title: 'Events were rejected and the request was strict',
    description:
      'With `strict=true` one bad event refuses the whole request: nothing was applied. `index` ' +
      'is the first bad event, `errors` lists them as the 202 would.',
  },
  invalid_settings: {
    status: 400,
    title: 'A setting is out of range or does not fit the others',
    description: '`parameter` names it, `detail` says what is expected. Nothing was changed.',
  },
  unknown_dimension: {
    status: 400,
    title: 'The stream does not keep this dimension',
    description: 'Its settings (`GET /v1/streams/{stream}`) name those that it keeps.',
  },
  wrong_score_field: {
    status: 400,
    title: 'The board takes the other kind of score',
    description: '`by` in mode increment, `score` in modes best and last. Nothing was applied.',
  },
  invalid_score: {
    status: 400,
    title: 'A score cannot be kept exactly',
    description: 'It has more decimals than the board keeps, or is too large. Nothing was applied.',
  },
  out_of_range: {
    status: 400,
    title: 'A result would not be a safe integer',
    description:
      'Scaled by the decimals of the board it would leave ±(2^53 - 1). `index` names the entry. ' +
      'Nothing was applied.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor is none of a page of this board',
    description: 'Take `next` or `previous` of a page as it is.',
  },
  invalid_shards: {
    status: 400,
    title: 'The board cannot have so many parts next',
    description: 'A power of two up to 256; one step doubles or halves.',
  },
  dense_ranks_too_large: {
    status: 400,
    title: 'Dense ranks over several parts would take too long here',
    description: 'They are told while at most 20,000 different scores are better.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing at this path',
    description: 'Paths are compared byte for byte: no trailing slash, no change of case.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path does not know this method',
    description: 'The `Allow` header lists those that it knows.',
  },
  board_not_found: {
    status: 404,
    title: 'There is no board of this name',
    description: 'A board is made by its first score, or by `PUT`.',
  },
  member_not_found: {
    status: 404,
    title: 'The board has no such member to show',
    description: 'It never had a score there, not in this season, or is hidden from lists.',
  },
  season_not_found: {
    status: 404,
    title: 'The board has no such view, or keeps no such season of it',
    description: '`GET /v1/boards/{board}` lists those that can be read.',
  },
  retention_grows: {
    status: 409,
    title: 'The retention of a stream with events may only shrink',
    description:
      'What was dropped already does not come back. `parameter` names the level. Nothing was ' +
      'changed.',
  },
  too_many_streams: {
    status: 409,
    title: 'There is no room for one more stream',
    description: '`TALLY_MAX_STREAMS` is reached. Delete streams that are not needed.',
  },
  settings_fixed: {
    status: 409,
    title: 'What is stored depends on this setting',
    description: '`parameter` names it. Delete the board and make it anew. Nothing was changed.',
  },
  move_under_way: {
    status: 409,
    title: 'Parts of the board are being moved',
    description: 'One step at a time: ask again once `movingTo` is gone.',
  },
  too_many_boards: {
    status: 409,
    title: 'There is no room for one more board',
    description: '`TALLY_MAX_BOARDS` is reached. Delete boards that are not needed.',
  },
  moderation_full: {
    status: 409,
    title: 'A list of the moderation is full',
    description: 'At most 10,000 items, 1,000 prefixes and 1 MiB a list. Nothing was changed.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    description: 'Counted after decompression (`TALLY_MAX_BODY_BYTES`). Send smaller batches.',
  },
  too_many_events: {
    status: 413,
    title: 'The request holds too many events',
    description: 'At most `TALLY_MAX_EVENTS_PER_REQUEST`. Nothing of the request was applied.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body has a type that is not understood here',
    description: 'Send `application/json`, or for events also `application/x-ndjson`, in UTF-8.',
  },
  unsupported_encoding: {
    status: 415,
    title: 'The body has a content encoding that is not understood',
    description: 'Send it as it is or with `Content-Encoding: gzip`.',
  },
  key_reused: {
    status: 422,
    title: 'The Idempotency-Key was used for another body',
    description: 'Bodies are compared after decompression. Nothing of this request was applied.',
  },
  internal_error: {
    status: 500,
    title: 'Something unexpected went wrong',
    description: 'A fault of the server. Its log has the details under the same request id.',
  },
  stream_damaged: {
    status: 500,
    title: 'What the store holds of the stream is damaged',
    description:
      'Its settings and lists, or keys of it, cannot be read; other streams are not affected. ' +
      '`docs/operations.md` says how to repair it.',
  },
  backlog_full: {
    status: 503,
    title: 'Too much waits to be folded',
    description:
      'The workers are behind (`TALLY_MAX_BACKLOG_BYTES`, `TALLY_MAX_BACKLOG_ENTRIES`). Nothing ' +
      'of the request was applied.',
    retryAfterSeconds: 1,
  },
  ids_full: {
    status: 503,
    title: 'Too many idempotency keys are remembered',
    description:
      '`TALLY_MAX_REMEMBERED_IDS`, or `TALLY_MAX_PART_IDS` of a board, is reached. Nothing of the ' +
      'request was applied.',
    retryAfterSeconds: 60,
  },
  outcome_unknown: {
    status: 503,
    title: 'It is not known whether the request was applied',
    description:
      'Sending the same request with the same `Idempotency-Key` is safe: it is counted once. ' +
      'Without a key a retry may count it twice.',
    retryAfterSeconds: 1,
  },
  store_unavailable: {
    status: 503,
    title: 'The store cannot be reached',
    description: 'Nothing of the request was applied.',
    retryAfterSeconds: 1,
  },
  overloaded: {
    status: 503,
    title: 'Too many requests are being worked on',
    description:
      'Their bodies together reach `TALLY_MAX_BODY_BYTES_IN_FLIGHT`. Nothing of the request was ' +
      'applied.',
    retryAfterSeconds: 1,
  },
  not_ready: {
    status: 503,
    title: 'This process should not get requests now',
    description: 'Only from `/readyz`: `reasons` says why.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** Why one event of a batch was left out while the others went on. */
export const EVENT_REJECTIONS = {
  invalid_event: 'The event is not an object, or a field is missing, malformed or out of range.',
  invalid_line: 'The NDJSON line is not JSON.',
  unknown_field: 'The event has a field that is not known.',
  too_old: 'Its time is older than everything that is still kept.',
  too_new: 'Its time is too far in the future (`TALLY_MAX_FUTURE_SECONDS`).',
  too_many_streams: 'Its stream would be one more than `TALLY_MAX_STREAMS`.',
  stream_damaged: 'The settings of its stream cannot be read: see `stream_damaged`.',
} as const;

export type EventRejectionCode = keyof typeof EVENT_REJECTIONS;

export interface EventRejection {
  /** 0-based place of the event in the request. */
  readonly index: number;
  readonly code: EventRejectionCode;
  readonly message: string;
}

export interface ErrorDetails {
  readonly parameter?: string;
  readonly index?: number;
  /** How many events were rejected; `errors` lists the first of them. */
  readonly rejected?: number;
  readonly errors?: readonly EventRejection[];
  readonly reasons?: readonly string[];
  /** Methods for the `Allow` header of a 405. */
  readonly allow?: readonly string[];
}

/** A refusal that the caller is told about; every other error is an opaque `internal_error`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /** `detail` goes to the caller: what was wrong with this request, in one sentence. */
  constructor(code: ErrorCode, detail: string, details: ErrorDetails = {}) {
    super(detail);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryAfterSeconds(): number | undefined {
    const kind: ErrorKind = ERRORS[this.code];
    return kind.retryAfterSeconds;
  }
}

/** Stable and unique for a code; it names the kind of problem and needs no network. */
export function problemType(code: ErrorCode): string {
  return `urn:tally:problem:${code}`;
}
