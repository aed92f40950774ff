import { compareUtf8 } from '../../lib/utf8.ts';
import type { DistinctByAnswer } from '../answers.ts';
import {
  type Asking,
  checkDimension,
  factsOf,
  missingBefore,
  type Plan,
  planWindow,
  readOf,
  wholeView,
} from './plan.ts';
import type { DistinctByQuestion } from './question.ts';

export function planDistinctBy(
  question: DistinctByQuestion,
  asking: Asking,
): Plan<DistinctByAnswer> {
  const { stream, dimension } = question;
  const { profile } = asking;
  const whole = planWindow({ ...question, where: null }, asking);
  checkDimension(dimension, 'by', profile);
  const { fromMs } = whole.covered;
  const missing = missingBefore(profile.sinceMs(dimension), fromMs, dimension);
  const values = profile.valuesOf(dimension);
  const segments = values.map((value) => ({ ...whole, segment: { dimension, value } }));
  return {
    reads: [whole, ...segments].map((window) => readOf(window)),
    answer: (read) => {
      const view = wholeView(read.summaries[0], asking);
      const { total, withoutActor } = view;
      const parts = values
        .map((value, index) => {
          const part = wholeView(read.summaries[index + 1], asking);
          return { value, ...part.distinct(), total: part.total };
        })
        .filter((part) => part.total > 0)
        .sort((a, b) => b.estimate - a.estimate || compareUtf8(a.value, b.value));
      const facts = factsOf(whole, read);
      return {
        ...facts,
        stream,
        missing: [...missing, ...facts.missing],
        dimension,
        union: view.distinct(),
        parts,
        sumOfParts: parts.reduce((sum, { estimate }) => sum + estimate, 0),
        total,
        withoutActor,
        // What could not be read of the whole must not make it negative.
        without: Math.max(0, total - parts.reduce((sum, part) => sum + part.total, 0)),
      };
    },
  };
}
