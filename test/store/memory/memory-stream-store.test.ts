import { ManualClock } from '../../../src/lib/clock.ts';
import { MemoryStreamStore } from '../../../src/store/memory/memory-stream-store.ts';
import { newTag, ROOMY } from '../../contract/harness.ts';
import { describeStreamStore } from '../../contract/stream-store.contract.ts';

const START_MS = Date.UTC(2026, 10, 30, 12, 34, 56);

describeStreamStore({
  open: async (limits) => {
    const clock = new ManualClock(START_MS);
    const options = { ...ROOMY, ...limits, partitionCount: 2, clock, tags: newTag };
    return {
      store: new MemoryStreamStore(options),
      partition: 0,
      nowMs: async () => clock.nowMs(),
      passMs: (ms) => clock.advance(ms),
    };
  },
});
