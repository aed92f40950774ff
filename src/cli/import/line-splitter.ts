import { isUtf8 } from 'node:buffer';
import { EXCERPT_BYTES_MAX, LINE_BYTES_MAX, type BadLine } from './parsed-line.ts';
import { excerpt } from '../terminal.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = '\ufeff';

export type RawLine = TextLine | BadLine;

export interface TextLine {
  readonly line: number;
  /** Without the line's end. */
  readonly text: string;
  /** How the line ended; needed only where lines are joined again. */
  readonly lineEnd: '\n' | '\r\n' | '';
}

/**
 * Cuts bytes into lines at `\n` or `\r\n` and decodes them. A line that is no UTF-8 or longer than
 * LINE_BYTES_MAX is a bad line; of a long one only the first bytes are kept in memory.
 */
export class LineSplitter {
  #lineCount = 0;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #isTooLong = false;

  push(bytes: Buffer): RawLine[] {
    const lines: RawLine[] = [];
    let start = 0;
    let end = bytes.indexOf(NEWLINE);
    while (end !== -1) {
      this.#keep(bytes.subarray(start, end));
      lines.push(this.#finishLine(true));
      start = end + 1;
      end = bytes.indexOf(NEWLINE, start);
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return lines;
  }

  /** The last line, if the input did not end with a line's end. */
  end(): RawLine[] {
    return this.#pieceBytes === 0 ? [] : [this.#finishLine(false)];
  }

  #keep(piece: Buffer): void {
    if (this.#isTooLong) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    // One byte more than the limit may still be the `\r` of the line's end.
    if (this.#pieceBytes > LINE_BYTES_MAX + 1) {
      this.#isTooLong = true;
      this.#pieces = [Buffer.from(Buffer.concat(this.#pieces).subarray(0, EXCERPT_BYTES_MAX + 1))];
    }
  }

  #finishLine(hasNewline: boolean): RawLine {
    const [first] = this.#pieces;
    const whole =
      this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces);
    const isTooLong = this.#isTooLong;
    this.#lineCount += 1;
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#isTooLong = false;

    const line = this.#lineCount;
    const endsInReturn = hasNewline && !isTooLong && whole.at(-1) === CARRIAGE_RETURN;
    const content = endsInReturn ? whole.subarray(0, -1) : whole;
    const bad = (problem: string): BadLine => {
      return { line, problem, excerpt: excerpt(content, EXCERPT_BYTES_MAX) };
    };
    if (isTooLong || content.length > LINE_BYTES_MAX) {
      return bad(`the line is longer than ${LINE_BYTES_MAX} bytes`);
    }
    if (!isUtf8(content)) return bad('the line is not valid UTF-8');
    const decoded = content.toString('utf8');
    const text = line === 1 && decoded.startsWith(BYTE_ORDER_MARK) ? decoded.slice(1) : decoded;
    const newline = hasNewline ? '\n' : '';
    return { line, text, lineEnd: endsInReturn ? '\r\n' : newline };
  }
}
