/**
 * Sends an import into a board such that every line counts once, however often and with whatever
 * cuts it is run. A SHA-256 runs along the lines; the key of a batch is taken from it before the
 * batch's first line, and batches have sizes that are powers of two: so a batch that was sent is
 * met again, also when the file has grown since, by going through the sizes until the server knows
 * the body under that key.
 */
import { createHash, type Hash } from 'node:crypto';
import type { BoardClient } from '../../client/board-client.ts';
import type { ScoreIncrement } from '../../client/board-types.ts';
import { TallyError } from '../../client/tally-error.ts';
import { InputError } from './parsed-line.ts';

/** A power of two, at most what the API takes. */
export const SCORE_BATCH = 512;
const SEND_ATTEMPTS = 10;

export interface ScoreTotals {
  applied: number;
  duplicate: number;
  outOfRange: number;
}

export class ScoreSender {
  readonly totals: ScoreTotals = { applied: 0, duplicate: 0, outOfRange: 0 };
  readonly #board: BoardClient;
  readonly #signal: AbortSignal;
  #hash: Hash;

  /** `label`: another one counts the same file once more. */
  constructor(board: BoardClient, label: string, signal: AbortSignal) {
    this.#board = board;
    this.#signal = signal;
    this.#hash = createHash('sha256').update(`tally board import 1\n${JSON.stringify(label)}\n`);
  }

  /** In the order of the file, one call after the other; all but the last of SCORE_BATCH. */
  async send(increments: readonly ScoreIncrement[]): Promise<void> {
    let left = increments;
    while (left.length > 0) {
      const size = await this.#sendFirst(left);
      for (const increment of left.slice(0, size)) {
        this.#hash.update(`${JSON.stringify(increment)}\n`);
      }
      left = left.slice(size);
    }
  }

  /** How many of the first ones were sent. */
  async #sendFirst(increments: readonly ScoreIncrement[]): Promise<number> {
    const idempotencyKey = this.#hash.copy().digest('hex');
    for (let size = largestPowerOfTwo(increments.length); size >= 1; size /= 2) {
      try {
        const options = { idempotencyKey, attempts: SEND_ATTEMPTS, signal: this.#signal };
        const { results } = await this.#board.post(increments.slice(0, size), options);
        for (const { duplicate, code } of results) {
          if (duplicate === true) this.totals.duplicate += 1;
          else if (code === 'out_of_range') this.totals.outOfRange += 1;
          else this.totals.applied += 1;
        }
        return size;
      } catch (error) {
        if (!(error instanceof TallyError) || error.code !== 'key_reused') throw error;
      }
    }
    throw new InputError(
      'the board knows another file that begins like this one; import it under a --label of its own',
    );
  }
}

function largestPowerOfTwo(count: number): number {
  return 2 ** Math.floor(Math.log2(count));
}
