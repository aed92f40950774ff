/** A fresh process that has never seen a summary answers questions and says what they took. */
import type { CountedItem } from './load-events.ts';
import { answerParent } from './servers-child.ts';
import { openRoomOnRedis, type RoomOnRedis } from './store-room.ts';

export type WindowsRequest =
  /** Connects, and no more. */
  | { readonly kind: 'open'; readonly url: string }
  /** Asks so many times, one after the other. */
  | {
      readonly kind: 'ask';
      readonly lengthMs: number;
      readonly untilMs: number;
      readonly k: number;
      readonly times: number;
    };

/** Of one question, on average. */
export interface WindowsReply {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly items: readonly (CountedItem & { readonly lower: number })[];
}

let room: RoomOnRedis | undefined;

answerParent(async (request: WindowsRequest): Promise<WindowsReply> => {
  if (request.kind === 'open') {
    room = await openRoomOnRedis(request.url);
    return { wallMs: 0, cpuMs: 0, fromMs: 0, toMs: 0, items: [] };
  }
  const { lengthMs, untilMs, k, times } = request;
  const window = { kind: 'trailing', lengthMs, untilMs } as const;
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  let answer = await room!.queries.top({ stream: 'default', window, k });
  for (let again = 1; again < times; again += 1) {
    answer = await room!.queries.top({ stream: 'default', window, k });
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const wallMs = performance.now() - startMs;
  const { fromMs, toMs, items } = answer;
  return { wallMs: wallMs / times, cpuMs: (user + system) / 1_000 / times, fromMs, toMs, items };
});
