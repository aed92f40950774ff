/**
 * What a board is, without parts, keys or scripts: for each season a plain list of members that is
 * sorted whenever it is read. The real board must answer the same, row for row.
 */
import type { BoardSettings } from '../../src/boards/settings.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';

/** The season of all-time; others are named by when their hour begins. */
export const ALL_TIME_START = 0;
/** Entries of one post have times of their own, in order. */
const TIMES_PER_POST = 10_000;

export interface ModelEntry {
  readonly member: string;
  readonly value: number;
  readonly id?: string | undefined;
}

export interface ModelPost {
  readonly entries: readonly ModelEntry[];
  readonly key: { readonly key: string; readonly fingerprint: string } | null;
}

export interface ModelRow {
  readonly member: string;
  /** The score times ten to the power of the decimals. */
  readonly scaled: number;
  /** When the score was reached. */
  readonly at: number;
}

export interface RankedModelRow extends ModelRow {
  readonly rank: number;
}

export type EntryFate = 'applied' | 'duplicate' | 'out_of_range';

export interface PostPlan {
  /** Whatever the store does with it; null: it depends on what is out of range. */
  readonly refusal: { readonly code: string; readonly index: number | null } | null;
  readonly fates: readonly EntryFate[];
  /** Changes the model. */
  readonly apply: () => void;
}

/** The cursors of a page that was read, and the rows at which it ended and began. */
export interface KeptCursors {
  readonly start: number;
  readonly after: string;
  readonly last: ModelRow;
  readonly before: string;
  readonly first: ModelRow;
}

interface ModelMember {
  isHidden: boolean;
  meta: string | null;
}

/** Read only while it is planned. */
interface Draft {
  readonly scores: Map<number, Map<string, number>>;
  readonly touchedAt: Map<string, number>;
  readonly ids: Set<string>;
  readonly places: number[];
}

export class BoardModel {
  readonly settings: BoardSettings;
  readonly keptSeasons: number;
  createdAtMs: number;
  shards = 1;
  /** How many there will be, while they move. */
  movingTo: number | null = null;
  hasMoved = false;
  readonly posts: ModelPost[] = [];
  readonly cursors: KeptCursors[] = [];
  readonly members = new Map<string, ModelMember>();
  readonly #seasons = new Map<number, Map<string, ModelRow>>();
  readonly #sorted = new Map<number, RankedModelRow[]>();
  readonly #ids = new Set<string>();
  readonly #keys = new Map<string, { fingerprint: string; places: Set<number> }>();
  #postCount = 0;

  constructor(settings: BoardSettings, createdAtMs: number) {
    this.settings = settings;
    this.keptSeasons = settings.keepSeasons;
    this.createdAtMs = createdAtMs;
  }

  /** As it is after it was deleted and made again. */
  clear(nowMs: number): void {
    this.createdAtMs = nowMs;
    this.shards = 1;
    this.movingTo = null;
    this.hasMoved = false;
    this.cursors.length = 0;
    for (const state of [this.members, this.#seasons, this.#ids, this.#keys]) state.clear();
    this.#sorted.clear();
  }

  /** One part that was always the only one: everything about it has one order. */
  get isSingle(): boolean {
    return this.shards === 1 && !this.hasMoved && this.movingTo === null;
  }

  get hasHours(): boolean {
    return this.settings.views.length > 0;
  }

  /** Starts of the seasons that can be read: all-time, then the newest first. */
  readableSeasons(nowMs: number): number[] {
    if (!this.hasHours) return [ALL_TIME_START];
    const now = hourOf(nowMs);
    const first = Math.max(hourOf(this.createdAtMs), now - this.keptSeasons * HOUR_MS);
    const count = (now - first) / HOUR_MS + 1;
    return [ALL_TIME_START, ...Array.from({ length: count }, (_, back) => now - back * HOUR_MS)];
  }

  /** Members that are shown, in order. */
  rows(start: number): readonly RankedModelRow[] {
    const known = this.#sorted.get(start);
    if (known !== undefined) return known;
    const shown = [...(this.#seasons.get(start)?.values() ?? [])]
      .filter(({ member }) => !this.members.get(member)!.isHidden)
      .sort((a, b) => this.compare(a, b));
    const ranked: RankedModelRow[] = [];
    for (const [index, row] of shown.entries()) {
      const last = ranked.at(-1);
      const isTied = last?.scaled === row.scaled;
      const places = { earliest: index + 1, competition: index + 1, dense: (last?.rank ?? 0) + 1 };
      const { ties } = this.settings;
      const rank = isTied && ties !== 'earliest' ? last.rank : places[ties];
      ranked.push({ ...row, rank });
    }
    this.#sorted.set(start, ranked);
    return ranked;
  }

  /** Negative: a stands before b. */
  compare(a: ModelRow, b: ModelRow): number {
    const { order, ties } = this.settings;
    const sign = order === 'ascending' ? 1 : -1;
    if (a.scaled !== b.scaled) return sign * (a.scaled < b.scaled ? -1 : 1);
    if (ties === 'earliest' && a.at !== b.at) return a.at - b.at;
    return Buffer.compare(bytesOf(a.member), bytesOf(b.member));
  }

  /** Hidden ones too; null: not in this season. */
  rowOf(start: number, member: string): ModelRow | null {
    return this.#seasons.get(start)?.get(member) ?? null;
  }

  rankOf(start: number, member: string): number | null {
    return this.rows(start).find((row) => row.member === member)?.rank ?? null;
  }

  /** The number that a decimal text of the scaled score stands for. */
  scoreOf(scaled: number): number {
    return Number(this.textOf(BigInt(scaled)));
  }

  textOf(scaled: bigint): string {
    const { decimals } = this.settings;
    if (decimals === 0) return String(scaled);
    const digits = String(scaled < 0n ? -scaled : scaled).padStart(decimals + 1, '0');
    const fraction = digits.slice(-decimals).replace(/0+$/, '');
    const text = digits.slice(0, -decimals) + (fraction === '' ? '' : `.${fraction}`);
    return scaled < 0n ? `-${text}` : text;
  }

  /** What a number is scaled to, by its digits; null: it cannot be kept. */
  scaledOf(score: number): number | null {
    const [whole = '', fraction = ''] = String(score).split('.');
    const scaled = Number(whole + fraction.padEnd(this.settings.decimals, '0'));
    const isKept = fraction.length <= this.settings.decimals && Number.isSafeInteger(scaled);
    return isKept ? scaled + 0 : null;
  }

  /** What a post does, entry by entry, were it applied at this moment. */
  plan({ entries, key }: ModelPost, nowMs: number): PostPlan {
    const wrong = entries.findIndex(({ value }) => this.scaledOf(value) === null);
    const nothing = { fates: [], apply: () => undefined };
    if (wrong !== -1) return { ...nothing, refusal: { code: 'invalid_score', index: wrong } };
    const record = key === null ? undefined : this.#keys.get(key.key);
    if (record !== undefined && record.fingerprint !== key!.fingerprint) {
      return { ...nothing, refusal: { code: 'key_reused', index: null } };
    }
    const draft = { scores: new Map(), touchedAt: new Map(), ids: new Set<string>(), places: [] };
    const starts = this.hasHours ? [ALL_TIME_START, hourOf(nowMs)] : [ALL_TIME_START];
    const fates = entries.map((entry, index) => {
      if (record?.places.has(index) === true) return 'duplicate';
      return this.#fateOf(entry, index, starts, draft);
    });
    return { refusal: null, fates, apply: () => this.#apply(draft, key) };
  }

  /** Posts of which nobody can say in which order they came: they have one time. */
  applyTogether(posts: readonly ModelPost[], nowMs: number): void {
    const time = this.#postCount + 1;
    for (const post of posts) {
      this.plan(post, nowMs).apply();
      this.#postCount = time - 1;
    }
    this.#postCount = time;
  }

  removeMember(member: string, nowMs: number): void {
    for (const start of this.readableSeasons(nowMs)) this.#seasons.get(start)?.delete(member);
    this.members.delete(member);
    this.#sorted.clear();
  }

  changeMember(member: string, change: { isHidden?: boolean; meta?: string | null }): void {
    const known = this.members.get(member)!;
    if (change.isHidden !== undefined) known.isHidden = change.isHidden;
    if (change.meta !== undefined) known.meta = change.meta;
    this.#sorted.clear();
  }

  /**
   * Over several parts it is not said in which order the entries of one post reach them. Those that
   * are tied by it stand as they were seen; all else must be as it is here.
   */
  adoptTies(start: number, seen: readonly string[]): void {
    const rows = this.rows(start);
    for (let first = 0; first < rows.length; ) {
      const isTied = (row: ModelRow): boolean =>
        row.scaled === rows[first]!.scaled && postOf(row) === postOf(rows[first]!);
      const until = rows.findIndex((row, index) => index > first && !isTied(row));
      const end = until === -1 ? rows.length : until;
      const tied = new Map(rows.slice(first, end).map((row) => [row.member, row]));
      const isAsHere = [...tied.keys()].every((member, index) => seen[first + index] === member);
      // Times that need not change must not: there may be cursors that hold them.
      for (let index = first; index < end && !isAsHere; index += 1) {
        const row = tied.get(seen[index] ?? '');
        if (row === undefined) continue;
        const at = postOf(row) * TIMES_PER_POST + index - first;
        const { member, scaled } = row;
        this.#seasons.get(start)!.set(member, { member, scaled, at });
      }
      first = end;
    }
    this.#sorted.delete(start);
  }

  #fateOf(entry: ModelEntry, index: number, starts: readonly number[], draft: Draft): EntryFate {
    const { member } = entry;
    const id = entry.id === undefined ? null : JSON.stringify([member, entry.id]);
    if (id !== null && (this.#ids.has(id) || draft.ids.has(id))) return 'duplicate';
    const value = this.scaledOf(entry.value)!;
    const isNothing = this.settings.mode === 'increment' && value === 0;
    if (!isNothing) {
      const before = starts.map((start) => {
        return draft.scores.get(start)?.get(member) ?? this.rowOf(start, member)?.scaled ?? null;
      });
      const after = before.map((old) => this.#scoreAfter(old, value));
      if (!after.every(Number.isSafeInteger)) return 'out_of_range';
      for (const [at, start] of starts.entries()) {
        const scores = draft.scores.get(start) ?? new Map<string, number>();
        draft.scores.set(start, scores.set(member, after[at]!));
      }
      if (after.some((score, at) => score !== before[at])) draft.touchedAt.set(member, index);
    }
    if (id !== null) draft.ids.add(id);
    draft.places.push(index);
    return 'applied';
  }

  #scoreAfter(old: number | null, value: number): number {
    const { mode, order } = this.settings;
    if (mode === 'increment') return (old ?? 0) + value;
    if (mode === 'last' || old === null) return value;
    return order === 'ascending' ? Math.min(old, value) : Math.max(old, value);
  }

  #apply({ scores, touchedAt, ids, places }: Draft, key: ModelPost['key']): void {
    this.#postCount += 1;
    for (const [start, changed] of scores) {
      const season = this.#seasons.get(start) ?? new Map<string, ModelRow>();
      this.#seasons.set(start, season);
      for (const [member, scaled] of changed) {
        // A score that is what it was keeps its time.
        if (season.get(member)?.scaled === scaled) continue;
        if (!this.members.has(member)) this.members.set(member, { isHidden: false, meta: null });
        const at = this.#postCount * TIMES_PER_POST + touchedAt.get(member)!;
        season.set(member, { member, scaled, at });
      }
    }
    this.#sorted.clear();
    for (const id of ids) this.#ids.add(id);
    if (key === null) return;
    const record = this.#keys.get(key.key) ?? { ...key, places: new Set<number>() };
    for (const place of places) record.places.add(place);
    this.#keys.set(key.key, record);
  }
}

export function hourOf(timeMs: number): number {
  return timeMs - (timeMs % HOUR_MS);
}

function postOf({ at }: ModelRow): number {
  return Math.floor(at / TIMES_PER_POST);
}

const knownBytes = new Map<string, Buffer>();

function bytesOf(member: string): Buffer {
  let bytes = knownBytes.get(member);
  if (bytes === undefined) {
    bytes = Buffer.from(member);
    knownBytes.set(member, bytes);
  }
  return bytes;
}
