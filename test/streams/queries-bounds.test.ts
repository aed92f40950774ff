import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { CLOSED_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import { MINUTE_MS } from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';
import { eventOf, Pipeline } from '../support/pipeline.ts';
import { trailing } from '../support/questions.ts';

/** A moment inside of an hour, so that windows have edges inside of hours on both sides. */
const NOW_MS = Date.UTC(2026, 10, 30, 12, 34, 56);
const REACH_MINUTES = 170;
const QUESTIONS = 4;

/** So small that a few events are sketched, cells collide and candidates are pushed out. */
const SMALL_SHAPE: SummaryShape = {
  width: 16,
  depth: 2,
  candidates: 6,
  exactItems: 4,
  exactItemBytes: 1_000,
  exactActors: 5,
  exactPairs: 12,
  viewerBytes: 400,
};

const events: fc.Arbitrary<EventInput[]> = fc.array(
  fc
    .record({
      item: fc.nat(14).map((index) => `item-${index}`),
      actor: fc.option(fc.nat(25).map((index) => `actor-${index}`)),
      count: fc.constantFrom(1, 1, 1, 2, 5, 100),
      // Many at the edges of hours.
      ageMinutes: fc.oneof(fc.nat(REACH_MINUTES), fc.constantFrom(33, 34, 35, 93, 94, 95)),
    })
    .map(({ ageMinutes, ...event }) =>
      eventOf({ ...event, atMs: NOW_MS - ageMinutes * MINUTE_MS }),
    ),
  // Without the size most lists would be of a handful of events, which no summary sketches.
  { minLength: 1, maxLength: 80, size: 'max' },
);

const questions = fc.array(
  fc.record({
    k: fc.integer({ min: 1, max: 12 }),
    lengthMinutes: fc.oneof(
      fc.integer({ min: 1, max: REACH_MINUTES }),
      fc.integer({ min: 100, max: REACH_MINUTES }),
    ),
    untilAgeMinutes: fc.option(fc.nat(REACH_MINUTES)),
    stepMinutes: fc.constantFrom(1, 7, 30, 60),
  }),
  { minLength: QUESTIONS, maxLength: QUESTIONS },
);

/** What is done after each batch. */
const stepLists = fc.array(fc.constantFrom('fold', 'compact', 'compact', 'nothing'), {
  minLength: 1,
  maxLength: 9,
});

interface Question {
  readonly k: number;
  readonly lengthMinutes: number;
  readonly untilAgeMinutes: number | null;
  readonly stepMinutes: number;
}

test.each([
  { name: 'sketched', closedShape: SMALL_SHAPE, numRuns: 80 },
  { name: 'exact', closedShape: CLOSED_SHAPE, numRuns: 40 },
])(
  'answers from $name summaries agree with what was sent, whatever the window',
  async (setting) => {
    const { closedShape, numRuns } = setting;
    let sketchedAnswers = 0;
    await fc.assert(
      fc.asyncProperty(
        events,
        stepLists,
        questions,
        fc.integer({ min: 1, max: 3 }),
        async (sent, steps, asked, partitionCount) => {
          const pipeline = new Pipeline({ startMs: NOW_MS, closedShape, partitionCount });
          await sendInPieces(pipeline, sent, steps);
          for (const question of asked) {
            const isExact = await checkTop(pipeline, sent, question);
            if (!isExact) sketchedAnswers += 1;
            await checkItems(pipeline, sent, question);
            await checkDistinct(pipeline, sent, question);
            await checkSeries(pipeline, sent, question);
          }
        },
      ),
      { numRuns },
    );
    // Else the one of the two would test nothing but the other.
    if (closedShape === CLOSED_SHAPE) expect(sketchedAnswers).toBe(0);
    else expect(sketchedAnswers).toBeGreaterThan(numRuns / 4);
  },
);

async function sendInPieces(
  pipeline: Pipeline,
  sent: readonly EventInput[],
  steps: readonly string[],
): Promise<void> {
  const size = Math.ceil(sent.length / steps.length);
  for (let from = 0, round = 0; from < sent.length; from += size, round += 1) {
    await pipeline.send(sent.slice(from, from + size));
    if (steps[round] === 'fold') await pipeline.foldAll();
    if (steps[round] === 'compact') await pipeline.compactAll();
  }
  await pipeline.foldAll();
}

/** Answers whether the answer was exact. */
async function checkTop(
  pipeline: Pipeline,
  sent: readonly EventInput[],
  question: Question,
): Promise<boolean> {
  const { k } = question;
  const answer = await pipeline.queries.top({ stream: 'default', ...windowOf(question), k });
  const truth = countsWithin(sent, answer);
  const { items, maxUnlisted, exact } = answer;
  expect(answer.total).toBe(sumOf(truth.values()));
  expect(items.map(({ rank }) => rank)).toEqual(items.map((_, index) => index + 1));
  expect(new Set(items.map(({ item }) => item)).size).toBe(items.length);
  expect(items.length).toBeLessThanOrEqual(k);
  for (const { item, count, lower, upper } of items) {
    expectWithin(truth.get(item) ?? 0, { lower, upper });
    expect(count).toBe(upper);
  }
  const inOrder = items.toSorted((a, b) => b.count - a.count || compareUtf8(a.item, b.item));
  expect(items).toEqual(inOrder);
  const listed = new Set(items.map(({ item }) => item));
  for (const [item, count] of truth) {
    if (!listed.has(item)) expect(count).toBeLessThanOrEqual(maxUnlisted);
  }
  if (!exact) return false;
  const best = [...truth].toSorted(([a, x], [b, y]) => y - x || compareUtf8(a, b));
  expect(items.map(({ item, count, lower }) => [item, count, lower])).toEqual(
    best.slice(0, k).map(([item, count]) => [item, count, count]),
  );
  expect(maxUnlisted).toBe(best[k]?.[1] ?? 0);
  expect(answer.errorBound).toBe(0);
  return true;
}

async function checkItems(
  pipeline: Pipeline,
  sent: readonly EventInput[],
  question: Question,
): Promise<void> {
  const items = ['never seen', ...Array.from({ length: 15 }, (_, index) => `item-${index}`)];
  const answer = await pipeline.queries.items({ stream: 'default', ...windowOf(question), items });
  const truth = countsWithin(sent, answer);
  expect(answer.items.map(({ item }) => item)).toEqual(items);
  for (const { item, lower, upper, belowNoiseFloor } of answer.items) {
    expectWithin(truth.get(item) ?? 0, { lower, upper });
    if (answer.exact) expect(lower).toBe(upper);
    expect(belowNoiseFloor).toBe(lower === 0 && upper > 0);
  }
}

async function checkDistinct(
  pipeline: Pipeline,
  sent: readonly EventInput[],
  question: Question,
): Promise<void> {
  const answer = await pipeline.queries.distinct({ stream: 'default', ...windowOf(question) });
  const inside = within(sent, answer);
  const withActor = inside.filter(({ actor }) => actor !== null);
  const actorCount = new Set(withActor.map(({ actor }) => actor)).size;
  const { estimate, lower, upper, exact, standardError } = answer;
  expect(answer.total).toBe(sumOf(inside.map(({ count }) => count)));
  expect(answer.withoutActor).toBe(answer.total - sumOf(withActor.map(({ count }) => count)));
  expect(estimate).toBeLessThanOrEqual(answer.total - answer.withoutActor);
  expect(upper).toBeLessThanOrEqual(answer.total - answer.withoutActor);
  expect(lower).toBeLessThanOrEqual(estimate);
  expect(estimate).toBeLessThanOrEqual(upper);
  // So few actors, whose hashes fall into registers of their own, are counted without an error.
  expect(estimate).toBe(actorCount);
  expect(standardError).toBe(exact ? 0 : 1.04 / 128);
}

async function checkSeries(
  pipeline: Pipeline,
  sent: readonly EventInput[],
  question: Question,
): Promise<void> {
  const step = `${question.stepMinutes}m`;
  const asked = { stream: 'default', ...windowOf(question), step };
  const ofStream = await pipeline.queries.series(asked);
  for (const point of ofStream.points) {
    const inside = within(sent, point);
    expect(point).toMatchObject({ exact: true, count: sumOf(inside.map(({ count }) => count)) });
    const { distinct } = point;
    expect(distinct?.estimate).toBeLessThanOrEqual(inside.length);
  }
  const ofItem = await pipeline.queries.series({ ...asked, item: 'item-3' });
  expect(ofItem.points.map(({ fromMs }) => fromMs)).toEqual(
    ofStream.points.map(({ fromMs }) => fromMs),
  );
  for (const point of ofItem.points) {
    expectWithin(countsWithin(sent, point).get('item-3') ?? 0, point);
  }
}

function windowOf({ lengthMinutes, untilAgeMinutes }: Question) {
  const untilMs = untilAgeMinutes === null ? null : NOW_MS - untilAgeMinutes * MINUTE_MS;
  return { window: trailing(lengthMinutes * MINUTE_MS, untilMs) };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The events of the minutes that an answer says it covers; a minute that has begun is one. */
function within(sent: readonly EventInput[], { fromMs, toMs }: Span): EventInput[] {
  const endMs = Math.ceil(toMs / MINUTE_MS) * MINUTE_MS;
  return sent.filter(({ atMs }) => atMs !== null && atMs >= fromMs && atMs < endMs);
}

function countsWithin(sent: readonly EventInput[], span: Span): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { item, count } of within(sent, span)) {
    counts.set(item, (counts.get(item) ?? 0) + count);
  }
  return counts;
}

function expectWithin(truth: number, { lower, upper }: { lower: number; upper: number }): void {
  expect(lower).toBeLessThanOrEqual(truth);
  expect(truth).toBeLessThanOrEqual(upper);
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
