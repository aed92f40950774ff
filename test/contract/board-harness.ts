import { memberOf } from '../../src/boards/row-order.ts';
import type {
  BoardStore,
  Chunk,
  EntryOutcome,
  MemberChange,
  PartAnswer,
  PartAsk,
  PartAt,
  PartEntry,
  PartRequest,
  PartRow,
  PartRules,
  ReadOutcome,
  RequestOutcome,
  SeasonAt,
  WriteOutcome,
} from '../../src/boards/store-port.ts';
import type { Tag } from '../../src/lib/random-tag.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';
import { newTag } from './harness.ts';

export interface BoardLimits {
  readonly keyTtlMs: number;
  readonly idTtlMs: number;
  readonly callTtlMs: number;
  readonly maxRememberedIds: number;
}

export const ROOMY_BOARD: BoardLimits = {
  keyTtlMs: HOUR_MS,
  idTtlMs: HOUR_MS,
  callTtlMs: HOUR_MS,
  maxRememberedIds: 100_000,
};

export interface OpenBoards {
  readonly store: BoardStore;
  /** The time by the store's own clock. */
  readonly nowMs: () => Promise<number>;
  /** Returns when at least so much time has passed by the store's own clock. */
  readonly passMs: (ms: number) => Promise<void>;
}

/** Gives the contract's tests a store of boards; each test makes parts of its own. */
export interface BoardStoreHarness {
  open(limits?: Partial<BoardLimits>): Promise<OpenBoards>;
}

type AnswerTo<Ask extends PartAsk> = Extract<PartAnswer, { kind: Ask['kind'] }>;
export type Scores = readonly (readonly [member: string, value: number])[];

export const ALL_ROWS: Extract<PartAsk, { kind: 'rows' }> = {
  ...{ kind: 'rows', from: null, skip: 0, limit: 1_000_000, without: null },
};

export const ALL_TIME: SeasonAt = {
  ...{ view: 'all', id: 'all', startsAtMs: 0, endsAtMs: null, expiresAtMs: null },
};

export function entryOf(member: string, value: number, fields: Partial<PartEntry> = {}): PartEntry {
  return { member, value, id: null, index: 0, mayCreate: true, ...fields };
}

export function requestOf(
  entries: readonly PartEntry[],
  fields: Partial<PartRequest> = {},
): PartRequest {
  return { key: null, atomic: false, entries, ...fields };
}

export function batchOf(key: string, size: number, fingerprint = 'f'): PartRequest['key'] {
  return { key, size, fingerprint: fingerprint.padEnd(22, '0') };
}

/** One part of a board of two views: all-time, and one whose season lasts for hours. */
export class PartUnderTest {
  readonly boards: OpenBoards;
  readonly at: PartAt;
  readonly seasons: readonly [SeasonAt, SeasonAt];

  constructor(boards: OpenBoards, at: PartAt, seasons: readonly [SeasonAt, SeasonAt]) {
    this.boards = boards;
    this.at = at;
    this.seasons = seasons;
  }

  get store(): BoardStore {
    return this.boards.store;
  }

  get season(): SeasonAt {
    return this.seasons[1];
  }

  /** The same part, as somebody sees it who knows other epochs or seasons. */
  seen(fields: {
    part?: Tag;
    epoch?: Tag;
    seasons?: readonly [SeasonAt, SeasonAt];
  }): PartUnderTest {
    const { part = this.at.part, epoch = this.at.epoch, seasons = this.seasons } = fields;
    return new PartUnderTest(this.boards, { ...this.at, part, epoch }, seasons);
  }

  /** Another part of the same board and epoch. */
  async sibling(): Promise<PartUnderTest> {
    const [part] = this.store.newParts(1, [this.at.part]);
    await this.store.openPart(part!, this.at.epoch);
    return this.seen({ part: part! });
  }

  write(requests: readonly PartRequest[], callId: Tag = newTag()): Promise<WriteOutcome> {
    return this.store.write(this.at, { callId, seasons: this.seasons, requests });
  }

  /** What became of the requests of one call, which must not be refused. */
  async run(requests: readonly PartRequest[], callId?: Tag): Promise<readonly RequestOutcome[]> {
    const outcome = await this.write(requests, callId);
    if (outcome.kind !== 'written') throw new Error(`a write was answered ${outcome.kind}`);
    return outcome.requests;
  }

  /** What became of the entries of one request, which must not be refused. */
  async apply(
    entries: readonly PartEntry[],
    fields: Partial<PartRequest> = {},
  ): Promise<readonly EntryOutcome[]> {
    const [outcome] = await this.run([requestOf(entries, fields)]);
    if (outcome?.kind !== 'applied') throw new Error(`a request was answered ${outcome?.kind}`);
    return outcome.entries;
  }

  /** All in one call. */
  async put(...scores: Scores): Promise<void> {
    await this.apply(scores.map(([member, value]) => entryOf(member, value)));
  }

  edit(member: string, change: MemberChange, callId: Tag = newTag()) {
    return this.store.edit(this.at, { callId, member, change, seasons: this.seasons });
  }

  hide(member: string, isHidden = true) {
    return this.edit(member, { kind: 'change', isHidden });
  }

  read(
    asks: readonly PartAsk[],
    season: SeasonAt = ALL_TIME,
    admitted: number | null = null,
  ): Promise<ReadOutcome> {
    return this.store.read(this.at, { season, admitted, asks });
  }

  async ask<Ask extends PartAsk>(ask: Ask, season?: SeasonAt): Promise<AnswerTo<Ask>> {
    const outcome = await this.read([ask], season);
    if (outcome.kind !== 'read') throw new Error(`a read was answered ${outcome.kind}`);
    return outcome.answers[0] as AnswerTo<Ask>;
  }

  async rows(season?: SeasonAt): Promise<readonly PartRow[]> {
    return (await this.ask(ALL_ROWS, season)).rows;
  }

  /** Members and keys in order, such as `a 5`. */
  async standing(season?: SeasonAt): Promise<string[]> {
    return this.named(await this.rows(season));
  }

  named(rows: readonly PartRow[]): string[] {
    return rows.map(({ element, key }) => `${memberOf(element, this.at.rules.ties)} ${key}`);
  }

  async locate(member: string, season?: SeasonAt) {
    return (await this.ask({ kind: 'locate', members: [member] }, season)).members[0]!;
  }

  async stats(season?: SeasonAt, edges: readonly number[] = []) {
    return this.ask({ kind: 'stats', edges }, season);
  }

  /** What is remembered of a batch of that size: its fingerprint, and one digit an entry. */
  async batch(key: string, size: number): Promise<string | null> {
    const { part, epoch } = this.at;
    const outcome = await this.store.remembered(part, epoch, { ids: [], keys: [key] });
    if (outcome.kind !== 'remembered') throw new Error(`answered ${outcome.kind}`);
    const record = outcome.keys[0] ?? null;
    if (record === null) return null;
    const digits = Array.from({ length: size }, (_, at) => (record.elements[at] ? '1' : '0'));
    return `${record.fingerprint.replace(/0+$/, '')} ${digits.join('')}`;
  }

  async ids(...ids: string[]): Promise<readonly boolean[]> {
    const { part, epoch } = this.at;
    const outcome = await this.store.remembered(part, epoch, { ids, keys: [] });
    if (outcome.kind !== 'remembered') throw new Error(`answered ${outcome.kind}`);
    return outcome.ids;
  }

  async prepare(members: readonly string[]): Promise<Chunk | null> {
    const request = { seasons: this.seasons, members };
    const outcome = await this.store.prepareChunk(this.at, request);
    if (outcome.kind !== 'prepared') throw new Error(`a chunk was answered ${outcome.kind}`);
    return outcome.chunk;
  }

  admit(chunk: Chunk) {
    return this.store.admitChunk(this.at, this.seasons, chunk);
  }

  release(chunk: number) {
    return this.store.releaseChunk(this.at, this.seasons, chunk);
  }

  async scanAll(): Promise<string[]> {
    const members: string[] = [];
    let cursor: string | null = null;
    do {
      const outcome = await this.store.scan(this.at, cursor);
      if (outcome.kind !== 'scanned') throw new Error(`a scan was answered ${outcome.kind}`);
      members.push(...outcome.members);
      cursor = outcome.cursor;
    } while (cursor !== null);
    return members;
  }
}

/** A fresh part, open, without members. */
export async function openPartOn(
  harness: BoardStoreHarness,
  rules: Partial<PartRules> = {},
  limits?: Partial<BoardLimits>,
): Promise<PartUnderTest> {
  const boards = await harness.open(limits);
  const [part] = boards.store.newParts(1, []);
  const epoch = newTag();
  await boards.store.openPart(part!, epoch);
  const at = {
    part: part!,
    epoch,
    rules: { mode: 'increment', ties: 'earliest', ...rules },
  } as const;
  return new PartUnderTest(boards, at, [ALL_TIME, seasonAround(await boards.nowMs())]);
}

export function seasonAround(nowMs: number, fields: Partial<SeasonAt> = {}): SeasonAt {
  return {
    view: 'week',
    id: '2026-W50',
    startsAtMs: nowMs - HOUR_MS,
    endsAtMs: nowMs + HOUR_MS,
    expiresAtMs: nowMs + 10 * HOUR_MS,
    ...fields,
  };
}

/** Each entry as its code and its key, such as `applied 5`. */
export function brief(entries: readonly EntryOutcome[]): string[] {
  return entries.map(({ code, key }) => `${code} ${key}`);
}
