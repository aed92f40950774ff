/** A fresh process that has never seen a summary answers one question and says how long it took. */
import { HOUR_MS } from '../../src/streams/buckets.ts';
import type { CountedItem } from './load-events.ts';
import { answerParent } from './servers-child.ts';
import { openRoomOnRedis, type RoomOnRedis } from './store-room.ts';

export interface ColdRequest {
  readonly url: string;
  readonly untilMs: number;
  readonly k: number;
}

export interface ColdReply {
  /** From the question to the answer; the connection was there before. */
  readonly coldMs: number;
  /** The same question a second time. */
  readonly warmMs: number;
  readonly cpuMs: number;
  readonly items: readonly (CountedItem & { readonly lower: number })[];
}

answerParent(async ({ url, untilMs, k }: ColdRequest): Promise<ColdReply> => {
  const room = await openRoomOnRedis(url);
  const cpuBefore = process.cpuUsage();
  const { items, tookMs: coldMs } = await ask(room, untilMs, k);
  const { user, system } = process.cpuUsage(cpuBefore);
  const { tookMs: warmMs } = await ask(room, untilMs, k);
  room.close();
  return { coldMs, warmMs, cpuMs: (user + system) / 1000, items };
});

async function ask({ queries }: RoomOnRedis, untilMs: number, k: number) {
  const startMs = performance.now();
  const window = { kind: 'trailing', lengthMs: HOUR_MS, untilMs } as const;
  const { items } = await queries.top({ stream: 'default', window, k });
  return { items, tookMs: performance.now() - startMs };
}
