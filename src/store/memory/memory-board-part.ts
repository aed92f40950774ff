/** What one part of a board holds in memory, and its answers to what readers ask. */
import {
  type EntryOutcome,
  type LocatedMember,
  type PartAnswer,
  type PartAsk,
  type PartRow,
  type Position,
  type RememberedKey,
  type RequestOutcome,
  type SeasonAt,
} from '../../boards/store-port.ts';
import type { Tag } from '../../lib/random-tag.ts';
import { SortedRows } from './sorted-rows.ts';

/** Never changed in place. */
export interface MemberRow extends Position {
  readonly member: string;
  readonly isHidden: boolean;
}

/** A season of a part. */
class SeasonRows {
  readonly byMember = new Map<string, MemberRow>();
  /** In their order, without those that are hidden. */
  readonly shown = new SortedRows<MemberRow>();
  sum = 0n;
  expiresAtMs: number | null = null;

  put(row: MemberRow): void {
    this.remove(row.member);
    this.byMember.set(row.member, row);
    if (row.isHidden) return;
    this.shown.add(row);
    this.sum += BigInt(row.key);
  }

  remove(member: string): void {
    const row = this.byMember.get(member);
    if (row === undefined) return;
    this.byMember.delete(member);
    if (row.isHidden) return;
    this.shown.remove(row);
    this.sum -= BigInt(row.key);
  }
}

/** Names that are forgotten some time after they were last set, which is the order they are in. */
class Remembered<Value> {
  readonly #ttlMs: number;
  readonly #records = new Map<string, { readonly value: Value; readonly expiresAtMs: number }>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  get size(): number {
    return this.#records.size;
  }

  get(name: string): Value | undefined {
    return this.#records.get(name)?.value;
  }

  set(name: string, value: Value, nowMs: number): void {
    this.#records.delete(name);
    this.#records.set(name, { value, expiresAtMs: nowMs + this.#ttlMs });
  }

  sweep(nowMs: number): void {
    for (const [name, { expiresAtMs }] of this.#records) {
      if (expiresAtMs > nowMs) break;
      this.#records.delete(name);
    }
  }
}

export interface MemoryTtls {
  readonly keyTtlMs: number;
  readonly idTtlMs: number;
  readonly callTtlMs: number;
}

/** What became of a request, its entries without keys: a repetition answers the keys of now. */
export type RecordedOutcome =
  | Exclude<RequestOutcome, { kind: 'applied' }>
  | { readonly kind: 'applied'; readonly codes: readonly EntryOutcome['code'][] };

const NO_ROWS = new SeasonRows();

export class MemoryBoardPart {
  epoch: Tag;
  admitted = 0;
  released = 0;
  /** The chunk that is under way: its members are frozen. */
  moving: { readonly number: number; readonly members: ReadonlySet<string> } | null = null;
  /** Those of all-time, each with the number of its making, which is the order they are in. */
  readonly members = new Map<string, number>();
  readonly meta = new Map<string, string>();
  readonly ids: Remembered<true>;
  readonly keys: Remembered<RememberedKey>;
  /** Of a write what became of its requests, of an edit nothing. */
  readonly calls: Remembered<readonly RecordedOutcome[]>;
  readonly #seasons = new Map<string, SeasonRows>();
  #madeCount = 0;

  constructor(epoch: Tag, { idTtlMs, keyTtlMs, callTtlMs }: MemoryTtls) {
    this.epoch = epoch;
    this.ids = new Remembered(idTtlMs);
    this.keys = new Remembered(keyTtlMs);
    this.calls = new Remembered(callTtlMs);
  }

  get rememberedCount(): number {
    return this.ids.size + this.keys.size + this.calls.size;
  }

  /** What Redis does by itself: forgets what has expired. */
  sweep(nowMs: number): void {
    for (const [name, { expiresAtMs }] of this.#seasons) {
      if (expiresAtMs !== null && expiresAtMs <= nowMs) this.#seasons.delete(name);
    }
    for (const remembered of [this.ids, this.keys, this.calls]) remembered.sweep(nowMs);
  }

  rowOf(season: SeasonAt, member: string): MemberRow | null {
    return this.#rowsOf(season).byMember.get(member) ?? null;
  }

  /** The members of all-time, which is the first of the seasons, are the members of the part. */
  put(seasons: readonly SeasonAt[], index: number, row: MemberRow): void {
    const season = seasons[index]!;
    const name = seasonName(season);
    const rows = this.#seasons.get(name) ?? new SeasonRows();
    this.#seasons.set(name, rows);
    rows.expiresAtMs = season.expiresAtMs;
    rows.put(row);
    if (index > 0 || this.members.has(row.member)) return;
    this.#madeCount += 1;
    this.members.set(row.member, this.#madeCount);
  }

  remove(seasons: readonly SeasonAt[], member: string): void {
    for (const season of seasons) this.#seasons.get(seasonName(season))?.remove(member);
    this.members.delete(member);
    this.meta.delete(member);
  }

  answer(season: SeasonAt, ask: PartAsk): PartAnswer {
    const rows = this.#rowsOf(season);
    switch (ask.kind) {
      case 'rows':
        return this.#answerRows(rows, ask);
      case 'count': {
        const without = shownRow(rows, ask.without);
        const before = ask.before.map((position) => countBefore(rows, position, without));
        return { kind: 'count', before, size: sizeOf(rows, without) };
      }
      case 'locate':
        return {
          kind: 'locate',
          members: ask.members.map((member) => {
            const row = rows.byMember.get(member);
            return row === undefined ? null : this.#located(row);
          }),
        };
      case 'levels': {
        const { below, limit } = ask;
        const keys = rows.shown.firstLevels(below, limit);
        return { kind: 'levels', count: rows.shown.countLevels(below), keys };
      }
      case 'stats':
        return statsOf(rows, ask.edges);
    }
  }

  #answerRows(rows: SeasonRows, ask: Extract<PartAsk, { kind: 'rows' }>): PartAnswer {
    const without = shownRow(rows, ask.without);
    const size = sizeOf(rows, without);
    const before = ask.from === null ? 0 : countBefore(rows, ask.from, without);
    const start = Math.max(0, Math.min(before + ask.skip, size));
    const isPassed = without !== null && rows.shown.countBefore(without) <= start;
    // One more than is asked for, since one of them may be the one that is left out.
    const found = rows.shown
      .slice(isPassed ? start + 1 : start, ask.limit + 1)
      .filter((row) => row !== without)
      .slice(0, ask.limit);
    return { kind: 'rows', before, start, size, rows: found.map((row) => this.#shown(row)) };
  }

  #shown({ member, key, element }: MemberRow): PartRow {
    return { key, element, meta: this.meta.get(member) ?? null };
  }

  #located(row: MemberRow): LocatedMember {
    return { ...this.#shown(row), isHidden: row.isHidden };
  }

  #rowsOf(season: SeasonAt): SeasonRows {
    return this.#seasons.get(seasonName(season)) ?? NO_ROWS;
  }
}

/** The length tells where the view ends, whatever it holds. */
export function seasonName({ view, id }: SeasonAt): string {
  return `${view.length} ${view}${id}`;
}

function shownRow(rows: SeasonRows, member: string | null): MemberRow | null {
  const row = member === null ? undefined : rows.byMember.get(member);
  return row === undefined || row.isHidden ? null : row;
}

function sizeOf({ shown }: SeasonRows, without: MemberRow | null): number {
  return without === null ? shown.size : shown.size - 1;
}

function countBefore({ shown }: SeasonRows, position: Position, without: MemberRow | null): number {
  const count = shown.countBefore(position);
  if (without === null) return count;
  const isBefore =
    without.key === position.key ? without.element < position.element : without.key < position.key;
  return isBefore ? count - 1 : count;
}

function statsOf({ shown, sum }: SeasonRows, edges: readonly number[]): PartAnswer {
  const below = edges.map((edge) => shown.countBefore({ key: edge, element: '' }));
  return {
    kind: 'stats',
    ...{ size: shown.size, sum },
    firstKey: shown.first()?.key ?? null,
    lastKey: shown.last()?.key ?? null,
    counts: below.slice(1).map((count, index) => count - below[index]!),
  };
}
