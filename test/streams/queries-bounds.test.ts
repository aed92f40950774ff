import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { CLOSED_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import { MINUTE_MS } from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';
import type { TopAnswer } from '../../src/streams/answers.ts';
import type { StreamQueries } from '../../src/streams/queries.ts';
import type { StreamQuestion } from '../../src/streams/questions/question.ts';
import { EventOracle, ranked } from '../support/event-oracle.ts';
import { eventOf, Pipeline } from '../support/pipeline.ts';
import { stream, trailing } from '../support/questions.ts';

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

/** What the stream keeps of the dimension; other values count under `other`. */
const COUNTRIES = ['IN', 'BR'];

const events: fc.Arbitrary<EventInput[]> = fc.array(
  fc
    .record({
      item: fc.nat(14).map((index) => `item-${index}`),
      actor: fc.option(fc.nat(25).map((index) => `actor-${index}`)),
      count: fc.constantFrom(1, 1, 1, 2, 5, 100),
      dims: fc.option(fc.constantFrom('IN', 'BR', 'CA').map((country) => ({ country }))),
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
    country: fc.option(fc.constantFrom('IN', 'BR', 'other')),
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
  readonly country: string | null;
}

type Sample = [EventInput[], string[], Question[], number, boolean];

/** Events and a question whose answer is from a sketch for sure, where summaries are small. */
const SKETCHED_FOR_SURE: Sample = [
  Array.from({ length: 60 }, (_, index) =>
    eventOf({
      item: `item-${index % 15}`,
      actor: `actor-${index % 26}`,
      atMs: NOW_MS - (100 + (index % 3)) * MINUTE_MS,
    }),
  ),
  ['compact'],
  Array.from({ length: QUESTIONS }, (_, index) => ({
    k: 1 + index,
    lengthMinutes: REACH_MINUTES,
    untilAgeMinutes: null,
    stepMinutes: 30,
    country: null,
  })),
  1,
  false,
];

/** Of events that no list shows. */
const HIDDEN = /^item-1/;

test.each([
  { name: 'sketched', closedShape: SMALL_SHAPE, numRuns: 60 },
  { name: 'exact', closedShape: CLOSED_SHAPE, numRuns: 20 },
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
        fc.boolean(),
        async (sent, steps, asked, partitionCount, isModerated) => {
          const pipeline = new Pipeline({ startMs: NOW_MS, closedShape, partitionCount });
          const dimensions = [{ name: 'country', values: COUNTRIES }];
          await pipeline.registry.changeSettings(stream, { dimensions });
          if (isModerated) {
            const changes = [{ action: 'block', prefix: 'item-1' } as const];
            await pipeline.registry.changeModeration(stream, changes, { by: 'ann' });
          }
          await sendInPieces(pipeline, sent, steps);
          for (const question of asked) {
            const check = new Check(pipeline, new EventOracle(sent), question, isModerated);
            if (!(await check.top())) sketchedAnswers += 1;
            await check.topByActors();
            await check.items();
            await check.distinct();
            await check.series();
          }
        },
      ),
      { numRuns, examples: [SKETCHED_FOR_SURE] },
    );
    // Else the one of the two would test nothing but the other.
    if (closedShape === CLOSED_SHAPE) expect(sketchedAnswers).toBe(0);
    else expect(sketchedAnswers).toBeGreaterThanOrEqual(QUESTIONS);
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

/** Holds what is answered to a question against what was sent. */
class Check {
  readonly #queries: StreamQueries;
  readonly #sent: EventOracle;
  readonly #question: Question;
  readonly #asked: StreamQuestion;
  readonly #isModerated: boolean;

  constructor(pipeline: Pipeline, sent: EventOracle, question: Question, isModerated: boolean) {
    const { lengthMinutes, untilAgeMinutes, country } = question;
    const untilMs = untilAgeMinutes === null ? null : NOW_MS - untilAgeMinutes * MINUTE_MS;
    this.#queries = pipeline.queries;
    this.#question = question;
    this.#isModerated = isModerated;
    this.#sent =
      country === null
        ? sent
        : sent.where(({ dims }) => {
            const named = dims?.['country'];
            if (named === undefined) return false;
            return country === (COUNTRIES.includes(named) ? named : 'other');
          });
    this.#asked = {
      stream,
      window: trailing(lengthMinutes * MINUTE_MS, untilMs),
      where: country === null ? null : { dimension: 'country', value: country },
    };
  }

  /** Answers whether the answer was exact. */
  async top(): Promise<boolean> {
    const { k } = this.#question;
    const answer = await this.#queries.top({ ...this.#asked, k });
    const inside = this.#sent.within(answer);
    const truth = this.#shown(inside.counts);
    expect(answer.total).toBe(inside.total);
    for (const { count, upper } of answer.items) expect(count).toBe(upper);
    expectRanking(answer, truth, k);
    if (!answer.exact) return false;
    expect(answer.errorBound).toBe(0);
    return true;
  }

  async topByActors(): Promise<void> {
    const { k } = this.#question;
    const answer = await this.#queries.top({ ...this.#asked, k, by: 'actors' });
    const inside = this.#sent.within(answer);
    expect(answer.total).toBe(inside.total);
    for (const { item, upper, events = 0 } of answer.items) {
      expect(events).toBeGreaterThanOrEqual(inside.countOf(item));
      expect(upper).toBeLessThanOrEqual(events);
    }
    // So few actors an item are never estimated: the bounds hold always.
    expectRanking(answer, this.#shown(inside.actorCounts), k);
    const item = answer.items[0]?.item ?? 'item-2';
    const one = await this.#queries.itemDistinct({ ...this.#asked, item });
    expectWithin(inside.actorCounts.get(item) ?? 0, one);
    expect(one.upper).toBeLessThanOrEqual(one.events.upper);
  }

  async items(): Promise<void> {
    const items = ['never seen', ...Array.from({ length: 15 }, (_, index) => `item-${index}`)];
    const answer = await this.#queries.items({ ...this.#asked, items });
    const truth = this.#sent.within(answer).counts;
    expect(answer.items.map(({ item }) => item)).toEqual(items);
    for (const { item, lower, upper, belowNoiseFloor, blocked } of answer.items) {
      expect(blocked).toBe(this.#isModerated && HIDDEN.test(item));
      expectWithin(blocked ? 0 : (truth.get(item) ?? 0), { lower, upper });
      if (answer.exact) expect(lower).toBe(upper);
      expect(belowNoiseFloor).toBe(lower === 0 && upper > 0);
    }
  }

  async distinct(): Promise<void> {
    const answer = await this.#queries.distinct(this.#asked);
    const inside = this.#sent.within(answer);
    const { estimate, lower, upper, exact, standardError, total, withoutActor } = answer;
    expect(total).toBe(inside.total);
    expect(withoutActor).toBe(inside.withoutActor);
    expect(upper).toBeLessThanOrEqual(total - withoutActor);
    expect(lower).toBeLessThanOrEqual(estimate);
    expect(estimate).toBeLessThanOrEqual(upper);
    // So few actors, whose hashes fall into registers of their own, are counted without an error.
    expect(estimate).toBe(inside.actors.size);
    expect(standardError).toBe(exact ? 0 : 1.04 / 128);
  }

  async series(): Promise<void> {
    const asked = { ...this.#asked, step: `${this.#question.stepMinutes}m` };
    const { points } = await this.#queries.series(asked);
    const truth = points.map((point) => this.#sent.within(point));
    // Of many points in one go: an expectation each would take longer than all the rest.
    expect(points.map(({ count, exact }) => [count, exact])).toEqual(
      truth.map(({ total }) => [total, true]),
    );
    expect(points.every(({ distinct }, at) => distinct!.estimate <= truth[at]!.events.length)).toBe(
      true,
    );
    const ofItem = await this.#queries.series({ ...asked, item: 'item-3' });
    expect(ofItem.points.map(({ fromMs }) => fromMs)).toEqual(points.map(({ fromMs }) => fromMs));
    expect(
      ofItem.points.every(({ lower, upper }, at) => {
        const count = truth[at]!.countOf('item-3');
        return lower <= count && count <= upper;
      }),
    ).toBe(true);
  }

  #shown(measures: ReadonlyMap<string, number>): Map<string, number> {
    return new Map([...measures].filter(([item]) => !(this.#isModerated && HIDDEN.test(item))));
  }
}

/** Everything that any ranking of k rows promises. */
function expectRanking(answer: TopAnswer, truth: ReadonlyMap<string, number>, k: number): void {
  const { items, maxUnlisted, exact, certainRanks } = answer;
  expect(items.map(({ rank }) => rank)).toEqual(items.map((_, index) => index + 1));
  expect(new Set(items.map(({ item }) => item)).size).toBe(items.length);
  expect(items.length).toBeLessThanOrEqual(k);
  for (const { item, lower, upper } of items) expectWithin(truth.get(item) ?? 0, { lower, upper });
  expect(items).toEqual(items.toSorted((a, b) => b.count - a.count || compareUtf8(a.item, b.item)));
  const shown = new Set(items.map(({ item }) => item));
  for (const [item, measure] of truth) {
    if (!shown.has(item)) expect(measure).toBeLessThanOrEqual(maxUnlisted);
  }
  const certain = items.slice(0, certainRanks).map(({ item }) => truth.get(item) ?? 0);
  const others = [...truth].filter(
    ([item]) => !items.slice(0, certainRanks).some((row) => row.item === item),
  );
  expect(Math.max(0, ...others.map(([, measure]) => measure))).toBeLessThanOrEqual(
    Math.min(Number.POSITIVE_INFINITY, ...certain),
  );
  if (!exact) return;
  const best = ranked(truth);
  expect(items.map(({ item, count, lower }) => [item, count, lower])).toEqual(
    best.slice(0, k).map(([item, measure]) => [item, measure, measure]),
  );
  expect(maxUnlisted).toBe(best[k]?.[1] ?? 0);
  expect(certainRanks).toBe(items.length);
}

function expectWithin(truth: number, { lower, upper }: { lower: number; upper: number }): void {
  expect(lower).toBeLessThanOrEqual(truth);
  expect(truth).toBeLessThanOrEqual(upper);
}
