/**
 * Sends an import into a board such that every line counts once, however often and with whatever
 * cuts it is run. A SHA-256 runs along the lines; the key of a batch is taken from it before the
 * batch's first line, and batches have sizes that are powers of two: so a batch that was sent is
 * met again, also when the file has grown since, by going through the sizes until the server knows
 * the body under that key. No batch goes beyond a multiple of SCORE_BATCH lines, whatever was sent
 * early, so the sizes that are gone through are enough.
 */
import { createHash, type Hash } from 'node:crypto';
import type { BoardClient } from '../../client/board-client.ts';
import type { ScoresAnswer } from '../../client/board-types.ts';
import { TallyError } from '../../client/tally-error.ts';
import { excerpt } from '../terminal.ts';
import { type BadLine, EXCERPT_BYTES_MAX, InputError } from './parsed-line.ts';
import type { GoodScoreLine } from './score-line.ts';

/** A power of two, at most what the API takes. */
const SCORE_BATCH = 512;
const SEND_ATTEMPTS = 10;
/** Few: the first request of an import also finds out whether the server is there at all. */
const FIRST_CONTACT_ATTEMPTS = 3;
/**
 * What depends on the line and the board's settings alone: such a line is refused on every run, and
 * before the server looks at the key, so batches are the same without it.
 */
const LINE_FAULTS: ReadonlySet<string> = new Set(['invalid_body', 'invalid_score']);

/** The server refuses a line for what the board is, or holds; nothing of its batch was applied. */
export class RefusedLineError extends Error {
  override readonly name = 'RefusedLineError';
}

export interface ScoreTotals {
  applied: number;
  duplicate: number;
  outOfRange: number;
}

export class ScoreSender {
  readonly totals: ScoreTotals = { applied: 0, duplicate: 0, outOfRange: 0 };
  readonly #board: BoardClient;
  readonly #signal: AbortSignal;
  readonly #onBadLine: (line: BadLine) => void;
  #hash: Hash;
  #attempts = FIRST_CONTACT_ATTEMPTS;
  #waiting: GoodScoreLine[] = [];
  /** Lines since the last multiple of SCORE_BATCH. */
  #lineCount = 0;

  /** `label`: another one counts the same file once more. */
  constructor(
    board: BoardClient,
    label: string,
    { signal, onBadLine }: { signal: AbortSignal; onBadLine: (line: BadLine) => void },
  ) {
    this.#board = board;
    this.#signal = signal;
    this.#onBadLine = onBadLine;
    this.#hash = createHash('sha256').update(`tally board import 1\n${JSON.stringify(label)}\n`);
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** In the order of the file. Rejects with TallyError, RefusedLineError or InputError. */
  async add(line: GoodScoreLine): Promise<void> {
    this.#waiting.push(line);
    this.#lineCount += 1;
    if (this.#lineCount === SCORE_BATCH) await this.end();
  }

  /** Sends all there is: nothing comes any more. Rejects as `add` does. */
  async end(): Promise<void> {
    await this.#send(true);
    this.#lineCount = 0;
  }

  /**
   * Sends what there is; more may come. What stays may be the beginning of a batch that an earlier
   * run sent: that shows only when more of it is there. Rejects as `add` does.
   */
  sendUnfinished(): Promise<void> {
    return this.#send(false);
  }

  async #send(isFinished: boolean): Promise<void> {
    while (this.#waiting.length > 0) {
      const { size, refused } = await this.#sendFirst(this.#waiting);
      if (refused !== null) {
        this.#waiting = this.#waiting.filter((line) => line !== refused);
        continue;
      }
      if (size === 0) {
        if (!isFinished) return;
        throw new InputError(
          'the board knows another file that begins like this one; ' +
            'import it under a --label of its own',
        );
      }
      for (const { increment } of this.#waiting.slice(0, size)) {
        this.#hash.update(`${JSON.stringify(increment)}\n`);
      }
      this.#waiting = this.#waiting.slice(size);
    }
  }

  /** How many of the first ones were sent; none: no such batch is known, or one is left out. */
  async #sendFirst(
    lines: readonly GoodScoreLine[],
  ): Promise<{ readonly size: number; readonly refused: GoodScoreLine | null }> {
    const idempotencyKey = this.#hash.copy().digest('hex');
    for (let size = largestPowerOfTwo(lines.length); size >= 1; size /= 2) {
      try {
        const increments = lines.slice(0, size).map(({ increment }) => increment);
        const options = { idempotencyKey, attempts: this.#attempts, signal: this.#signal };
        this.#count((await this.#board.post(increments, options)).results);
        this.#attempts = SEND_ATTEMPTS;
        return { size, refused: null };
      } catch (error) {
        if (!(error instanceof TallyError)) throw error;
        if (error.code === 'key_reused') continue;
        return { size: 0, refused: this.#leaveOut(lines, error) };
      }
    }
    return { size: 0, refused: null };
  }

  #leaveOut(lines: readonly GoodScoreLine[], error: TallyError): GoodScoreLine {
    const refused = error.index === null ? undefined : lines[error.index];
    if (refused === undefined) throw error;
    const { line, increment } = refused;
    if (!LINE_FAULTS.has(error.code)) {
      const message = `line ${line}: ${error.detail} (${error.code})`;
      throw new RefusedLineError(message, { cause: error });
    }
    const shown = excerpt(Buffer.from(JSON.stringify(increment)), EXCERPT_BYTES_MAX);
    this.#onBadLine({ line, problem: error.detail, excerpt: shown });
    return refused;
  }

  #count(results: ScoresAnswer['results']): void {
    for (const { duplicate, code } of results) {
      if (duplicate === true) this.totals.duplicate += 1;
      else if (code === 'out_of_range') this.totals.outOfRange += 1;
      else this.totals.applied += 1;
    }
  }
}

function largestPowerOfTwo(count: number): number {
  return 2 ** Math.floor(Math.log2(count));
}
