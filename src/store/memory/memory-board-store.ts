/**
 * The port of boards in this process's memory: the default without Redis, and the store of the
 * simulation. Nothing survives a restart. Each method runs in one turn of the event loop, so it is
 * as atomic as a script in Redis. Time comes from the clock that is passed in.
 */
import {
  type BoardStore,
  type Chunk,
  type ChunkRequest,
  type EditOutcome,
  type MemberEdit,
  type PartAt,
  type PartRead,
  type PartRequest,
  type PartWrite,
  type PrepareOutcome,
  type ReadOutcome,
  type Refusal,
  type RememberedAsk,
  type RememberedOutcome,
  type ScanOutcome,
  type SeasonAt,
  type StepOutcome,
  TIME_BYTES,
  type WriteOutcome,
} from '../../boards/store-port.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Tag, TagSource } from '../../lib/random-tag.ts';
import {
  MemoryBoardPart,
  type MemberRow,
  type MemoryTtls,
  type RecordedOutcome,
  seasonName,
} from './memory-board-part.ts';
import { MemoryBoardWrite } from './memory-board-write.ts';

/** How long batch keys, ids and calls are remembered, and how many of all in one part. */
export interface MemoryBoardStoreOptions extends MemoryTtls {
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly maxRememberedIds: number;
}

const SCAN_MEMBERS_MIN = 1_000;
/** A scan goes on by skipping what it has seen, so a large part is walked in few of them. */
const SCANS_MAX = 100;
const TWO_POW_48 = 2 ** 48;

/** A member of a chunk as it was packed. */
interface PackedMember {
  readonly member: string;
  readonly meta: string | null;
  readonly rows: readonly { readonly season: string; readonly row: MemberRow }[];
}

export class MemoryBoardStore implements BoardStore {
  readonly primaryCount: number = 1;
  readonly #options: MemoryBoardStoreOptions;
  readonly #parts = new Map<Tag, MemoryBoardPart>();
  #lastMicros = 0;

  constructor(options: MemoryBoardStoreOptions) {
    this.#options = options;
  }

  newParts(count: number): Tag[] {
    return Array.from({ length: count }, () => this.#options.tags());
  }

  async openPart(part: Tag, epoch: Tag): Promise<void> {
    if (!this.#parts.has(part)) this.#parts.set(part, new MemoryBoardPart(epoch, this.#options));
  }

  async raiseEpoch(part: Tag, from: Tag, to: Tag): Promise<StepOutcome> {
    if (this.#parts.get(part)?.epoch === to) return { kind: 'done' };
    const state = this.#checked(part, from);
    if (!(state instanceof MemoryBoardPart)) return state;
    assert(state.moving === null, 'no chunk is under way when an epoch ends');
    state.epoch = to;
    state.admitted = 0;
    state.released = 0;
    return { kind: 'done' };
  }

  async dropPart(part: Tag): Promise<void> {
    this.#parts.delete(part);
  }

  async write(at: PartAt, { callId, seasons, requests }: PartWrite): Promise<WriteOutcome> {
    const known = this.#swept(at.part);
    const recorded = known?.calls.get(callId);
    if (known !== undefined && recorded !== undefined) {
      return written(known, seasons, requests, recorded);
    }
    const part = this.#checked(at.part, at.epoch, seasons);
    if (!(part instanceof MemoryBoardPart)) return part;
    const { maxRememberedIds, clock } = this.#options;
    const nowMs = clock.nowMs();
    const { rules } = at;
    const write = new MemoryBoardWrite({ part, rules, seasons, nowMs, maxRememberedIds });
    const outcomes = requests.map((request) => write.run(request));
    this.#lastMicros = Math.max(nowMs * 1_000, this.#lastMicros + 1);
    const isDone = write.finish((index) => timeText(this.#lastMicros, index));
    if (isDone) part.calls.set(callId, outcomes, nowMs);
    return written(part, seasons, requests, outcomes);
  }

  async remembered(
    part: Tag,
    epoch: Tag | null,
    { ids, keys }: RememberedAsk,
  ): Promise<RememberedOutcome> {
    const state = epoch === null ? this.#swept(part) : this.#checked(part, epoch);
    if (state !== undefined && !(state instanceof MemoryBoardPart)) return state;
    return {
      kind: 'remembered',
      ids: ids.map((id) => state?.ids.get(id) ?? false),
      keys: keys.map((key) => state?.keys.get(key) ?? null),
    };
  }

  async edit(
    { part, epoch }: PartAt,
    { callId, member, change, seasons }: MemberEdit,
  ): Promise<EditOutcome> {
    if (this.#swept(part)?.calls.get(callId) !== undefined) return { kind: 'edited' };
    const state = this.#checked(part, epoch, seasons);
    if (!(state instanceof MemoryBoardPart)) return state;
    if (state.moving?.members.has(member) === true) return { kind: 'frozen' };
    if (!state.members.has(member)) return { kind: 'absent' };
    if (change.kind === 'delete') {
      state.remove(seasons, member);
    } else {
      if (change.isHidden !== undefined) hide(state, seasons, member, change.isHidden);
      if (change.meta === null) state.meta.delete(member);
      else if (change.meta !== undefined) state.meta.set(member, change.meta);
    }
    state.calls.set(callId, [], this.#options.clock.nowMs());
    return { kind: 'edited' };
  }

  async read({ part, epoch }: PartAt, { season, admitted, asks }: PartRead): Promise<ReadOutcome> {
    const state = this.#checked(part, epoch);
    if (!(state instanceof MemoryBoardPart)) return state;
    if (admitted !== null) {
      if (state.released > admitted) return { kind: 'behind' };
      const chunk = state.moving?.number ?? null;
      if (chunk !== null && chunk <= admitted) return { kind: 'unreleased', chunk };
    }
    return {
      kind: 'read',
      nowMs: this.#options.clock.nowMs(),
      admitted: state.admitted,
      answers: asks.map((ask) => state.answer(season, ask)),
    };
  }

  async scan({ part, epoch }: PartAt, cursor: string | null): Promise<ScanOutcome> {
    const state = this.#checked(part, epoch);
    if (!(state instanceof MemoryBoardPart)) return state;
    const limit = Math.max(SCAN_MEMBERS_MIN, Math.ceil(state.members.size / SCANS_MAX));
    const seen = Number(cursor ?? 0);
    const members: string[] = [];
    let last = seen;
    for (const [member, number] of state.members) {
      if (number <= seen) continue;
      if (members.length === limit) return { kind: 'scanned', members, cursor: String(last) };
      members.push(member);
      last = number;
    }
    return { kind: 'scanned', members, cursor: null };
  }

  async prepareChunk(
    { part, epoch }: PartAt,
    { seasons, members }: ChunkRequest,
  ): Promise<PrepareOutcome> {
    const state = this.#checked(part, epoch, seasons);
    if (!(state instanceof MemoryBoardPart)) return state;
    if (state.moving === null) {
      const here = members.filter((member) => state.members.has(member));
      if (here.length === 0) return { kind: 'prepared', chunk: null };
      state.moving = { number: state.released + 1, members: new Set(here) };
    }
    const { number } = state.moving;
    const names = [...state.moving.members];
    const content = names.map((member): PackedMember => {
      const rows = seasons.flatMap((season) => {
        const row = state.rowOf(season, member);
        return row === null ? [] : [{ season: seasonName(season), row }];
      });
      return { member, meta: state.meta.get(member) ?? null, rows };
    });
    return { kind: 'prepared', chunk: { number, members: names, content } };
  }

  async admitChunk(
    { part, epoch }: PartAt,
    seasons: readonly SeasonAt[],
    { number, content }: Chunk,
  ): Promise<StepOutcome> {
    const state = this.#checked(part, epoch);
    if (!(state instanceof MemoryBoardPart)) return state;
    if (number <= state.admitted) return { kind: 'done' };
    assert(number === state.admitted + 1, 'chunks come one after the other');
    const indexes = new Map(seasons.map((season, index) => [seasonName(season), index]));
    for (const { member, meta, rows } of content as readonly PackedMember[]) {
      for (const { season, row } of rows) {
        const index = indexes.get(season);
        assert(index !== undefined, 'a chunk is admitted with the seasons it was packed with');
        state.put(seasons, index, row);
      }
      if (meta !== null) state.meta.set(member, meta);
    }
    state.admitted = number;
    return { kind: 'done' };
  }

  async releaseChunk(
    { part, epoch }: PartAt,
    seasons: readonly SeasonAt[],
    chunk: number,
  ): Promise<StepOutcome> {
    const state = this.#checked(part, epoch);
    if (!(state instanceof MemoryBoardPart)) return state;
    if (chunk <= state.released) return { kind: 'done' };
    const { moving } = state;
    assert(moving !== null && moving.number === chunk, 'the chunk that is released is under way');
    for (const member of moving.members) state.remove(seasons, member);
    state.moving = null;
    state.released = chunk;
    return { kind: 'done' };
  }

  #swept(part: Tag): MemoryBoardPart | undefined {
    const state = this.#parts.get(part);
    state?.sweep(this.#options.clock.nowMs());
    return state;
  }

  /** The part, or what forbids the call; `seasons` must be those of now, where they matter. */
  #checked(part: Tag, epoch: Tag, seasons: readonly SeasonAt[] = []): MemoryBoardPart | Refusal {
    const state = this.#swept(part);
    if (state === undefined) return { kind: 'gone' };
    if (state.epoch !== epoch) return { kind: 'stale', epoch: state.epoch };
    const nowMs = this.#options.clock.nowMs();
    return isOtherSeason(seasons, nowMs) ? { kind: 'other_season', nowMs } : state;
  }
}

/** Whether a view that is named has no season that contains this moment. */
function isOtherSeason(seasons: readonly SeasonAt[], nowMs: number): boolean {
  const current = seasons.filter(({ startsAtMs, endsAtMs }) => {
    return startsAtMs <= nowMs && (endsAtMs === null || endsAtMs > nowMs);
  });
  const views = new Set(current.map(({ view }) => view));
  return seasons.some(({ view }) => !views.has(view));
}

function hide(
  state: MemoryBoardPart,
  seasons: readonly SeasonAt[],
  member: string,
  isHidden: boolean,
): void {
  for (const [index, season] of seasons.entries()) {
    const row = state.rowOf(season, member);
    if (row !== null) state.put(seasons, index, { ...row, isHidden });
  }
}

function written(
  state: MemoryBoardPart,
  seasons: readonly SeasonAt[],
  requests: readonly PartRequest[],
  outcomes: readonly RecordedOutcome[],
): WriteOutcome {
  return {
    kind: 'written',
    requests: outcomes.map((outcome, index) => {
      if (outcome.kind !== 'applied') return outcome;
      const { entries } = requests[index]!;
      return {
        kind: 'applied',
        entries: outcome.codes.map((code, at) => {
          const row = state.rowOf(seasons[0]!, entries[at]!.member);
          return { code, key: row?.key ?? null };
        }),
      };
    }),
  };
}

/** Microseconds, then the place in the call, so that the bytes have the order of time. */
function timeText(micros: number, index: number): string {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUInt8(Math.floor(micros / TWO_POW_48), 0);
  bytes.writeUIntBE(micros % TWO_POW_48, 1, 6);
  bytes.writeUInt16BE(index, 7);
  return bytes.toString('latin1');
}
