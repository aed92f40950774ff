import { printable } from '../terminal.ts';
import type { BadLine } from './parsed-line.ts';
import type { ProgressLine } from './progress.ts';

/** Enough to see what is wrong with a file. */
export const SHOWN_BAD_LINES = 5;

/** Counts bad lines and shows the first of them. */
export class BadLineReport {
  count = 0;
  readonly #progress: ProgressLine;

  constructor(progress: ProgressLine) {
    this.#progress = progress;
  }

  add({ line, problem, excerpt }: BadLine): void {
    this.count += 1;
    if (this.count > SHOWN_BAD_LINES) return;
    this.#progress.print(`line ${line}: ${printable(problem)}: ${printable(excerpt)}`);
  }
}
