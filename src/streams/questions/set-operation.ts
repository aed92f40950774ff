import { overlapOf } from '../../sketches/actor-overlap.ts';
import type { DistinctOfView } from '../../sketches/summary-view.ts';
import type { SetAnswer } from '../answers.ts';
import { type Asking, type Plan, type PlanRead, planWindow, readOf, wholeView } from './plan.ts';
import type { SetQuestion } from './question.ts';

/** `askings`: one for each stream, in their order. Throws WindowError and QuestionError. */
export function planSetOperation(
  { streams, op, window, where = null }: SetQuestion,
  askings: readonly Asking[],
): Plan<SetAnswer> {
  const windows = streams.map((stream, index) =>
    planWindow({ stream, window, where }, askings[index]!),
  );
  const covers = windows.map(({ covered }) => covered);
  const fromMs = Math.min(...covers.map((covered) => covered.fromMs));
  const missing = windows.flatMap((each) => [
    ...each.missing.map((name) => `stream ${each.stream}: ${name}`),
    // Its retention is shorter than that of another one.
    ...(each.covered.fromMs > Math.max(fromMs, each.span.fromMs)
      ? [`stream ${each.stream} before ${new Date(each.covered.fromMs).toISOString()}`]
      : []),
  ]);
  return {
    reads: windows.map((each) => readOf(each)),
    answer: (read) => ({
      op,
      segment: where,
      fromMs,
      toMs: Math.max(...covers.map(({ toMs }) => toMs)),
      widened: covers.some(({ widened }) => widened),
      asOfMs: read.asOfMs,
      lagging: read.lagging,
      missing: [...missing, ...read.missing],
      streams: windows.map(({ stream, covered }, index) => {
        const view = wholeView(read.summaries[index], askings[0]!);
        const { total } = view;
        return { stream, fromMs: covered.fromMs, toMs: covered.toMs, ...view.distinct(), total };
      }),
      ...combined(op, read, askings[0]!),
    }),
  };
}

function combined(
  op: SetQuestion['op'],
  { summaries }: PlanRead,
  asking: Asking,
): Omit<DistinctOfView, 'estimate' | 'standardError'> &
  Pick<SetAnswer, 'estimate' | 'standardError' | 'conclusive'> {
  const all = wholeView(summaries.flat(), asking);
  if (op === 'union') return { ...all.distinct(), conclusive: true };
  const [first, second] = summaries.map((each) => wholeView(each, asking));
  return overlapOf(op, first!, second!, all);
}
