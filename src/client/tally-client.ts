import { cryptoTags } from '../lib/random-tag.ts';
import { BoardClient } from './board-client.ts';
import type { BoardList } from './board-types.ts';
import { pathElement, requestOptionsOf } from './request-parts.ts';
import { type Call, type RequestOptions, Transport, type TransportOptions } from './transport.ts';
import type {
  DistinctAnswer,
  DistinctByAnswer,
  ItemCountsAnswer,
  ItemDistinctAnswer,
  ItemList,
  ModerationAudit,
  ModerationChange,
  ModerationLists,
  ModerationQueueAnswer,
  ModerationSizes,
  QueryResult,
  RankedBy,
  SendAnswer,
  SeriesAnswer,
  SetAnswer,
  SetOperation,
  StreamInfo,
  StreamList,
  StreamSettingsInput,
  TallyEvent,
  TopAnswer,
  TrendingAnswer,
} from './types.ts';

export type { RequestOptions } from './transport.ts';

export interface TallyClientOptions extends TransportOptions {
  /** Makes the Idempotency-Key of a send that names none. */
  readonly newKey?: () => string;
}

/** Which window: `window` and `until`, or `from` and `to`, or `period`; without any the last hour. */
export interface WindowChoice {
  /** `90m`, `24h`, `400d`. */
  readonly window?: string;
  /** End of the window in the past: epoch ms or ISO 8601. */
  readonly until?: string | number;
  readonly from?: string | number;
  readonly to?: string | number;
  /** `today`, `last_week`, `2026-11`, `2026-11-30`, `2026-W48`, ... */
  readonly period?: string;
  /** IANA name of the zone by whose clock days begin; UTC when left out. */
  readonly tz?: string;
  /** Adds what was read for the answer. */
  readonly explain?: boolean;
}

/** Part of every question about one stream. */
export interface StreamQuestion extends WindowChoice {
  /** `default` when left out. */
  readonly stream?: string;
  /** Only events with this value of a dimension: `country:IN`. */
  readonly where?: string;
}

export interface TopQuestion extends StreamQuestion {
  readonly k?: number;
  /** Rows left out before the first. */
  readonly offset?: number;
  readonly by?: RankedBy;
  /** Half-life, `30m`: what is hot now. */
  readonly decay?: string;
  readonly movement?: boolean;
}

export interface TrendingQuestion extends StreamQuestion {
  readonly k?: number;
  readonly by?: RankedBy;
  /** Earlier days that say what is usual. */
  readonly baseline?: number;
  readonly minSupport?: number;
  readonly movement?: boolean;
}

export interface SeriesQuestion extends StreamQuestion {
  /** `15m`, `1h`, `1d`, `1w`, `1mo`. */
  readonly step?: string;
  /** Left out: the whole stream, with distinct actors. */
  readonly item?: string;
}

/** One of several questions that are answered together. */
export type Question =
  | ({ readonly type: 'top' } & TopQuestion)
  | ({ readonly type: 'trending' } & TrendingQuestion)
  | ({ readonly type: 'distinct'; readonly item?: string; readonly by?: string } & StreamQuestion)
  | ({ readonly type: 'items'; readonly items: readonly string[] } & StreamQuestion)
  | ({ readonly type: 'series' } & SeriesQuestion);

type ResultsOf<Questions extends readonly Question[]> = {
  readonly [Index in keyof Questions]: Extract<QueryResult, { type: Questions[Index]['type'] }>;
};

export interface WindowQuery extends StreamQuestion, RequestOptions {}

export interface SendOptions extends RequestOptions {
  readonly idempotencyKey?: string;
  /** All or nothing: one bad event refuses the whole batch. */
  readonly strict?: boolean;
}

/** Who makes a change of the moderation, and why. */
export interface Moderator extends RequestOptions {
  readonly by: string;
  readonly reason?: string;
}

/**
 * The HTTP API as methods. Requests are repeated a bounded number of times when the server says
 * "not now" (503, 429), a proxy lost it (502, 504), it cannot be reached, or it does not answer in
 * time; a send keeps its Idempotency-Key over all attempts, so it is counted once. Methods reject
 * with TallyError, or with the signal's reason after an abort.
 */
export class TallyClient {
  readonly #transport: Transport;
  readonly #newKey: () => string;

  constructor(options: TallyClientOptions) {
    this.#transport = new Transport(options);
    this.#newKey = options.newKey ?? (() => cryptoTags() + cryptoTags());
  }

  /** Resolves once the server has acknowledged the batch (202). */
  sendEvents(events: readonly TallyEvent[], options: SendOptions = {}): Promise<SendAnswer> {
    return this.#transport.call({
      ...requestOptionsOf(options),
      method: 'POST',
      path: '/v1/events',
      query: { strict: options.strict === true ? true : undefined },
      body: JSON.stringify(events),
      idempotencyKey: options.idempotencyKey ?? this.#newKey(),
    });
  }

  top(query: TopQuestion & RequestOptions = {}): Promise<TopAnswer> {
    const { k, offset, by, decay, movement } = query;
    return this.#read(query, '/top', { k, offset, by, decay, movement });
  }

  trending(query: TrendingQuestion & RequestOptions = {}): Promise<TrendingAnswer> {
    const { k, by, baseline, minSupport, movement } = query;
    return this.#read(query, '/trending', { k, by, baseline, minSupport, movement });
  }

  distinct(query: WindowQuery = {}): Promise<DistinctAnswer> {
    return this.#read(query, '/distinct', {});
  }

  /** Also for each value of a dimension. */
  distinctBy(dimension: string, query: Omit<WindowQuery, 'where'> = {}): Promise<DistinctByAnswer> {
    return this.#read(query, '/distinct', { by: dimension });
  }

  /** How many different actors one item had. */
  itemDistinct(item: string, query: WindowQuery = {}): Promise<ItemDistinctAnswer> {
    return this.#read(query, `/items/${pathElement(item)}/distinct`, {});
  }

  /** Different actors of several streams together: up to 8 for a union, else exactly 2. */
  distinctTogether(
    streams: readonly string[],
    op: SetOperation,
    query: Omit<WindowQuery, 'stream'> = {},
  ): Promise<SetAnswer> {
    return this.#transport.call({
      ...requestOptionsOf(query),
      method: 'GET',
      path: '/v1/distinct',
      query: { streams: streams.map(listElement).join(','), op, ...windowParameters(query) },
    });
  }

  /** Up to 500 items; the answer keeps their order. */
  itemCounts(items: readonly string[], query: WindowQuery = {}): Promise<ItemCountsAnswer> {
    return this.#transport.call({
      ...requestOptionsOf(query),
      method: 'POST',
      path: `${streamPath(query.stream)}/items/counts`,
      query: windowParameters(query),
      body: JSON.stringify({ items }),
    });
  }

  /** Of one item, or of the whole stream (with distinct actors) when `item` is left out. */
  series(query: SeriesQuestion & RequestOptions = {}): Promise<SeriesAnswer> {
    const { item, step } = query;
    const place = item === undefined ? '/series' : `/items/${pathElement(item)}/series`;
    return this.#read(query, place, { step });
  }

  /** Up to 20 questions; those about one stream are answered as of one moment. */
  query<const Questions extends readonly Question[]>(
    queries: Questions,
    options: RequestOptions = {},
  ): Promise<{ readonly results: ResultsOf<Questions> }> {
    return this.#transport.call({
      ...requestOptionsOf(options),
      method: 'POST',
      path: '/v1/query',
      body: JSON.stringify({ queries }),
    });
  }

  streams(
    query: RequestOptions & { readonly after?: string; readonly limit?: number } = {},
  ): Promise<StreamList> {
    const { after, limit } = query;
    return this.#transport.call({
      ...requestOptionsOf(query),
      method: 'GET',
      path: '/v1/streams',
      query: { after, limit },
    });
  }

  stream(name: string, options: RequestOptions = {}): Promise<StreamInfo> {
    return this.#get(streamPath(name), options);
  }

  /** Replaces all settings: what is left out takes the server's default. */
  putStream(
    name: string,
    settings: StreamSettingsInput,
    options: RequestOptions = {},
  ): Promise<StreamInfo> {
    return this.#write('PUT', streamPath(name), settings, options);
  }

  /** Never repeated on its own: a second DELETE would also take what came in between. */
  async deleteStream(name: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    await this.#transport.call({
      ...requestOptionsOf(options),
      method: 'DELETE',
      path: streamPath(name),
      attempts: 1,
    });
  }

  /** One leaderboard; nothing is asked yet. */
  board(name: string): BoardClient {
    return new BoardClient(this.#transport, name, this.#newKey);
  }

  boards(
    query: RequestOptions & { readonly after?: string; readonly limit?: number } = {},
  ): Promise<BoardList> {
    const { after, limit } = query;
    return this.#get('/v1/boards', query, { after, limit });
  }

  moderation(stream: string, options: RequestOptions = {}): Promise<ModerationLists> {
    return this.#get(`${streamPath(stream)}/moderation`, options);
  }

  /** Replaces both lists; one that is left out is empty afterwards. */
  putModeration(
    stream: string,
    lists: { readonly blocked?: Partial<ItemList>; readonly allowed?: Partial<ItemList> },
    moderator: Moderator,
  ): Promise<ModerationSizes> {
    const { by, reason } = moderator;
    const { blocked, allowed } = lists;
    const body = { by, reason, blocked, allowed };
    return this.#write('PUT', `${streamPath(stream)}/moderation`, body, moderator);
  }

  /** All of the changes, in their order, or none. */
  changeModeration(
    stream: string,
    changes: readonly ModerationChange[],
    moderator: Moderator,
  ): Promise<ModerationSizes> {
    const { by, reason } = moderator;
    const body = { by, reason, changes };
    return this.#write('POST', `${streamPath(stream)}/moderation/changes`, body, moderator);
  }

  /** The last changes, newest first. */
  moderationAudit(
    stream: string,
    query: RequestOptions & { readonly limit?: number } = {},
  ): Promise<ModerationAudit> {
    return this.#get(`${streamPath(stream)}/moderation/audit`, query, { limit: query.limit });
  }

  /** What would be on top but waits for a decision; only in mode `review`. */
  moderationQueue(
    query: WindowQuery & { readonly k?: number } = {},
  ): Promise<ModerationQueueAnswer> {
    return this.#read(query, '/moderation/queue', { k: query.k });
  }

  #read<Answer>(query: WindowQuery, place: string, more: Call['query']): Promise<Answer> {
    const parameters = { ...windowParameters(query), ...more };
    return this.#get(streamPath(query.stream) + place, query, parameters);
  }

  #get<Answer>(path: string, options: RequestOptions, query: Call['query'] = {}): Promise<Answer> {
    return this.#transport.call({ ...requestOptionsOf(options), method: 'GET', path, query });
  }

  #write<Answer>(
    method: 'PUT' | 'POST',
    path: string,
    body: object,
    options: RequestOptions,
  ): Promise<Answer> {
    return this.#transport.call({
      ...requestOptionsOf(options),
      method,
      path,
      body: JSON.stringify(body),
    });
  }
}

function streamPath(stream = 'default'): string {
  return `/v1/streams/${pathElement(stream)}`;
}

/** Comma and percent are encoded once more than the rest of the query. */
function listElement(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(',', '%2C');
}

function windowParameters(query: Omit<StreamQuestion, 'stream'>): NonNullable<Call['query']> {
  const { window, until, from, to, period, tz, where, explain } = query;
  return { window, until, from, to, period, tz, where, explain };
}
