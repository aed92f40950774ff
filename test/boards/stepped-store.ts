import type { BoardStore } from '../../src/boards/store-port.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';

/** Members that move at once: so few that moves of small boards take many steps. */
const CHUNK_MEMBERS = 4;

/**
 * A store whose moves can be stopped after any number of steps: before a step, or behind it with
 * its answer lost.
 */
export class SteppedStore implements BoardStore {
  stepsLeft = Number.POSITIVE_INFINITY;
  isAnswerLost = false;
  readonly #inner: BoardStore;

  constructor(inner: BoardStore) {
    this.#inner = inner;
  }

  get primaryCount(): number {
    return this.#inner.primaryCount;
  }

  readonly newParts: BoardStore['newParts'] = (...args) => this.#inner.newParts(...args);
  readonly dropPart: BoardStore['dropPart'] = (...args) => this.#inner.dropPart(...args);
  readonly write: BoardStore['write'] = (...args) => this.#inner.write(...args);
  readonly remembered: BoardStore['remembered'] = (...args) => this.#inner.remembered(...args);
  readonly edit: BoardStore['edit'] = (...args) => this.#inner.edit(...args);
  readonly read: BoardStore['read'] = (...args) => this.#inner.read(...args);
  readonly scan: BoardStore['scan'] = (...args) => this.#inner.scan(...args);
  readonly openPart: BoardStore['openPart'] = (...args) =>
    this.#step(() => this.#inner.openPart(...args));
  readonly raiseEpoch: BoardStore['raiseEpoch'] = (...args) =>
    this.#step(() => this.#inner.raiseEpoch(...args));
  readonly prepareChunk: BoardStore['prepareChunk'] = (...args) =>
    this.#step(() => this.#prepareFew(...args));
  readonly admitChunk: BoardStore['admitChunk'] = (...args) =>
    this.#step(() => this.#inner.admitChunk(...args));
  readonly releaseChunk: BoardStore['releaseChunk'] = (...args) =>
    this.#step(() => this.#inner.releaseChunk(...args));

  /** The first few of those that are still there. */
  async #prepareFew(...[at, { seasons, members }]: Parameters<BoardStore['prepareChunk']>) {
    for (let start = 0; ; start += CHUNK_MEMBERS) {
      const few = members.slice(start, start + CHUNK_MEMBERS);
      const outcome = await this.#inner.prepareChunk(at, { seasons, members: few });
      const isNone = outcome.kind === 'prepared' && outcome.chunk === null;
      if (!isNone || start + CHUNK_MEMBERS >= members.length) return outcome;
    }
  }

  async #step<T>(run: () => Promise<T>): Promise<T> {
    const left = this.stepsLeft;
    this.stepsLeft -= 1;
    if (left <= 0) throw new StoreUnavailableError('no more steps');
    const answer = await run();
    if (left === 1 && this.isAnswerLost) throw new OutcomeUnknownError('the answer is lost');
    return answer;
  }
}
