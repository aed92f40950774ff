/**
 * The questions that streams answer. Each is planned first and then answered from one moment of
 * every partition; several questions about one stream are answered from the same moment.
 */
import type { Clock } from '../lib/clock.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import type {
  DistinctAnswer,
  DistinctByAnswer,
  ItemDistinctAnswer,
  ItemsAnswer,
  ModerationQueueAnswer,
  SeriesAnswer,
  SetAnswer,
  SpanFacts,
  StreamList,
  TopAnswer,
  TrendingAnswer,
} from './answers.ts';
import { planDistinct } from './questions/distinct.ts';
import { planDistinctBy } from './questions/distinct-by.ts';
import { planItemDistinct } from './questions/item-distinct.ts';
import { planItems } from './questions/items.ts';
import { planModerationQueue } from './questions/moderation-queue.ts';
import type { Asking, Plan } from './questions/plan.ts';
import {
  type DistinctByQuestion,
  type DistinctQuestion,
  type ItemDistinctQuestion,
  type ItemsQuestion,
  type ModerationQueueQuestion,
  type Question,
  type QuestionAnswer,
  QuestionError,
  QuestionRefusedError,
  type SeriesQuestion,
  type SetQuestion,
  type StreamQuestion,
  type TopQuestion,
  type TrendingQuestion,
} from './questions/question.ts';
import { answerTogether } from './questions/run.ts';
import { planSeries } from './questions/series.ts';
import { planSetOperation } from './questions/set-operation.ts';
import { planTop } from './questions/top.ts';
import { planTrending } from './questions/trending.ts';
import type { StreamReader } from './reader.ts';
import type { StreamRegistry } from './registry.ts';
import { readShareIndex } from './share-index.ts';
import { shareKeyOf, shareOf } from './shares.ts';
import { FIRST_GENERATION, type Generation, type StreamStore } from './store-port.ts';
import { WindowError } from './window.ts';

export interface QueryOptions {
  readonly store: StreamStore;
  readonly registry: StreamRegistry;
  readonly reader: StreamReader;
  readonly clock: Clock;
  readonly hash: KeyedHash;
}

/** Throws WindowError and QuestionError. */
type PlanOf<Asked, Answer> = (question: Asked, asking: Asking) => Plan<Answer>;

/**
 * Questions reject with WindowError or QuestionError when they cannot be answered as they were put,
 * before anything is read, and with StoreUnavailableError when nothing could be read; else what is
 * missing is named in `missing`.
 */
export class StreamQueries {
  readonly #options: QueryOptions;

  constructor(options: QueryOptions) {
    this.#options = options;
  }

  top(question: TopQuestion): Promise<TopAnswer> {
    return this.#answer(question, planTop);
  }

  trending(question: TrendingQuestion): Promise<TrendingAnswer> {
    return this.#answer(question, planTrending);
  }

  distinct(question: DistinctQuestion): Promise<DistinctAnswer> {
    return this.#answer(question, planDistinct);
  }

  distinctBy(question: DistinctByQuestion): Promise<DistinctByAnswer> {
    return this.#answer(question, planDistinctBy);
  }

  items(question: ItemsQuestion): Promise<ItemsAnswer> {
    return this.#answer(question, planItems);
  }

  itemDistinct(question: ItemDistinctQuestion): Promise<ItemDistinctAnswer> {
    return this.#answer(question, planItemDistinct);
  }

  series(question: SeriesQuestion): Promise<SeriesAnswer> {
    return this.#answer(question, planSeries);
  }

  moderationQueue(question: ModerationQueueQuestion): Promise<ModerationQueueAnswer> {
    return this.#answer(question, planModerationQueue);
  }

  /** Of several streams at one moment. */
  async distinctTogether(question: SetQuestion): Promise<SetAnswer> {
    const { clock, hash, registry } = this.#options;
    const known = await Promise.all(question.streams.map((stream) => registry.of(stream)));
    const nowMs = clock.nowMs();
    const askings = known.map((profile) => ({ nowMs, hash, profile }));
    const plan = planSetOperation(question, askings);
    const { explain = false } = question;
    const [answer] = await answerTogether(this.#options, [{ plan, explain }], nowMs);
    return answer!;
  }

  /**
   * The answers in the order of the questions; those about one stream are of one moment. Rejects
   * with QuestionRefusedError, before anything is read, when one of them cannot be answered.
   */
  async answerAll(questions: readonly Question[]): Promise<QuestionAnswer[]> {
    const { clock, hash, registry } = this.#options;
    const streams = [...new Set(questions.map(({ stream }) => stream))];
    const profileOf = new Map(
      await Promise.all(
        streams.map(async (stream) => [stream, await registry.of(stream)] as const),
      ),
    );
    const nowMs = clock.nowMs();
    const planned = questions.map((question, index) => {
      const asking = { nowMs, hash, profile: profileOf.get(question.stream)! };
      return { plan: planAt(index, question, asking), explain: question.explain ?? false };
    });
    const answers: QuestionAnswer[] = [];
    const answerAbout = async (stream: string): Promise<void> => {
      const asked = [...questions.entries()].filter(([, question]) => question.stream === stream);
      const own = asked.map(([index]) => planned[index]!);
      for (const [at, answer] of (await answerTogether(this.#options, own, nowMs)).entries()) {
        const [index, { type }] = asked[at]!;
        // The plan of a question makes the answer of its type.
        answers[index] = { type, answer } as QuestionAnswer;
      }
    };
    await Promise.all(streams.map(answerAbout));
    return answers;
  }

  /** Streams in the order of their names' bytes, after `after`. */
  async list(after: string | null, limit: number): Promise<StreamList> {
    const names = new Set<string>();
    const missing: string[] = [];
    let someAreLeft = false;
    for (const [partition, listed] of (await this.#listAll(after, limit)).entries()) {
      if (listed === null) missing.push(`partition ${partition}`);
      else for (const name of listed) names.add(name);
      someAreLeft ||= listed?.length === limit;
    }
    if (missing.length === this.#options.store.partitionCount) {
      throw new StoreUnavailableError('no partition could be read');
    }
    const streams = [...names].sort(compareUtf8).slice(0, limit);
    const next = someAreLeft || names.size > limit ? (streams.at(-1) ?? null) : null;
    return { streams: streams.map((stream) => ({ stream })), next, missing };
  }

  /**
   * A text that changes when the stream is deleted, and only then: a partition without any of the
   * stream forgets its generation in time, so one that still knows it decides.
   */
  async generation(stream: string): Promise<Generation> {
    const generations = await this.#onEach(async (partition) => {
      const share = shareKeyOf(stream, null);
      return (await readShareIndex(this.#options.store, partition, share, [])).generation;
    });
    const known = new Set(generations.filter((generation) => generation !== FIRST_GENERATION));
    return [...known].join('.') || FIRST_GENERATION;
  }

  async #answer<Asked extends StreamQuestion | DistinctByQuestion, Answer extends SpanFacts>(
    question: Asked,
    planOf: PlanOf<Asked, Answer>,
  ): Promise<Answer> {
    const { clock, hash, registry } = this.#options;
    const profile = await registry.of(question.stream);
    const nowMs = clock.nowMs();
    const plan = planOf(question, { nowMs, hash, profile });
    const { explain = false } = question;
    const [answer] = await answerTogether(this.#options, [{ plan, explain }], nowMs);
    return answer!;
  }

  /** The names listed by each partition; null for one that cannot be read. */
  #listAll(after: string | null, limit: number): Promise<(string[] | null)[]> {
    return this.#onEach(async (partition) => {
      try {
        const afterKey = after === null ? null : shareKeyOf(after, null);
        const listed = await this.#options.store.listShares(partition, afterKey, limit);
        return listed.map(({ share }) => shareOf(share).stream);
      } catch (error) {
        if (error instanceof StoreUnavailableError) return null;
        throw error;
      }
    });
  }

  #onEach<Result>(run: (partition: number) => Promise<Result>): Promise<Result[]> {
    const { partitionCount } = this.#options.store;
    return Promise.all(Array.from({ length: partitionCount }, (_, partition) => run(partition)));
  }
}

function planAt(index: number, question: Question, asking: Asking): Plan<SpanFacts> {
  try {
    return planOf(question, asking);
  } catch (error) {
    const isRefused = error instanceof WindowError || error instanceof QuestionError;
    throw isRefused ? new QuestionRefusedError(index, error) : error;
  }
}

function planOf(question: Question, asking: Asking): Plan<SpanFacts> {
  switch (question.type) {
    case 'top':
      return planTop(question, asking);
    case 'trending':
      return planTrending(question, asking);
    case 'distinct':
      return planDistinct(question, asking);
    case 'distinct_by':
      return planDistinctBy(question, asking);
    case 'items':
      return planItems(question, asking);
    case 'item_distinct':
      return planItemDistinct(question, asking);
    case 'series':
      return planSeries(question, asking);
  }
}
