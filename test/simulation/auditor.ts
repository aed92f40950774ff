import type { EventInput } from '../../src/streams/ingest.ts';

/** An event with the time it counts for. */
export interface AuditedEvent extends EventInput {
  readonly atMs: number;
}

/** Whose events are counted: all of a stream, or those that `isMeant` picks. */
export interface AuditedShare {
  readonly stream: string;
  readonly isMeant: (event: AuditedEvent) => boolean;
}

/** Half open: from <= time < to. */
export interface AuditedSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What an answer says, by item, and of the actors of all of them. */
export interface AuditedAnswer {
  readonly counts: ReadonlyMap<string, { readonly lower: number; readonly upper: number }>;
  /** No item that is not in `counts` has a larger count. */
  readonly maxUnlisted: number;
  readonly total: number;
  /** Different actors; null: not exact. */
  readonly distinct: number | null;
}

interface Truth {
  readonly counts: Map<string, number>;
  readonly actors: Set<string>;
  total: number;
}

/**
 * Holds what was acknowledged, in plain lists and by code of its own: nothing of the product is
 * used but the names of fields.
 */
export class Auditor {
  readonly #acknowledged = new Map<string, AuditedEvent[]>();
  /** Events whose fate their sender never learned: each counts once or not at all. */
  readonly #uncertain = new Map<string, AuditedEvent[]>();

  acknowledge(events: readonly AuditedEvent[]): void {
    append(this.#acknowledged, events);
  }

  /** The items and actors of uncertain events are of their own: no other event has them. */
  doubt(events: readonly AuditedEvent[]): void {
    append(this.#uncertain, events);
  }

  delete(stream: string): void {
    this.#acknowledged.delete(stream);
    this.#uncertain.delete(stream);
  }

  get streams(): string[] {
    return [...this.#acknowledged.keys()];
  }

  timesOf(stream: string): number[] {
    return (this.#acknowledged.get(stream) ?? []).map(({ atMs }) => atMs);
  }

  /** Says what is wrong with an answer for a span; null when it is right. */
  check(share: AuditedShare, span: AuditedSpan, answer: AuditedAnswer): string | null {
    const known = truthOf(this.#acknowledged, share, span);
    const uncertain = truthOf(this.#uncertain, share, span);
    let foundEvents = 0;
    let foundItems = 0;
    for (const [item, { lower, upper }] of answer.counts) {
      const possible = uncertain.counts.get(item);
      const count = known.counts.get(item);
      if (possible !== undefined) {
        if (lower > possible) return `${item}: at least ${lower}, sent once with ${possible}`;
        if (lower > 0 && upper < possible) return `${item}: a part of the ${possible} sent once`;
        if (lower === 0) continue;
        foundItems += 1;
        foundEvents += possible;
      } else if (count === undefined) {
        if (lower > 0) return `${item}: ${lower}, sent by nobody`;
      } else if (count < lower || count > upper) {
        return `${item}: ${lower} to ${upper} instead of ${count}`;
      }
    }
    for (const [item, count] of known.counts) {
      if (!answer.counts.has(item) && count > answer.maxUnlisted) return `${item} is not listed`;
    }
    const most = answer.maxUnlisted === 0 ? foundEvents : uncertain.total;
    if (!isWithin(answer.total, known.total, most)) {
      return `${answer.total} events instead of ${known.total}`;
    }
    const more = answer.maxUnlisted === 0 ? foundItems : uncertain.actors.size;
    const isRight = answer.distinct === null || isWithin(answer.distinct, known.actors.size, more);
    return isRight ? null : `${answer.distinct} actors instead of ${known.actors.size}`;
  }

  /** The same for the different actors of each item that is listed. */
  checkActors(
    share: AuditedShare,
    span: AuditedSpan,
    rows: readonly {
      readonly item: string;
      readonly lower: number;
      readonly upper: number;
      readonly events?: number;
    }[],
  ): string | null {
    for (const { item, lower, upper, events = 0 } of rows) {
      const isMeant = (event: AuditedEvent): boolean => event.item === item && share.isMeant(event);
      const ofItem = { ...share, isMeant };
      const known = truthOf(this.#acknowledged, ofItem, span).actors.size;
      const possible = truthOf(this.#uncertain, ofItem, span).actors.size;
      if (lower > known + possible || upper < known) {
        return `${item}: ${lower} to ${upper} actors instead of ${known}`;
      }
      if (upper > events) return `${item}: up to ${upper} actors of ${events} events`;
    }
    return null;
  }

  /** Events of a share and span that were acknowledged, and of those that are uncertain. */
  totalsOf(share: AuditedShare, span: AuditedSpan): { known: number; uncertain: number } {
    const known = truthOf(this.#acknowledged, share, span).total;
    return { known, uncertain: truthOf(this.#uncertain, share, span).total };
  }
}

function truthOf(
  events: ReadonlyMap<string, readonly AuditedEvent[]>,
  { stream, isMeant }: AuditedShare,
  { fromMs, toMs }: AuditedSpan,
): Truth {
  const truth: Truth = { counts: new Map(), actors: new Set(), total: 0 };
  for (const event of events.get(stream) ?? []) {
    const { item, actor, count, atMs } = event;
    if (atMs < fromMs || atMs >= toMs || !isMeant(event)) continue;
    truth.counts.set(item, (truth.counts.get(item) ?? 0) + count);
    truth.total += count;
    if (actor !== null) truth.actors.add(actor);
  }
  return truth;
}

function append(lists: Map<string, AuditedEvent[]>, events: readonly AuditedEvent[]): void {
  for (const event of events) {
    const list = lists.get(event.stream) ?? [];
    list.push(event);
    lists.set(event.stream, list);
  }
}

function isWithin(found: number, known: number, uncertain: number): boolean {
  return found >= known && found <= known + uncertain;
}
