import type { SendAnswer, TallyEvent } from '../../src/client/types.ts';
import { CountOracle } from './oracle.ts';

/** A request of events, kept as it was sent: a retry sends the same bytes with the same key. */
export interface SentBatch {
  readonly key: string;
  readonly events: readonly TallyEvent[];
  readonly body: string;
}

export function batchOf(key: string, events: readonly TallyEvent[]): SentBatch {
  return { key, events, body: JSON.stringify(events) };
}

/** The exact counts of everything that a server has acknowledged. */
export class Ledger {
  readonly counts = new CountOracle();
  readonly #actors = new Set<string>();
  #batchCount = 0;
  #duplicateCount = 0;

  get distinctActors(): number {
    return this.#actors.size;
  }

  /** Batches that were acknowledged. */
  get batchCount(): number {
    return this.#batchCount;
  }

  /** Those among them whose first answer was lost after they had been applied. */
  get duplicateCount(): number {
    return this.#duplicateCount;
  }

  /** `answer`: the JSON of a 202. Throws unless the whole batch was applied, now or earlier. */
  acknowledge(batch: SentBatch, answer: unknown): void {
    const { accepted, duplicate, rejected } = answer as SendAnswer;
    const size = batch.events.length;
    const isWhole =
      (accepted === size && duplicate === 0) || (accepted === 0 && duplicate === size);
    if (!isWhole || rejected !== 0) {
      throw new Error(`${batch.key}: ${size} events are answered by ${JSON.stringify(answer)}`);
    }
    this.#batchCount += 1;
    if (duplicate > 0) {
      this.#duplicateCount += 1;
    }
    for (const { item, actor, count = 1 } of batch.events) {
      this.counts.add(item, count);
      if (actor !== undefined) {
        this.#actors.add(actor);
      }
    }
  }
}
