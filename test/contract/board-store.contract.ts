import type { BoardStoreHarness } from './board-harness.ts';
import { describeMembers } from './board-members.contract.ts';
import { describeMoves } from './board-moves.contract.ts';
import { describeParts } from './board-parts.contract.ts';
import { describeReads } from './board-reads.contract.ts';
import { describeRetries } from './board-retries.contract.ts';
import { describeScores } from './board-scores.contract.ts';

/** What every implementation of the port of boards must do; `harness` is ready in beforeAll. */
export function describeBoardStore(harness: BoardStoreHarness): void {
  describeParts(harness);
  describeScores(harness);
  describeRetries(harness);
  describeMembers(harness);
  describeReads(harness);
  describeMoves(harness);
}
