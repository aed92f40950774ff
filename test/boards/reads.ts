/** Questions about the real board, each with the answer that the model has. */
import { expect } from 'vitest';
import type { BoardRow, PageAnswer } from '../../src/boards/answers.ts';
import { type BoardModel, hourOf, type ModelRow, type RankedModelRow } from './model.ts';
import { askFor, boardsOf, type RealBoard, refusalOf } from './real-board.ts';

/** Which season is meant: 0 all-time, 1 the current hour, then those before it. */
export interface Asked {
  readonly back: number;
  readonly isById: boolean;
  readonly room: number;
}

export interface PageExpected {
  readonly first: number;
  readonly k: number;
}

/** One reading of a season that can be read. */
export class SeasonReading {
  readonly start: number;
  readonly #model: BoardModel;
  readonly #real: RealBoard;
  readonly #asked: Asked;

  constructor(model: BoardModel, real: RealBoard, asked: Asked) {
    const seasons = model.readableSeasons(real.clock.nowMs());
    this.#model = model;
    this.#real = real;
    this.#asked = asked;
    this.start = seasons[asked.back % seasons.length]!;
  }

  get rows(): readonly RankedModelRow[] {
    return this.#model.rows(this.start);
  }

  get season() {
    const isCurrent = this.start === hourOf(this.#real.clock.nowMs()) && !this.#asked.isById;
    return askFor(this.#real, this.start, isCurrent);
  }

  get boards() {
    return boardsOf(this.#real, this.#asked.room);
  }

  /** The room that moves parts knows how many there are; the other may not know yet. */
  get frame() {
    const isKnown = this.#asked.room % 2 === 0;
    return {
      ...{ board: this.#real.name, view: this.season.view, of: this.rows.length, missing: [] },
      ...(isKnown ? { shards: this.#model.shards } : {}),
    };
  }

  entryOf({ member, rank, scaled }: RankedModelRow): BoardRow {
    const { meta } = this.#model.members.get(member)!;
    return { rank, member, score: this.#model.scoreOf(scaled), meta };
  }

  expectPage(page: PageAnswer, { first, k }: PageExpected): void {
    const rows = this.rows.slice(first, first + k);
    expect(page.entries).toEqual(rows.map((row) => this.entryOf(row)));
    expect(page).toMatchObject(this.frame);
    expect(page.next === null).toBe(rows.length === 0 || first + k >= this.rows.length);
    expect(page.previous === null).toBe(rows.length === 0 || first === 0);
  }

  async page(asked: { offset: number; k: number; cursor?: string | null }): Promise<PageAnswer> {
    const { offset, k, cursor = null } = asked;
    return this.boards.page(this.#real.name, { ...this.season, offset, k, cursor });
  }

  async checkPage(offset: number, k: number): Promise<void> {
    const page = await this.page({ offset, k });
    this.expectPage(page, { first: offset, k });
    const last = this.rows[offset + page.entries.length - 1];
    if (page.next === null || page.previous === null || last === undefined) return;
    const back = await this.page({ offset: 0, k, cursor: page.previous });
    this.expectPage(back, { first: Math.max(0, offset - k), k });
    this.#model.cursors.push({
      ...{ start: this.start, after: page.next, last },
      ...{ before: page.previous, first: this.rows[offset]! },
    });
  }

  /** By cursors from the first page to the last one, and back. */
  async checkWalk(size: number): Promise<void> {
    const k = Math.max(size, Math.ceil(this.rows.length / 8));
    let first = 0;
    let page = await this.page({ offset: 0, k });
    this.expectPage(page, { first, k });
    while (page.next !== null) {
      first += k;
      page = await this.page({ offset: 0, k, cursor: page.next });
      this.expectPage(page, { first, k });
    }
    while (page.previous !== null) {
      first = Math.max(0, first - k);
      page = await this.page({ offset: 0, k, cursor: page.previous });
      this.expectPage(page, { first, k });
    }
    expect(first).toBe(0);
  }

  /** A cursor names a place, and what stands behind it now is told, not what stood there then. */
  async checkOldCursor(row: ModelRow, cursor: string, isAfter: boolean, k: number): Promise<void> {
    const isBehind = (other: ModelRow): boolean => {
      const order = this.#model.compare(other, row);
      return isAfter ? order > 0 : order >= 0;
    };
    const found = this.rows.findIndex(isBehind);
    const place = found === -1 ? this.rows.length : found;
    const first = isAfter ? place : Math.max(0, place - k);
    this.expectPage(await this.page({ offset: 0, k, cursor }), { first, k });
  }

  async checkMember(member: string): Promise<void> {
    const asked = this.boards.member(this.#real.name, member, this.season);
    const row = this.#model.rowOf(this.start, member);
    if (row === null) {
      expect(await refusalOf(asked)).toBe('member_not_found');
      return;
    }
    const { isHidden, meta } = this.#model.members.get(member)!;
    const place = this.rows.findIndex((one) => one.member === member);
    const rank = this.rows[place]?.rank ?? null;
    const isWorse = (other: RankedModelRow): boolean => rank !== null && other.rank > rank;
    const below = this.rows.filter(isWorse).length;
    expect(await asked).toMatchObject({
      ...this.frame,
      ...{ member, isHidden, meta, rank, score: this.#model.scoreOf(row.scaled) },
      percentile: rank === null ? null : (100 * below) / this.rows.length,
    });
  }

  async checkAround(member: string, n: number): Promise<void> {
    const asked = this.boards.around(this.#real.name, member, { ...this.season, n });
    const place = this.rows.findIndex((row) => row.member === member);
    if (place === -1) {
      expect(await refusalOf(asked)).toBe('member_not_found');
      return;
    }
    const first = Math.max(0, Math.min(place - Math.floor(n / 2), this.rows.length - n));
    this.expectPage(await asked, { first, k: n });
  }

  async checkRanks(members: readonly string[]): Promise<void> {
    const answer = await this.boards.ranks(this.#real.name, members, this.season);
    expect(answer).toMatchObject(this.frame);
    const rankOf = new Map(this.rows.map(({ member, rank }) => [member, rank]));
    const ranks = members.flatMap((member) => rankOf.get(member) ?? []);
    expect(answer.members).toEqual(
      members.map((member) => {
        const row = this.#model.rowOf(this.start, member);
        const rank = rankOf.get(member) ?? null;
        return {
          ...{ member, rank, score: row === null ? null : this.#model.scoreOf(row.scaled) },
          place: rank === null ? null : 1 + ranks.filter((other) => other < rank).length,
          meta: row === null ? null : this.#model.members.get(member)!.meta,
        };
      }),
    );
  }

  async checkStats(buckets: number): Promise<void> {
    const stats = await this.boards.stats(this.#real.name, { ...this.season, buckets });
    expect(stats).toMatchObject(this.frame);
    const scores = this.rows.map(({ scaled }) => this.#model.scoreOf(scaled));
    const sum = this.rows.reduce((total, { scaled }) => total + BigInt(scaled), 0n);
    expect(stats.sum).toBe(this.#model.textOf(sum));
    const [min, max] = [Math.min(...scores), Math.max(...scores)];
    expect(stats.min).toBe(scores.length === 0 ? null : min);
    expect(stats.max).toBe(scores.length === 0 ? null : max);
    const { histogram } = stats;
    expect(histogram.length).toBeLessThanOrEqual(buckets);
    expect(histogram.length === 0).toBe(scores.length === 0);
    for (const [index, { from, to, count }] of histogram.entries()) {
      const isLast = index === histogram.length - 1;
      const inside = scores.filter((score) => score >= from && (isLast || score < to));
      expect(count, `bucket ${index}`).toBe(inside.length);
      if (index > 0) expect(from).toBe(histogram[index - 1]!.to);
    }
    expect(histogram.reduce((total, { count }) => total + count, 0)).toBe(scores.length);
  }
}

/** Which seasons there are, what the board says of itself, and that all of it is listed. */
export async function checkDescription(model: BoardModel, real: RealBoard): Promise<void> {
  const { boards } = real.rooms[0];
  const described = await boards.describe(real.name);
  const { settings, shards, movingTo, createdAtMs } = model;
  expect(described).toMatchObject({ board: real.name, settings, shards });
  expect(described.movingTo).toBe(movingTo);
  if (real.advanceMs !== null) expect(described.createdAtMs).toBe(createdAtMs);
  const starts = model.readableSeasons(real.clock.nowMs());
  const hours = described.seasons.filter(({ view }) => view !== 'all');
  expect(hours.map(({ startsAtMs }) => startsAtMs)).toEqual(starts.slice(1));
  expect(described.seasons.length).toBe(starts.length);
  for (const { id, startsAtMs } of hours) real.seasonIds.set(startsAtMs, id);
  expect(new Set(real.seasonIds.values()).size).toBe(real.seasonIds.size);
  expect(hours.filter(({ isCurrent }) => isCurrent).length).toBe(hours.length === 0 ? 0 : 1);
}

/** Everything that can be read, in every season. */
export async function checkAll(model: BoardModel, real: RealBoard): Promise<void> {
  await checkDescription(model, real);
  for (const back of model.readableSeasons(real.clock.nowMs()).keys()) {
    const reading = new SeasonReading(model, real, { back, isById: true, room: back });
    await reading.checkPage(0, Math.max(1, reading.rows.length));
    await reading.checkStats(10);
    await reading.checkRanks([...model.members.keys()].slice(0, 500));
  }
}
