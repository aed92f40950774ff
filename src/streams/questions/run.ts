/** Runs plans: all that they ask for is read at one moment, then each of them answers. */
import type { Clock } from '../../lib/clock.ts';
import type { SpanFacts } from '../answers.ts';
import type { ReadResult, StreamReader } from '../reader.ts';
import { explainRead } from './explain.ts';
import type { Plan, PlanRead } from './plan.ts';

export interface RunOptions {
  readonly reader: StreamReader;
  readonly clock: Clock;
}

export interface PlannedQuestion<Answer extends SpanFacts> {
  readonly plan: Plan<Answer>;
  readonly explain: boolean;
}

/**
 * The answers in the order of the questions, all of one moment. `readAtMs`: a time before the call.
 * Rejects with StoreUnavailableError when no partition could be read.
 */
export async function answerTogether<Answer extends SpanFacts>(
  options: RunOptions,
  questions: readonly PlannedQuestion<Answer>[],
  readAtMs: number,
): Promise<Answer[]> {
  let plans = questions.map(({ plan }) => plan);
  for (;;) {
    const result = await options.reader.read(
      plans.flatMap(({ reads }) => reads),
      readAtMs,
    );
    const reads = readsOf(plans, result);
    const others = plans.map((plan, index) => plan.replan?.(reads[index]!) ?? null);
    if (others.every((other) => other === null)) {
      return questions.map(({ explain }, index) => {
        const plan = plans[index]!;
        const read = reads[index]!;
        const startMs = options.clock.elapsedMs();
        const answer = plan.answer(read);
        if (!explain) return answer;
        const answerMs = options.clock.elapsedMs() - startMs;
        const spent = { ...result.times, answerMs };
        return { ...answer, explain: explainRead(plan, read, spent, readAtMs) };
      });
    }
    // Also what can be answered is read again, so that all answers are of the same moment.
    plans = plans.map((plan, index) => others[index] ?? plan);
  }
}

function readsOf(plans: readonly Plan<unknown>[], result: ReadResult): PlanRead[] {
  const { asOfMs, lagging, missing } = result;
  let from = 0;
  return plans.map(({ reads }) => {
    const summaries = result.summaries.slice(from, from + reads.length);
    from += reads.length;
    return { summaries, asOfMs, lagging, missing };
  });
}
