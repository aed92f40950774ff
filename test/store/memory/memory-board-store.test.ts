import { ManualClock } from '../../../src/lib/clock.ts';
import { MemoryBoardStore } from '../../../src/store/memory/memory-board-store.ts';
import { ROOMY_BOARD } from '../../contract/board-harness.ts';
import { describeBoardStore } from '../../contract/board-store.contract.ts';
import { newTag } from '../../contract/harness.ts';

const START_MS = Date.UTC(2026, 11, 10, 12, 34, 56);

describeBoardStore({
  open: async (limits) => {
    const clock = new ManualClock(START_MS);
    return {
      store: new MemoryBoardStore({ ...ROOMY_BOARD, ...limits, clock, tags: newTag }),
      nowMs: async () => clock.nowMs(),
      passMs: (ms) => clock.advance(ms),
    };
  },
});
