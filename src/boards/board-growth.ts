/**
 * Boards that grow by themselves: each process that takes writes reports which boards are hot in
 * it, and a worker adds the reports up and announces the next step of a board that is too hot.
 */
import type { Clock } from '../lib/clock.ts';
import type { Tag, TagSource } from '../lib/random-tag.ts';
import { automaticPartsMax, partsFor, sumRates } from '../shards/growth.ts';
import { HotKeys, type KeyRate } from '../shards/hot-keys.ts';
import type { RateStore } from '../shards/rate-port.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { BoardRefusedError } from './board-errors.ts';
import type { BoardRegistry } from './board-registry.ts';
import type { Boards } from './boards.ts';
import type { BoardStore } from './store-port.ts';

/** Reports are made about every five seconds; of a process that missed three none counts. */
const REPORT_AGE_MS_MAX = 20_000;
/**
 * A board below this share of what one part takes is not worth a word; a process's own share of a
 * hot board may be small.
 */
const REPORT_FRACTION_MIN = 0.1;

export interface BoardGrowthOptions {
  readonly store: BoardStore;
  readonly rates: RateStore;
  readonly registry: BoardRegistry;
  readonly boards: Boards;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly hash: KeyedHash;
  /** Writes per second that one part can take, and the fraction of it that stays free. */
  readonly partRatePerSecond: number;
  readonly headroom: number;
}

export class BoardGrowth {
  readonly #options: BoardGrowthOptions;
  readonly #process: Tag;
  readonly #hotKeys: HotKeys;
  #hasReported = false;

  constructor(options: BoardGrowthOptions) {
    const { clock, hash, partRatePerSecond, tags } = options;
    this.#options = options;
    this.#process = tags();
    const ratePerSecondMin = partRatePerSecond * REPORT_FRACTION_MIN;
    this.#hotKeys = new HotKeys({ hash, nowMs: clock.nowMs(), ratePerSecondMin });
  }

  /** Counts writes to a board by this process. */
  record(board: string, entries: number): void {
    if (entries > 0) this.#hotKeys.record(board, entries);
  }

  /** What was hot since the last report; nothing is sent while nothing is. */
  async report(): Promise<void> {
    const { rates, clock } = this.#options;
    const atMs = clock.nowMs();
    const hot = this.#hotKeys.take(atMs);
    if (hot.length === 0 && !this.#hasReported) return;
    await rates.report('boards', { process: this.#process, atMs, rates: hot });
    this.#hasReported = hot.length > 0;
  }

  /** Writes per second of the hot boards, over all processes, hottest first. */
  async hot(): Promise<KeyRate[]> {
    const { rates, clock } = this.#options;
    const nowMs = clock.nowMs();
    const reports = await rates.readReports('boards', nowMs - REPORT_AGE_MS_MAX);
    return sumRates(reports, { nowMs, ageMsMax: REPORT_AGE_MS_MAX });
  }

  /** Doubles the parts of every board that is too hot for those it has. */
  async grow(): Promise<void> {
    const { store, registry, boards, partRatePerSecond, headroom } = this.#options;
    const partsMax = automaticPartsMax(store.primaryCount);
    for (const { key: name, ratePerSecond } of await this.hot()) {
      const board = await registry.find(name);
      const { layout, settings, isDeleted } = board?.document ?? {};
      if (layout === undefined || layout.move !== null || isDeleted || !settings?.autoSplit)
        continue;
      const partsNow = layout.parts.length;
      const wanted = partsFor({ ratePerSecond, partRatePerSecond, headroom, partsNow, partsMax });
      if (wanted > partsNow) await boards.setShards(name, 2 * partsNow).catch(unlessRefused);
    }
  }
}

/** Somebody else was faster, or the board is gone. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof BoardRefusedError)) throw error;
}
