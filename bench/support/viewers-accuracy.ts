/** How close the top by actors comes to the truth: summaries made as the pipeline makes them. */
import { Prng } from '../../src/lib/prng.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import {
  CLOSED_SHAPE,
  PART_SHAPE,
  Summary,
  type SummaryContext,
} from '../../src/sketches/summary.ts';
import { decodeSummary, encodeColumns } from '../../src/sketches/summary-codec.ts';
import { ViewersView } from '../../src/sketches/viewers-view.ts';
import { ZipfSampler } from '../../test/support/zipf.ts';
import { itemName } from './workload.ts';

export interface ViewersOptions {
  readonly eventCount: number;
  readonly itemCount: number;
  readonly actorCount: number;
  readonly minuteCount: number;
  readonly partitionCount: number;
  /** Events travel in batches of this size, each to one partition picked by chance. */
  readonly batchSize: number;
  /** So many actors make this share of the events, each of them all of one item. */
  readonly botCount: number;
  readonly botShare: number;
  readonly k: number;
}

/** One window read in one way. */
export interface ViewersReadFigures {
  /** The share of the true first k that are among the first k rows. */
  readonly recall: number;
  /** Root mean square over the rows of (estimate - truth) / truth. */
  readonly rmsError: number;
  /** The share of rows whose truth lies within their bounds. */
  readonly within: number;
  /** Items beyond the rows with more actors than maxUnlisted says, and bots in the rows. */
  readonly violations: number;
  /** (maxUnlisted - the largest truth beyond the rows) / that truth. */
  readonly slack: number;
  readonly meanBytes: number;
  readonly maxBytes: number;
}

export interface ViewersFigures {
  readonly minutes: ViewersReadFigures;
  readonly hour: ViewersReadFigures;
}

interface Stored {
  readonly summary: Summary;
  readonly byteCount: number;
}

const ITEM_EXPONENT = 1;
/** Some people come much more often than others. */
const ACTOR_EXPONENT = 0.6;
/** Bots want items from this rank on to the top: most others have fewer events. */
const BOT_RANK = 5_000;

export function measureViewers(options: ViewersOptions, seed: number): ViewersFigures {
  const hashKeys = new Prng(~seed);
  const hash = new KeyedHash({ k0: hashKeys.nextUint32(), k1: hashKeys.nextUint32() });
  const closed: SummaryContext = { hash, shape: CLOSED_SHAPE };
  const open: SummaryContext = { hash, shape: PART_SHAPE };
  const pairs = new Float64Array(options.eventCount);
  let eventCount = 0;
  const hours = Array.from({ length: options.partitionCount }, () => new Summary(closed));
  const minutes: Stored[] = [];
  for (const events of minutesOf(options, seed)) {
    const parts = hours.map(() => new Summary(open));
    for (const { partition, item, actor } of events) {
      hash.hashString(`visitor-${actor}`);
      parts[partition]!.add(itemName(item), 1, { lo: hash.lo, hi: hash.hi });
      pairs[eventCount++] = item * options.actorCount + actor;
    }
    for (const [partition, part] of parts.entries()) {
      const minute = new Summary(closed);
      minute.merge(part);
      hours[partition]!.merge(part);
      minutes.push(storedAndRead(minute, closed));
    }
  }
  const truth = viewersByItem(pairs.subarray(0, eventCount), options);
  const judge = (stored: readonly Stored[]): ViewersReadFigures =>
    judgeRead(stored, hash, truth, options);
  return {
    minutes: judge(minutes),
    hour: judge(hours.map((summary) => storedAndRead(summary, closed))),
  };
}

interface PlacedEvent {
  readonly partition: number;
  readonly item: number;
  readonly actor: number;
}

function* minutesOf(options: ViewersOptions, seed: number): Generator<Iterable<PlacedEvent>> {
  const { eventCount, itemCount, actorCount, minuteCount } = options;
  const prng = new Prng(seed);
  const items = new ZipfSampler(itemCount, ITEM_EXPONENT);
  const actors = new ZipfSampler(actorCount - options.botCount, ACTOR_EXPONENT);
  const eventsPerMinute = Math.floor(eventCount / minuteCount);
  function* events(): Generator<PlacedEvent> {
    let partition = 0;
    for (let event = 0; event < eventsPerMinute; event += 1) {
      if (event % options.batchSize === 0) partition = prng.nextInt(options.partitionCount);
      if (prng.chance(options.botShare)) {
        const bot = prng.nextInt(options.botCount);
        yield { partition, item: BOT_RANK + bot, actor: actorCount - 1 - bot };
      } else {
        yield { partition, item: items.next(prng), actor: actors.next(prng) };
      }
    }
  }
  for (let minute = 0; minute < minuteCount; minute += 1) yield events();
}

function storedAndRead(summary: Summary, context: SummaryContext): Stored {
  const { counts, viewers } = encodeColumns(summary);
  const read = decodeSummary(counts, context, viewers ?? undefined);
  return { summary: read, byteCount: viewers?.length ?? 0 };
}

/** By item number. */
function viewersByItem(pairs: Float64Array, { itemCount, actorCount }: ViewersOptions): number[] {
  const viewers = Array<number>(itemCount).fill(0);
  pairs.sort();
  for (const [at, pair] of pairs.entries()) {
    if (at === 0 || pair !== pairs[at - 1]) viewers[Math.floor(pair / actorCount)]! += 1;
  }
  return viewers;
}

function judgeRead(
  stored: readonly Stored[],
  hash: KeyedHash,
  truth: readonly number[],
  { k, botCount }: ViewersOptions,
): ViewersReadFigures {
  const view = new ViewersView(
    stored.map(({ summary }) => summary),
    hash,
  );
  const { rows, maxUnlisted } = view.topByViewers(k);
  const numbers = rows.map(({ item }) => Number(item.slice(itemName(0).length - 1)));
  const listed = new Set(numbers);
  const others = truth.filter((_, item) => !listed.has(item));
  const largestOther = others.reduce((largest, viewers) => Math.max(largest, viewers), 0);
  // Equal numbers of actors are as good as each other.
  const least = truth.toSorted((a, b) => b - a)[k - 1]!;
  const errors = rows.map(({ estimate }, at) => estimate / truth[numbers[at]!]! - 1);
  const within = rows.filter(
    ({ lower, upper }, at) => lower <= truth[numbers[at]!]! && truth[numbers[at]!]! <= upper,
  );
  const bots = numbers.filter((item) => item >= BOT_RANK && item < BOT_RANK + botCount).length;
  const byteCounts = stored.map(({ byteCount }) => byteCount);
  return {
    recall: numbers.filter((item) => truth[item]! >= least).length / k,
    rmsError: Math.sqrt(mean(errors.map((error) => error * error))),
    within: within.length / rows.length,
    violations: others.filter((viewers) => viewers > maxUnlisted).length + bots,
    slack: maxUnlisted / largestOther - 1,
    meanBytes: Math.round(mean(byteCounts)),
    maxBytes: Math.max(...byteCounts),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
