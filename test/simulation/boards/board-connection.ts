/**
 * One process's way to the stores of boards. Every call waits for its turn, so that those of
 * different processes interleave in any order; it may get lost, its answer may, it may be resent,
 * and the process may end. A process that waits long wakes up with what it knew.
 */
import type { BoardStore, PartAt, Refusal } from '../../../src/boards/store-port.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import type { DocumentStore } from '../../../src/lib/document-store.ts';
import type { Prng } from '../../../src/lib/prng.ts';
import type { Tag, TagSource } from '../../../src/lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import type { MemoryBoardStore } from '../../../src/store/memory/memory-board-store.ts';
import type { MemoryDocumentStore } from '../../../src/store/memory/memory-document-store.ts';
import type { FaultRates } from '../faulty-store.ts';
import type { Turns } from '../turns.ts';
import type { BoardCanary, ReplicatedBoards, ReplicatedSlot } from './replicated-boards.ts';

export interface BoardConnectionOptions {
  readonly boards: ReplicatedBoards;
  readonly turns: Turns;
  readonly prng: Prng;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly rates: () => FaultRates;
  readonly canary: BoardCanary;
}

/** A step that found its work done already, by another process or another call. */
type FoundDone = (result: unknown) => boolean;

export class BoardConnection {
  readonly crashed: Promise<'crashed'>;
  isAlive = true;
  lostAnswers = 0;
  #announceCrash: () => void = () => {};
  readonly #options: BoardConnectionOptions;

  constructor(options: BoardConnectionOptions) {
    this.#options = options;
    this.crashed = new Promise((resolve) => {
      this.#announceCrash = () => resolve('crashed');
    });
  }

  crash(): void {
    this.isAlive = false;
    this.#announceCrash();
  }

  documents(): DocumentStore {
    const slot = this.#options.boards.documents;
    type Run<T> = (store: MemoryDocumentStore) => Promise<T>;
    const read = <T>(run: Run<T>): Promise<T> => this.#call(slot, run, false);
    return {
      readRevision: () => read((store) => store.readRevision()),
      readTags: () => read((store) => store.readTags()),
      readDocuments: (names) => read((store) => store.readDocuments(names)),
      readDurableDocuments: (names) =>
        this.#call(slot, (store) => store.readDocuments(names), true),
      putDocuments: (puts, max) => this.#call(slot, (store) => store.putDocuments(puts, max), true),
    };
  }

  store(): BoardStore {
    const { tags } = this.#options;
    type Run<T> = (store: MemoryBoardStore) => Promise<T>;
    const on = (part: Tag): ReplicatedSlot<MemoryBoardStore> => this.#options.boards.part(part);
    const write = <T>(part: Tag, run: Run<T>): Promise<T> => this.#call(on(part), run, true);
    const checked = <T extends { kind: string }>(
      at: PartAt,
      isWrite: boolean,
      run: (store: MemoryBoardStore, at: PartAt) => Promise<T | Refusal>,
    ): Promise<T | Refusal> =>
      this.#call(on(at.part), (store) => this.#asNow(store, at, run), isWrite);
    return {
      primaryCount: 3,
      newParts: (count) => Array.from({ length: count }, () => tags()),
      openPart: (part, epoch) => write(part, (store) => store.openPart(part, epoch)),
      raiseEpoch: (part, from, to) => write(part, (store) => store.raiseEpoch(part, from, to)),
      dropPart: (part) => write(part, (store) => store.dropPart(part)),
      write: (at, given) => checked(at, true, (store, now) => store.write(now, given)),
      remembered: (part, epoch, ask) => write(part, (store) => store.remembered(part, epoch, ask)),
      edit: (at, edit) => checked(at, true, (store, now) => store.edit(now, edit)),
      read: (at, asked) => checked(at, false, (store, now) => store.read(now, asked)),
      scan: (at, cursor) => this.#call(on(at.part), (store) => store.scan(at, cursor), false),
      prepareChunk: (at, request) =>
        write(at.part, async (store) => structuredClone(await store.prepareChunk(at, request))),
      admitChunk: (at, seasons, chunk) => {
        const copy = structuredClone(chunk);
        return this.#admit(at, (store) => store.admitChunk(at, seasons, structuredClone(copy)));
      },
      releaseChunk: (at, seasons, chunk) =>
        write(at.part, (store) => store.releaseChunk(at, seasons, chunk)),
    };
  }

  /** Without a fence, a step that was done before is answered before the replicas have it. */
  #admit<T>(at: PartAt, run: (store: MemoryBoardStore) => Promise<T>): Promise<T> {
    const { boards, canary } = this.#options;
    const isFenced = canary !== 'move_without_fence';
    return this.#call(boards.part(at.part), run, true, () => isFenced);
  }

  async #asNow<T extends { kind: string }>(
    store: MemoryBoardStore,
    at: PartAt,
    run: (store: MemoryBoardStore, at: PartAt) => Promise<T | Refusal>,
  ): Promise<T | Refusal> {
    const outcome = await run(store, at);
    const isChecked = this.#options.canary !== 'part_without_epoch_check';
    if (outcome.kind !== 'stale' || isChecked) return outcome;
    return run(store, { ...at, epoch: (outcome as Extract<Refusal, { kind: 'stale' }>).epoch });
  }

  /** `isSafe` says whether the replicas have it when the answer is given. */
  async #call<Store, T>(
    slot: ReplicatedSlot<Store>,
    run: (store: Store) => Promise<T>,
    isWrite: boolean,
    isSafe: FoundDone = () => true,
  ): Promise<T> {
    const { turns, prng, clock } = this.#options;
    await turns.wait();
    const rates = this.#options.rates();
    await this.#mayCrash(rates);
    if (prng.chance(rates.lostRequest)) throw new StoreUnavailableError('the store is away');
    const answerArrives = !prng.chance(isWrite ? rates.lostWriteAnswer : rates.lostAnswer);
    const carryOut = (): Promise<T> =>
      isWrite ? slot.write(clock.nowMs(), run) : slot.read(clock.nowMs(), run);
    const first = await carryOut();
    const result = isWrite && prng.chance(rates.resent) ? await carryOut() : first;
    if (isWrite && answerArrives && isSafe(result)) slot.acknowledge();
    await turns.wait();
    await this.#mayCrash(rates);
    if (answerArrives) return result;
    this.lostAnswers += 1;
    if (isWrite) throw new OutcomeUnknownError('the answer was lost');
    throw new StoreUnavailableError('the store is away');
  }

  async #mayCrash(rates: FaultRates): Promise<void> {
    if (this.#options.prng.chance(rates.crash)) this.crash();
    // What a process that has ended is told: nothing.
    if (!this.isAlive) await new Promise(() => {});
  }
}
