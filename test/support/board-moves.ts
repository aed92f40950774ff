/**
 * How far the moves of boards are, as their parts say of themselves in Redis: so that a test can
 * kill whoever moves them in the middle of it.
 */
import { connectRedis, type RedisConnection } from '../../src/store/redis/connection.ts';

export async function watchBoardMoves(redisUrl: string): Promise<BoardMoves> {
  return new BoardMoves(await connectRedis(redisUrl));
}

export class BoardMoves {
  readonly #connection: RedisConnection;
  /** Of each part and epoch, the chunks that were seen to have left it. */
  readonly #released = new Map<string, number>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Parts begin to count anew in each epoch: what nobody looked at before that is not counted. */
  async chunksMoved(): Promise<number> {
    const { reads } = this.#connection;
    await Promise.all(
      this.#connection.primaries().map(({ firstSlot }) =>
        reads.send(firstSlot, async (node) => {
          for (const state of await node.keys('{b.*}:state')) {
            const [epoch, released] = await node.hmget(state, 'epoch', 'released');
            this.#released.set(`${state} ${epoch}`, Number(released ?? 0));
          }
        }),
      ),
    );
    return [...this.#released.values()].reduce((sum, count) => sum + count, 0);
  }

  close(): void {
    this.#connection.close();
  }
}
