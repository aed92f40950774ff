import type { TallyClient } from '../../client/tally-client.ts';
import type { Clock } from '../../lib/clock.ts';
import { HOUR_MS } from '../../streams/buckets.ts';
import { type Cell, type ImportIdentity, StreamChain } from './chain.ts';
import { createParser } from './formats.ts';
import type { Input } from './input.ts';
import { type BadLine, InputError, type ParsedLine } from './parsed-line.ts';
import type { ProgressLine } from './progress.ts';
import { CellSender, type SendTotals } from './sender.ts';
import { TaskPool } from './task-pool.ts';

/** Cells on their way at the same time: enough to keep a server busy, few enough for memory. */
const CELLS_IN_FLIGHT = 4;
/** Over all streams; a file that names many streams would else keep many half-filled cells. */
const WAITING_EVENTS_MAX = 50_000;
const STREAMS_MAX = 100_000;
/** How long what is in flight may take after Ctrl-C. */
const STOP_GRACE_MS = 10_000;
/** Few: the first request of an import also finds out whether the server is there at all. */
const FIRST_CONTACT_ATTEMPTS = 3;

export interface ImportPlan {
  readonly input: Input;
  readonly identity: ImportIdentity;
  /** For events that name none. */
  readonly stream: string;
  readonly eventsPerSecond: number | null;
}

export interface ImportReport {
  readonly lineCount: number;
  readonly badLineCount: number;
  readonly totals: SendTotals;
  /** By `--now`; null without it. */
  readonly shiftMs: number | null;
  /** Streams that an earlier run had begun under another shift, which was kept. */
  readonly foundShiftMs: ReadonlyMap<string, number>;
  readonly elapsedMs: number;
  /** What ended it early: the server or the input; null when nothing did. */
  readonly failure: unknown;
}

interface Surroundings {
  readonly client: TallyClient;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly progress: ProgressLine;
  readonly onBadLine: (line: BadLine) => void;
}

/** Reads an input to its end (or until `stop`) and sends its events; see chain.ts. */
export async function runImport(plan: ImportPlan, around: Surroundings): Promise<ImportReport> {
  const importer = new Importer(plan, around);
  return importer.run();
}

class Importer {
  readonly #plan: ImportPlan;
  readonly #around: Surroundings;
  readonly #pool = new TaskPool(CELLS_IN_FLIGHT);
  readonly #chains = new Map<string, StreamChain>();
  /** Aborts what is in flight, some time after `stop`. */
  readonly #cutOff = new AbortController();
  #sender: CellSender;
  #shiftMs: number | null = null;
  #lineCount = 0;
  #badLineCount = 0;
  #waitingCount = 0;

  constructor(plan: ImportPlan, around: Surroundings) {
    this.#plan = plan;
    this.#around = around;
    this.#sender = this.#newSender();
  }

  async run(): Promise<ImportReport> {
    const { clock, stop } = this.#around;
    const startMs = clock.nowMs();
    const finished = new AbortController();
    const onStop = (): void => {
      void clock.sleep(STOP_GRACE_MS, finished.signal).then(() => this.#cutOff.abort());
    };
    stop.addEventListener('abort', onStop);
    let failure: unknown = null;
    try {
      await this.#work();
    } catch (error) {
      failure = error;
    }
    finished.abort();
    stop.removeEventListener('abort', onStop);
    this.#sender.totals.unsent += this.#waitingCount;
    this.#around.progress.clear();
    return {
      lineCount: this.#lineCount,
      badLineCount: this.#badLineCount,
      totals: this.#sender.totals,
      shiftMs: this.#shiftMs,
      foundShiftMs: this.#sender.foundShiftMs,
      elapsedMs: clock.nowMs() - startMs,
      failure,
    };
  }

  async #work(): Promise<void> {
    const { stop, clock } = this.#around;
    if (this.#plan.identity.isShifted) {
      this.#shiftMs = shiftToNow(await this.#largestTime(), clock.nowMs());
      this.#sender = this.#newSender();
    }
    try {
      await this.#readAndSend();
    } finally {
      // Whatever ended the reading: what is on its way is waited for, and its failure is told.
      await this.#pool.drain();
    }
    if (stop.aborted) return;
    await this.#sendWaiting();
    await this.#pool.drain();
  }

  #newSender(): CellSender {
    const { client, clock, stop } = this.#around;
    const { eventsPerSecond } = this.#plan;
    const cutOff = this.#cutOff.signal;
    return new CellSender(client, { shiftMs: this.#shiftMs, eventsPerSecond, clock, stop, cutOff });
  }

  async #readAndSend(): Promise<void> {
    const { input } = this.#plan;
    const { stop, progress } = this.#around;
    for await (const lines of this.#parsedLines()) {
      if (lines === 'pause') {
        await this.#sendUnfinished(() => true);
        continue;
      }
      for (const line of lines) {
        // A file can be read again from here; of a pipe, what was read is sent.
        if (stop.aborted && !input.isPipe) break;
        await this.#take(line);
      }
      if (this.#waitingCount > WAITING_EVENTS_MAX) await this.#sendWaiting();
      progress.update('importing', this.#lineCount, this.#shareRead());
    }
    if (stop.aborted && input.isPipe) {
      await this.#sendUnfinished((chain) => chain.areWaitingTimed);
    }
  }

  /** A first pass over the file, for `--now`. */
  async #largestTime(): Promise<number | null> {
    let largestMs: number | null = null;
    let lineCount = 0;
    for await (const lines of this.#parsedLines()) {
      if (lines === 'pause') continue;
      for (const line of lines) {
        const atMs = 'event' in line ? line.event.atMs : undefined;
        if (atMs !== undefined && (largestMs === null || atMs > largestMs)) largestMs = atMs;
      }
      lineCount += lines.length;
      this.#around.progress.update('reading times', lineCount, this.#shareRead());
    }
    this.#around.progress.clear();
    return largestMs;
  }

  #shareRead(): number | null {
    const { sizeBytes, readBytes } = this.#plan.input;
    return sizeBytes === null || sizeBytes === 0 ? null : readBytes / sizeBytes;
  }

  async *#parsedLines(): AsyncGenerator<readonly ParsedLine[] | 'pause', void> {
    const { clock, stop } = this.#around;
    const { format, fields } = this.#plan.identity;
    const parser = createParser(format, fields);
    for await (const piece of this.#plan.input.pieces(clock, stop)) {
      yield piece === 'pause' ? piece : parser.push(piece);
    }
    if (!stop.aborted) yield parser.end();
  }

  async #take(line: ParsedLine): Promise<void> {
    this.#lineCount += 1;
    if (!('event' in line)) {
      this.#reject(line);
      return;
    }
    const { event } = line;
    if (this.#shiftMs !== null && event.atMs === undefined) {
      const problem = 'the event has no time that --now could shift';
      this.#reject({ line: line.line, problem, excerpt: event.item });
      return;
    }
    const chain = await this.#chainOf(event.stream ?? this.#plan.stream);
    const cell = chain.add(event);
    this.#waitingCount += 1;
    if (cell !== null) await this.#submit(cell);
  }

  #reject(line: BadLine): void {
    this.#badLineCount += 1;
    this.#around.onBadLine(line);
  }

  async #chainOf(stream: string): Promise<StreamChain> {
    const known = this.#chains.get(stream);
    if (known !== undefined) return known;
    if (this.#chains.size >= STREAMS_MAX) {
      throw new InputError(`the input names more than ${STREAMS_MAX} streams`);
    }
    const attempts = this.#chains.size === 0 ? { attempts: FIRST_CONTACT_ATTEMPTS } : {};
    const signal = this.#cutOff.signal;
    const { generation } = await this.#around.client.stream(stream, { ...attempts, signal });
    const chain = new StreamChain(stream, generation, this.#plan.identity);
    this.#chains.set(stream, chain);
    return chain;
  }

  /** All that waits, also where its cell is not full. */
  async #sendWaiting(): Promise<void> {
    for (const chain of this.#chains.values()) {
      if (chain.waitingCount > 0) await this.#submit(chain.takeWaiting());
    }
  }

  /** What waits while the input is silent or at its end for now; more may follow. */
  async #sendUnfinished(isWanted: (chain: StreamChain) => boolean): Promise<void> {
    await this.#pool.drain();
    for (const chain of this.#chains.values()) {
      if (chain.waitingCount === 0 || !isWanted(chain)) continue;
      const sentCount = await this.#sender.sendUnfinished(chain.waitingCell());
      chain.drop(sentCount);
      this.#waitingCount -= sentCount;
    }
  }

  async #submit(cell: Cell): Promise<void> {
    this.#waitingCount -= cell.events.length;
    await this.#pool.start(() => this.#sender.send(cell));
  }
}

/** Whole hours that bring the largest time into the hour before now. */
function shiftToNow(largestMs: number | null, nowMs: number): number {
  if (largestMs === null) throw new InputError('no line has a time that --now could shift');
  return Math.floor((nowMs - largestMs) / HOUR_MS) * HOUR_MS;
}
