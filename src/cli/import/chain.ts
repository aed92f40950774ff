/**
 * How an import counts every event once, however often and with whatever cuts it is run.
 *
 * The events of one stream form a chain, in the order of the input. A SHA-256 runs along the chain:
 * it starts with what makes the import this one (format, fields, `--now`, label, the stream and
 * its generation) and takes in every event. The Idempotency-Key of a batch is taken from that
 * hash at the batch's first event: same beginning of the input, same key. So
 *
 * - the same batch again has the same key and the same body, and is answered `duplicate`;
 * - a batch of another length at the same place (the input was cut off by Ctrl-C, has grown, or
 *   came through a pipe with pauses) has the same key and another body: refused as `key_reused`.
 *   Batches therefore have sizes that are powers of two and stay inside cells of CELL_EVENTS: the
 *   sender goes through the sizes until it meets the one that was sent before;
 * - after DELETE of the stream the generation differs, and with it every key;
 * - the shift of `--now` is in the body but not in the key: an import that was begun an hour
 *   ago is met again, and its shift found by trying (see sender.ts).
 *
 * Events without a time of their own say too little for "same beginning, same input": a
 * batch with one of them is keyed by its whole content instead of its first event.
 */
import { createHash, type Hash } from 'node:crypto';
import type { TallyEvent } from '../../client/types.ts';
import type { FieldChoice, ImportEvent } from './parsed-line.ts';
import type { Format } from './formats.ts';

/** A power of two. */
export const CELL_EVENTS = 1_024;

/** To be raised when the parsers or the form of the bodies change: old keys then mean nothing. */
const KEY_VERSION = 1;

/** What makes two runs the same import. */
export interface ImportIdentity {
  readonly format: Format;
  readonly fields: FieldChoice;
  readonly isShifted: boolean;
  readonly label: string;
}

/** A run of events that stays inside one cell of its chain. */
export interface Cell {
  readonly chain: StreamChain;
  /** True for the one event with which the chain begins. */
  readonly isFirst: boolean;
  /** The chain's hash before the first event; never updated, only copied. */
  readonly hash: Hash;
  readonly events: readonly ImportEvent[];
}

export class StreamChain {
  readonly stream: string;
  /** Before the first event that waits. */
  #hash: Hash;
  #waiting: ImportEvent[] = [];
  #eventCount = 0;

  constructor(stream: string, generation: string, identity: ImportIdentity) {
    const { format, fields, isShifted, label } = identity;
    const start = [KEY_VERSION, format, fields.item, fields.actor, isShifted, label];
    this.stream = stream;
    this.#hash = createHash('sha256').update(`${JSON.stringify([...start, stream, generation])}\n`);
  }

  /** Events that are waiting for their cell to fill. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** True if those that wait all have a time: sent early, they are met again in another run. */
  get areWaitingTimed(): boolean {
    return this.#waiting.every((event) => event.atMs !== undefined);
  }

  /** The cell that this event fills, if it does. The first event is a cell of its own. */
  add(event: ImportEvent): Cell | null {
    this.#waiting.push(event);
    this.#eventCount += 1;
    return (this.#eventCount - 1) % CELL_EVENTS === 0 ? this.takeWaiting() : null;
  }

  /** The cell as far as it is filled; its events go on waiting until they are dropped. */
  waitingCell(): Cell {
    const isFirst = this.#eventCount === 1;
    return { chain: this, isFirst, hash: this.#hash, events: this.#waiting };
  }

  /** The oldest so many of those that wait were sent. */
  drop(count: number): void {
    this.#hash = advance(this.#hash, this.#waiting.slice(0, count));
    this.#waiting = this.#waiting.slice(count);
  }

  takeWaiting(): Cell {
    const cell = this.waitingCell();
    this.drop(cell.events.length);
    return cell;
  }
}

/** What a key is taken from, besides all that comes before the batch. */
export type KeyBasis = 'first event' | 'content';

/** `before`: the chain's hash before the batch; it is left as it is. */
export function batchKey(before: Hash, events: readonly ImportEvent[], basis: KeyBasis): string {
  const hash = before.copy().update(`${basis}\n`);
  const covered = basis === 'content' ? events : events.slice(0, 1);
  for (const event of covered) hash.update(chainLine(event));
  return `tally-import-${hash.digest('hex')}`;
}

/** The chain's hash after these events. */
export function advance(before: Hash, events: readonly ImportEvent[]): Hash {
  const hash = before.copy();
  for (const event of events) hash.update(chainLine(event));
  return hash;
}

/** What is sent: the same events and shift make the same bytes. */
export function bodyEvents(
  stream: string,
  events: readonly ImportEvent[],
  shiftMs: number,
): TallyEvent[] {
  return events.map(({ item, actor, count, atMs, dims }) => ({
    item,
    stream,
    ...(actor === undefined ? {} : { actor }),
    ...(count === undefined ? {} : { count }),
    ...(atMs === undefined ? {} : { at: atMs + shiftMs }),
    ...(dims === undefined ? {} : { dims }),
  }));
}

/**
 * The sizes to try for a batch with so many events left in its cell: the largest that is not
 * above `sizeMax` first, then all others, since an earlier run may have had another maximum.
 */
export function batchSizes(remaining: number, sizeMax: number): number[] {
  const sizes: number[] = [];
  for (let size = largestPowerOfTwo(remaining); size >= 1; size /= 2) sizes.push(size);
  const preferred = Math.min(largestPowerOfTwo(remaining), largestPowerOfTwo(sizeMax));
  return [preferred, ...sizes.filter((size) => size !== preferred)];
}

/** The largest power of two that is not above `count` (at least 1). */
function largestPowerOfTwo(count: number): number {
  return 2 ** Math.floor(Math.log2(count));
}

function chainLine({ item, actor, count, atMs, dims }: ImportEvent): string {
  const fields = [item, actor, count, atMs];
  return `${JSON.stringify(dims === undefined ? fields : [...fields, dims])}\n`;
}
