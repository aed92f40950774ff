import { createReadStream, ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Clock } from '../../lib/clock.ts';
import { InputError } from './parsed-line.ts';

const READ_BYTES = 256 * 1024;
/** A pipe that is silent for so long is taken to be live: what has arrived is sent. */
const PAUSE_MS = 1_000;

/** What the input gives next: bytes, or word that it has been silent for a while. */
export type InputPiece = Buffer | 'pause';

/** Where the bytes of an import come from: a file, or a pipe (which cannot be read twice). */
export class Input {
  readonly isPipe: boolean;
  /** Of the file, compressed if it is; null for a pipe. */
  readonly sizeBytes: number | null;
  readonly #open: () => Readable;
  readonly #isGzip: boolean;
  #source: Readable | null = null;

  private constructor(open: () => Readable, sizeBytes: number | null, isGzip: boolean) {
    this.#open = open;
    this.sizeBytes = sizeBytes;
    this.isPipe = sizeBytes === null;
    this.#isGzip = isGzip;
  }

  /** `-` is standard input. A file counts as long as it is now: what is added later is left. */
  static async of(path: string, stdin: Readable): Promise<Input> {
    if (path === '-') return new Input(() => stdin, null, false);
    const isGzip = /\.gz$/i.test(path);
    const facts = await stat(path).catch((error: unknown) => {
      throw new InputError(`cannot read ${path}: ${reasonOf(error)}`);
    });
    if (facts.isDirectory()) throw new InputError(`cannot read ${path}: it is a directory`);
    if (!facts.isFile()) return new Input(() => createReadStream(path), null, isGzip);
    const open = (): Readable =>
      createReadStream(path, { highWaterMark: READ_BYTES, end: Math.max(facts.size - 1, 0) });
    return new Input(open, facts.size, isGzip);
  }

  /** How much was read so far, in the bytes of `sizeBytes`. */
  get readBytes(): number {
    return this.#source instanceof ReadStream ? this.#source.bytesRead : 0;
  }

  /** Ends early when `stop` aborts. Pauses are told of pipes only, once for each silence. */
  async *pieces(clock: Clock, stop: AbortSignal): AsyncGenerator<InputPiece, void> {
    if (stop.aborted) return;
    const source = this.#open();
    this.#source = source;
    const stream = this.#isGzip ? pipeline(source, createGunzip(), () => {}) : source;
    const destroy = (): void => {
      source.destroy();
      stream.destroy();
    };
    stop.addEventListener('abort', destroy);
    try {
      const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
      for (;;) {
        const next = iterator.next();
        if (this.isPipe && (await isSlow(next, clock))) yield 'pause';
        const { done, value } = await next;
        if (done === true) return;
        yield value;
      }
    } catch (error) {
      // Reading from a stream that was destroyed to stop it fails in several ways.
      if (!stop.aborted) throw new InputError(`cannot read the input: ${reasonOf(error)}`);
    } finally {
      stop.removeEventListener('abort', destroy);
      destroy();
    }
  }
}

/** True when the promise is still pending after PAUSE_MS. A rejection is left to its owner. */
async function isSlow(next: Promise<unknown>, clock: Clock): Promise<boolean> {
  const arrived = new AbortController();
  const settled = next.then(
    () => false,
    () => false,
  );
  const pause = clock.sleep(PAUSE_MS, arrived.signal).then(() => true);
  const slow = await Promise.race([settled, pause]);
  arrived.abort();
  return slow;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES') return 'permission denied';
  return error.message;
}
