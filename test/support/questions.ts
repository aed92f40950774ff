import { CLOSED_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import type { WindowRequest } from '../../src/streams/window.ts';

/** The stream that a pipeline's events go to unless they say another one. */
export const stream = 'default';

/** So small that a few hundred events are sketched, and few items listed. */
export const NARROW_SHAPE: SummaryShape = {
  ...CLOSED_SHAPE,
  width: 64,
  depth: 2,
  candidates: 8,
  exactItems: 10,
};

export function trailing(lengthMs: number, untilMs: number | null = null): WindowRequest {
  return { kind: 'trailing', lengthMs, untilMs };
}
