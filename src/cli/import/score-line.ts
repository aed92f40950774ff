/** Lines of an import into a board: CSV with a header row, or NDJSON. */
import type { ScoreIncrement } from '../../client/board-types.ts';
import { excerpt } from '../terminal.ts';
import { parseCsvRecord } from './csv.ts';
import { LineSplitter } from './line-splitter.ts';
import { type BadLine, EXCERPT_BYTES_MAX, InputError, memberProblem } from './parsed-line.ts';

export type ScoreFormat = 'csv' | 'ndjson';
type Measure = 'by' | 'score';

export interface GoodScoreLine {
  readonly line: number;
  readonly increment: ScoreIncrement;
}
export type ScoreLine = GoodScoreLine | BadLine;

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

export class ScoreParser {
  readonly #splitter = new LineSplitter();
  readonly #format: ScoreFormat;
  #columns: { readonly member: number; readonly value: number; readonly name: Measure } | null =
    null;

  constructor(format: ScoreFormat) {
    this.#format = format;
  }

  push(bytes: Buffer): ScoreLine[] {
    return this.#parse(this.#splitter.push(bytes));
  }

  end(): ScoreLine[] {
    return this.#parse(this.#splitter.end());
  }

  #parse(lines: ReturnType<LineSplitter['push']>): ScoreLine[] {
    const parsed: ScoreLine[] = [];
    for (const raw of lines) {
      if (!('text' in raw)) {
        parsed.push(raw);
        continue;
      }
      if (raw.text === '') continue;
      const result = this.#format === 'csv' ? this.#ofCsv(raw.text) : ofJson(raw.text);
      if (result === null) continue;
      if (typeof result !== 'string') parsed.push({ line: raw.line, increment: result });
      else {
        const shown = excerpt(Buffer.from(raw.text), EXCERPT_BYTES_MAX);
        parsed.push({ line: raw.line, problem: result, excerpt: shown });
      }
    }
    return parsed;
  }

  /** Null: the header row. */
  #ofCsv(text: string): ScoreIncrement | string | null {
    const cells = parseCsvRecord(text);
    if (cells === null || cells === 'open') return 'not one whole record of CSV';
    if (this.#columns === null) {
      this.#columns = columnsOf(cells);
      return null;
    }
    const { member, value, name } = this.#columns;
    const cell = cells[value] ?? '';
    if (!NUMBER.test(cell)) return `${name} is not a number`;
    return checked(cells[member] ?? '', name, Number(cell));
  }
}

function columnsOf(header: readonly string[]) {
  const member = header.indexOf('member');
  const name: Measure = header.includes('by') ? 'by' : 'score';
  const value = header.indexOf(name);
  if (member === -1 || value === -1) {
    throw new InputError('the header row needs the columns member, and by or score');
  }
  return { member, value, name };
}

function ofJson(text: string): ScoreIncrement | string {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  if (typeof fields !== 'object' || fields === null) return 'not an object';
  const { member, by, score } = fields as Record<string, unknown>;
  if (typeof member !== 'string') return 'member is not a text';
  if ((by === undefined) === (score === undefined)) return 'expected by or score';
  const value = by ?? score;
  if (typeof value !== 'number') return `${by === undefined ? 'score' : 'by'} is not a number`;
  return checked(member, by === undefined ? 'score' : 'by', value);
}

function checked(member: string, name: Measure, value: number): ScoreIncrement | string {
  const problem = memberProblem(member);
  if (problem !== null) return problem;
  // What has no end would come to the server as null.
  if (!Number.isFinite(value)) return `${name} is too large`;
  return name === 'by' ? { member, by: value } : { member, score: value };
}
