import type { Clock } from '../../lib/clock.ts';
import type { Output } from '../command.ts';
import { fit, grouped, terminalSize } from '../terminal.ts';

const REDRAW_MS = 200;
const BAR_COLUMNS = 24;
const CLEAR_LINE = '\r\u001b[K';

/** One line at the bottom of a terminal that is drawn anew as work goes on; else nothing. */
export class ProgressLine {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #startMs: number;
  #drawnAtMs = Number.NEGATIVE_INFINITY;
  #isShown = false;

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  /** `share`: 0..1, null when the end is not known. */
  update(action: string, lineCount: number, share: number | null): void {
    const nowMs = this.#clock.nowMs();
    if (this.#output.isTTY !== true || nowMs - this.#drawnAtMs < REDRAW_MS) return;
    this.#drawnAtMs = nowMs;
    const seconds = (nowMs - this.#startMs) / 1000;
    const perSecond = seconds > 0 ? lineCount / seconds : 0;
    const bar = share === null ? '' : `${barOf(share)} `;
    const text = `${action} ${bar}${grouped(lineCount)} lines, ${grouped(perSecond)} a second`;
    const { columns } = terminalSize(this.#output);
    this.#output.write(CLEAR_LINE + fit(text, columns - 1));
    this.#isShown = true;
  }

  /** Writes a line above, so that the progress line does not run through it. */
  print(line: string): void {
    this.clear();
    this.#output.write(`${line}\n`);
  }

  clear(): void {
    if (this.#isShown) this.#output.write(CLEAR_LINE);
    this.#isShown = false;
    this.#drawnAtMs = Number.NEGATIVE_INFINITY;
  }
}

function barOf(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * BAR_COLUMNS);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_COLUMNS - filled)}] ${percent}%`;
}
