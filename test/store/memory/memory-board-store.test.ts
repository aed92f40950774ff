import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/lib/clock.ts';
import { MemoryBoardStore } from '../../../src/store/memory/memory-board-store.ts';
import { HOUR_MS } from '../../../src/streams/buckets.ts';
import {
  ALL_TIME,
  type BoardLimits,
  entryOf,
  openPartOn,
  requestOf,
  ROOMY_BOARD,
} from '../../contract/board-harness.ts';
import { describeBoardStore } from '../../contract/board-store.contract.ts';
import { newTag } from '../../contract/harness.ts';

const START_MS = Date.UTC(2026, 11, 10, 12, 34, 56);

const harness = {
  clock: new ManualClock(START_MS),
  async open(limits?: Partial<BoardLimits>) {
    const clock = new ManualClock(START_MS);
    this.clock = clock;
    return {
      store: new MemoryBoardStore({ ...ROOMY_BOARD, ...limits, clock, tags: newTag }),
      nowMs: async () => clock.nowMs(),
      passMs: (ms: number) => clock.advance(ms),
    };
  },
};

describeBoardStore(harness);

test('a season is the current one from its start on, and up to its end', async () => {
  const part = await openPartOn(harness);
  const { startsAtMs, endsAtMs } = part.season;
  const kinds: string[] = [];
  for (const nowMs of [startsAtMs - 1, startsAtMs, endsAtMs! - 1, endsAtMs!]) {
    harness.clock.jumpTo(nowMs);
    kinds.push((await part.write([requestOf([entryOf('a', 1)])])).kind);
  }
  expect(kinds).toEqual(['other_season', 'written', 'written', 'other_season']);
  expect(await part.standing()).toEqual(['a 2']);
});

test('a season is kept up to the moment at which it expires', async () => {
  const part = await openPartOn(harness);
  await part.put(['a', 1]);
  harness.clock.jumpTo(part.season.expiresAtMs! - 1);
  expect(await part.standing(part.season)).toEqual(['a 1']);
  harness.clock.jumpTo(part.season.expiresAtMs!);
  expect(await part.standing(part.season)).toEqual([]);
});

test.each(['id', 'key', 'call'] as const)(
  'what is remembered of a %s lasts its time',
  async (of) => {
    const part = await openPartOn(harness, {}, { [`${of}TtlMs`]: HOUR_MS });
    const callId = newTag();
    const entry = entryOf('a', 1, { id: of === 'id' ? 'i' : null });
    const key = of === 'key' ? { key: 'k', fingerprint: 'f'.repeat(22), size: 1 } : null;
    const keys: (number | null)[] = [];
    for (const ms of [0, HOUR_MS - 1, 1]) {
      await harness.clock.advance(ms);
      const outcome = await part.store.write(part.at, {
        callId: of === 'call' ? callId : newTag(),
        seasons: [ALL_TIME],
        requests: [requestOf([entry], { key })],
      });
      expect(outcome).toMatchObject({ kind: 'written' });
      keys.push((await part.locate('a'))!.key);
    }
    expect(keys).toEqual([1, 1, 2]);
  },
);

test('who was first stays so when the clock is set back, and among calls of one moment', async () => {
  const part = await openPartOn(harness);
  await part.put(['c', 1]);
  await part.put(['b', 1]);
  harness.clock.jumpTo(START_MS - HOUR_MS / 2);
  await part.put(['a', 1]);
  expect(await part.standing()).toEqual(['c 1', 'b 1', 'a 1']);
});
