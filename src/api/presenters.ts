/** From the rooms' answers (times in ms) to the API's JSON (ISO 8601, marks only where true). */
import type { z } from 'zod';
import { assert } from '../lib/assert.ts';
import type {
  DistinctAnswer,
  ItemCount,
  ItemsAnswer,
  SeriesAnswer,
  SeriesPoint,
  StreamList,
  TopAnswer,
  WindowFacts,
} from '../streams/answers.ts';
import type {
  distinctAnswer,
  itemAnswer,
  itemsAnswer,
  seriesAnswer,
  streamList,
  topAnswer,
} from './answer-schemas.ts';

const MS_PER_SECOND = 1000;

export function presentTop(answer: TopAnswer): z.input<typeof topAnswer> {
  const { items, k, total, exact, errorBound, maxUnlisted, saturated } = answer;
  return {
    ...presentWindow(answer),
    total,
    exact,
    k,
    returned: items.length,
    errorBound,
    maxUnlisted,
    ...mark('saturated', saturated),
    items: items.map(({ rank, item, count, lower, upper }) => ({
      rank,
      item,
      count,
      lower,
      upper,
    })),
  };
}

export function presentDistinct(answer: DistinctAnswer): z.input<typeof distinctAnswer> {
  const { estimate, standardError, lower, upper, exact, total, withoutActor } = answer;
  return {
    ...presentWindow(answer),
    estimate,
    standardError,
    lower,
    upper,
    exact,
    total,
    withoutActor,
  };
}

/** Of a question for one item. */
export function presentItem(answer: ItemsAnswer): z.input<typeof itemAnswer> {
  const [item] = answer.items;
  assert(item !== undefined, 'a question for one item has an answer for one');
  return { ...presentWindow(answer), ...presentItemCount(item), ...presentItemsFacts(answer) };
}

export function presentItems(answer: ItemsAnswer): z.input<typeof itemsAnswer> {
  return {
    ...presentWindow(answer),
    ...presentItemsFacts(answer),
    items: answer.items.map(presentItemCount),
  };
}

export function presentSeries(answer: SeriesAnswer): z.input<typeof seriesAnswer> {
  return {
    ...presentWindow(answer),
    ...(answer.item === undefined ? {} : { item: answer.item }),
    stepSeconds: answer.stepMs / MS_PER_SECOND,
    points: answer.points.map(presentPoint),
  };
}

export function presentStreamList(list: StreamList): z.input<typeof streamList> {
  return {
    streams: list.streams.map(({ stream }) => ({ stream })),
    next: list.next,
    ...presentMissing(list.missing),
  };
}

function presentWindow(facts: WindowFacts) {
  return {
    stream: facts.stream,
    from: isoTime(facts.fromMs),
    to: isoTime(facts.toMs),
    asOf: isoTime(facts.asOfMs),
    ...mark('lagging', facts.lagging),
    ...presentMissing(facts.missing),
  };
}

function presentMissing(missing: readonly string[]): { partial?: true; missing?: string[] } {
  return missing.length === 0 ? {} : { partial: true, missing: [...missing] };
}

function presentItemsFacts({ total, exact, errorBound, saturated }: ItemsAnswer) {
  return { total, exact, errorBound, ...mark('saturated', saturated) };
}

function presentItemCount({ item, count, lower, upper, belowNoiseFloor }: ItemCount) {
  return { item, count, lower, upper, ...mark('belowNoiseFloor', belowNoiseFloor) };
}

function presentPoint({ fromMs, toMs, count, lower, upper, exact, distinct }: SeriesPoint) {
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    count,
    lower,
    upper,
    exact,
    ...(distinct === undefined ? {} : { distinct: { ...distinct } }),
  };
}

function mark<Name extends string>(name: Name, holds: boolean): { [Mark in Name]?: true } {
  return holds ? ({ [name]: true } as { [Mark in Name]?: true }) : {};
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
