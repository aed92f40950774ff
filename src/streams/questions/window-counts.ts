/**
 * What a window holds where only coarse buckets are left of it: each counts by the part of it that
 * lies in the window, as if its events were spread evenly, with the uncertainty of that in the
 * bounds.
 */
import type { KeyedHash } from '../../sketches/hash.ts';
import type { Summary } from '../../sketches/summary.ts';
import { SummaryView } from '../../sketches/summary-view.ts';
import { ViewersView } from '../../sketches/viewers-view.ts';
import type { CountBounds, RankedBy } from '../answers.ts';
import { bucketEndMs, LEVEL_MS } from '../buckets.ts';
import type { BucketSummary } from '../reader.ts';
import { shareOfBounds } from '../trending.ts';
import type { Span } from '../window.ts';

export interface WindowCounts {
  /** Events, or different actors. */
  readonly total: number;
  boundsOf(item: string): CountBounds;
  /** About the n items with most, hidden ones too; of coarse buckets all is taken for inside. */
  largest(n: number): string[];
}

/** Buckets of which the same part, above 0 and at most 1, lies in the window. */
interface Group {
  readonly fraction: number;
  readonly summaries: Summary[];
}

export function countsWithin(
  summaries: readonly BucketSummary[],
  span: Span,
  hash: KeyedHash,
  by: RankedBy,
): WindowCounts {
  const groups = groupsWithin(summaries, span);
  return by === 'events' ? new EventCounts(groups, hash) : new ActorCounts(groups, hash);
}

class EventCounts implements WindowCounts {
  readonly #groups: readonly { readonly fraction: number; readonly view: SummaryView }[];
  readonly #all: SummaryView;

  constructor(groups: readonly Group[], hash: KeyedHash) {
    this.#all = new SummaryView(summariesOf(groups), hash);
    this.#groups = groups.map(({ fraction, summaries }) => {
      return { fraction, view: new SummaryView(summaries, hash) };
    });
  }

  get total(): number {
    return this.#groups.reduce((sum, { fraction, view }) => sum + view.total * fraction, 0);
  }

  boundsOf(item: string): CountBounds {
    const bounds = { count: 0, lower: 0, upper: 0 };
    for (const { fraction, view } of this.#groups) {
      const share = shareOfBounds(view.countOf(item), fraction);
      bounds.count += share.count;
      bounds.lower += share.lower;
      bounds.upper += share.upper;
    }
    return bounds;
  }

  largest(n: number): string[] {
    return this.#all.top(n).rows.map(({ item }) => item);
  }
}

/**
 * Different actors do not divide like events. Of one with m events in a bucket, an even spread puts
 * at least one into a part f with probability 1 - (1 - f)^m. That is concave in m, so a number of
 * actors shrinks at least by the factor 1 - (1 - f)^(events / actors).
 */
class ActorCounts implements WindowCounts {
  readonly #groups: readonly {
    readonly fraction: number;
    readonly events: SummaryView;
    readonly actors: ViewersView;
  }[];
  readonly #events: SummaryView;
  readonly #actors: ViewersView;

  constructor(groups: readonly Group[], hash: KeyedHash) {
    this.#groups = groups.map(({ fraction, summaries }) => ({
      fraction,
      events: new SummaryView(summaries, hash),
      actors: new ViewersView(summaries, hash),
    }));
    const all = summariesOf(groups);
    this.#events = new SummaryView(all, hash);
    this.#actors = new ViewersView(all, hash);
  }

  get total(): number {
    const sum = this.#groups.reduce((total, { fraction, events }) => {
      const { estimate } = events.distinct();
      const withActor = events.total - events.withoutActor;
      return total + estimate * shareOfActors(fraction, withActor, estimate);
    }, 0);
    // An actor in several parts is one.
    return Math.min(sum, this.#events.distinct().estimate);
  }

  boundsOf(item: string): CountBounds {
    const bounds = { count: 0, lower: 0, upper: 0 };
    for (const { fraction, events, actors } of this.#groups) {
      const known = actors.viewersOf(item);
      const part = shareOfActors(fraction, events.countOf(item).upper, known.upper);
      const share = shareOfBounds(known, part);
      bounds.count += share.count;
      bounds.lower = Math.max(bounds.lower, share.lower);
      bounds.upper += share.upper;
    }
    if (this.#groups.length < 2) return bounds;
    const { upper } = this.#actors.viewersOf(item);
    return {
      count: Math.min(bounds.count, upper),
      lower: bounds.lower,
      upper: Math.min(bounds.upper, upper),
    };
  }

  largest(n: number): string[] {
    return this.#actors.topByViewers(n).rows.map(({ item }) => item);
  }
}

function shareOfActors(fraction: number, events: number, actors: number): number {
  return actors === 0 ? 0 : 1 - (1 - fraction) ** Math.max(1, events / actors);
}

function groupsWithin(summaries: readonly BucketSummary[], span: Span): Group[] {
  const groups = new Map<number, Group>();
  for (const { bucket, summary } of summaries) {
    const insideMs =
      Math.min(bucketEndMs(bucket), span.toMs) - Math.max(bucket.startMs, span.fromMs);
    // A part of a coarse bucket can lie outside of the window altogether.
    if (insideMs <= 0) continue;
    const fraction = insideMs / LEVEL_MS[bucket.level];
    const group = groups.get(fraction);
    if (group === undefined) groups.set(fraction, { fraction, summaries: [summary] });
    else group.summaries.push(summary);
  }
  return [...groups.values()];
}

function summariesOf(groups: readonly Group[]): Summary[] {
  return groups.flatMap(({ summaries }) => summaries);
}
