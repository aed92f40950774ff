import type {
  BoardInfo,
  BoardMember,
  BoardPage,
  BoardRanks,
  BoardSettings,
  BoardStats,
  ScoreIncrement,
  ScoresAnswer,
} from './board-types.ts';
import { pathElement, requestOptionsOf } from './request-parts.ts';
import type { Call, RequestOptions, Transport } from './transport.ts';

/** Of every question about a season; left out: the current one of all-time. */
export interface SeasonChoice extends RequestOptions {
  readonly view?: string;
  readonly season?: string;
}

export interface PageChoice extends SeasonChoice {
  readonly k?: number;
  readonly offset?: number;
  /** `next` or `previous` of another page, in place of `offset`. */
  readonly cursor?: string;
  readonly self?: string;
  readonly fresh?: boolean;
}

export interface PostOptions extends RequestOptions {
  readonly idempotencyKey?: string;
  readonly ranks?: boolean;
}

/** One leaderboard, as `TallyClient.board` gives it. Methods reject as those of the client. */
export class BoardClient {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #newKey: () => string;

  constructor(transport: Transport, name: string, newKey: () => string) {
    this.#transport = transport;
    this.#path = `/v1/boards/${pathElement(name)}`;
    this.#newKey = newKey;
  }

  /** Up to 1,000; keeps its key over all attempts, so that each counts once. */
  post(increments: readonly ScoreIncrement[], options: PostOptions = {}): Promise<ScoresAnswer> {
    return this.#transport.call({
      ...requestOptionsOf(options),
      method: 'POST',
      path: `${this.#path}/scores`,
      query: { ranks: options.ranks === true ? true : undefined },
      body: JSON.stringify(increments),
      idempotencyKey: options.idempotencyKey ?? this.#newKey(),
    });
  }

  top(query: PageChoice = {}): Promise<BoardPage> {
    const { view, season, k, offset, cursor, self, fresh } = query;
    return this.#get('/top', query, { view, season, k, offset, cursor, self, fresh });
  }

  member(member: string, query: SeasonChoice = {}): Promise<BoardMember> {
    const { view, season } = query;
    return this.#get(`/members/${pathElement(member)}`, query, { view, season });
  }

  around(member: string, query: SeasonChoice & { readonly n?: number } = {}): Promise<BoardPage> {
    const { view, season, n } = query;
    return this.#get(`/members/${pathElement(member)}/around`, query, { view, season, n });
  }

  /** Up to 500. */
  ranks(members: readonly string[], query: SeasonChoice = {}): Promise<BoardRanks> {
    const { view, season } = query;
    return this.#write('POST', '/ranks', { members }, query, { view, season });
  }

  stats(query: SeasonChoice & { readonly buckets?: number } = {}): Promise<BoardStats> {
    const { view, season, buckets } = query;
    return this.#get('/stats', query, { view, season, buckets });
  }

  info(options: RequestOptions = {}): Promise<BoardInfo> {
    return this.#get('', options);
  }

  /** Makes the board, or changes what may be changed. */
  put(settings: BoardSettings, options: RequestOptions = {}): Promise<BoardInfo> {
    return this.#write('PUT', '', settings, options);
  }

  /** Twice as many parts, or half as many. */
  setShards(shards: number, options: RequestOptions = {}): Promise<BoardInfo> {
    return this.#write('PUT', '/shards', { shards }, options);
  }

  async changeMember(
    member: string,
    change: { readonly hidden?: boolean; readonly meta?: unknown },
    options: RequestOptions = {},
  ): Promise<void> {
    await this.#write('PATCH', `/members/${pathElement(member)}`, change, options);
  }

  /** Never repeated on its own: a second one would also take what came in between. */
  async deleteMember(member: string, options: { readonly signal?: AbortSignal } = {}) {
    await this.#delete(`/members/${pathElement(member)}`, options);
  }

  /** Never repeated on its own: a second one would also take what came in between. */
  async delete(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    await this.#delete('', options);
  }

  #get<Answer>(place: string, options: RequestOptions, query: Call['query'] = {}): Promise<Answer> {
    const path = this.#path + place;
    return this.#transport.call({ ...requestOptionsOf(options), method: 'GET', path, query });
  }

  #write<Answer>(
    method: 'PUT' | 'POST' | 'PATCH',
    place: string,
    body: object,
    options: RequestOptions,
    query: Call['query'] = {},
  ): Promise<Answer> {
    return this.#transport.call({
      ...requestOptionsOf(options),
      ...{ method, path: this.#path + place, query, body: JSON.stringify(body) },
    });
  }

  async #delete(place: string, options: { readonly signal?: AbortSignal }): Promise<void> {
    await this.#transport.call({
      ...requestOptionsOf(options),
      ...{ method: 'DELETE', path: this.#path + place, attempts: 1 },
    });
  }
}
