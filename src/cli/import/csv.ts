import { excerpt } from '../terminal.ts';
import { LineSplitter, type TextLine } from './line-splitter.ts';
import {
  type BadLine,
  EXCERPT_BYTES_MAX,
  type FieldChoice,
  type ImportEvent,
  InputError,
  LINE_BYTES_MAX,
  type LineParser,
  type ParsedLine,
  problemOf,
} from './parsed-line.ts';
import { parseTimeText } from './time-text.ts';

/** A column with the values of a dimension. */
const DIMENSION_COLUMN = /^dims\.(.+)$/s;
const WHOLE_NUMBER = /^\d{1,7}$/;

/**
 * The fields of one CSV record (RFC 4180: comma, double quotes, a doubled quote inside quotes).
 * `open` when the text ends inside quotes: the record goes on in the next line; null when
 * something follows a closing quote.
 */
export function parseCsvRecord(text: string): string[] | 'open' | null {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] === '"') {
      let field = '';
      let closing = text.indexOf('"', at + 1);
      at += 1;
      while (closing !== -1 && text[closing + 1] === '"') {
        field += text.slice(at, closing + 1);
        at = closing + 2;
        closing = text.indexOf('"', at);
      }
      if (closing === -1) return 'open';
      fields.push(field + text.slice(at, closing));
      at = closing + 1;
    } else {
      const comma = text.indexOf(',', at);
      const end = comma === -1 ? text.length : comma;
      fields.push(text.slice(at, end));
      at = end;
    }
    if (at === text.length) return fields;
    if (text[at] !== ',') return null;
    at += 1;
  }
}

interface Columns {
  readonly count: number;
  readonly item: number;
  /** -1 where the file has no such column. */
  readonly actor: number;
  readonly stream: number;
  readonly weight: number;
  readonly at: number;
  readonly dims: readonly { readonly name: string; readonly index: number }[];
}

/** A header row names the columns; a quoted field may contain line ends. */
export class CsvParser implements LineParser {
  readonly #fields: FieldChoice;
  readonly #splitter = new LineSplitter();
  #columns: Columns | null = null;
  #open: { readonly line: number; text: string } | null = null;

  constructor(fields: FieldChoice) {
    this.#fields = fields;
  }

  push(bytes: Buffer): ParsedLine[] {
    return this.#parse(this.#splitter.push(bytes));
  }

  end(): ParsedLine[] {
    const lines = this.#parse(this.#splitter.end());
    if (this.#open === null) return lines;
    const { line, text } = this.#open;
    this.#open = null;
    return [...lines, badLine(line, 'a quote is never closed', text)];
  }

  #parse(lines: readonly (TextLine | BadLine)[]): ParsedLine[] {
    const parsed: ParsedLine[] = [];
    for (const line of lines) {
      const result = 'text' in line ? this.#parseLine(line) : this.#abandonOpen(line);
      if (result !== null) parsed.push(result);
    }
    return parsed;
  }

  #abandonOpen(bad: BadLine): BadLine {
    const line = this.#open?.line ?? bad.line;
    this.#open = null;
    return { ...bad, line };
  }

  #parseLine({ line: ownLine, text: ownText, lineEnd }: TextLine): ParsedLine | null {
    const isContinued = this.#open !== null;
    const text = (this.#open?.text ?? '') + ownText;
    const line = this.#open?.line ?? ownLine;
    this.#open = null;
    if (text === '') return null;
    if (text.length > LINE_BYTES_MAX) {
      return badLine(line, `the record is longer than ${LINE_BYTES_MAX} characters`, text);
    }
    if (isContinued && !ownText.includes('"')) {
      this.#open = { line, text: text + lineEnd };
      return null;
    }
    const cells = parseCsvRecord(text);
    if (cells === 'open') {
      this.#open = { line, text: text + lineEnd };
      return null;
    }
    if (cells === null) return badLine(line, 'something follows a closing quote', text);
    if (this.#columns === null) {
      this.#columns = columnsOf(cells, this.#fields);
      return null;
    }
    const event = eventOfCells(cells, this.#columns);
    const problem = typeof event === 'string' ? event : problemOf(event);
    if (typeof event === 'string' || problem !== null) return badLine(line, String(problem), text);
    return { line, event };
  }
}

function badLine(line: number, problem: string, text: string): BadLine {
  return { line, problem, excerpt: excerpt(Buffer.from(text), EXCERPT_BYTES_MAX) };
}

function columnsOf(header: readonly string[], fields: FieldChoice): Columns {
  const indexOf = (name: string, isNeeded: boolean): number => {
    const index = header.indexOf(name);
    if (index === -1 && isNeeded) {
      throw new InputError(`the header row has no column ${JSON.stringify(name)}`);
    }
    if (header.indexOf(name, index + 1) > index && index !== -1) {
      throw new InputError(`the header row has two columns ${JSON.stringify(name)}`);
    }
    return index;
  };
  return {
    count: header.length,
    item: indexOf(fields.item ?? 'item', true),
    actor: indexOf(fields.actor ?? 'actor', fields.actor !== null),
    stream: indexOf('stream', false),
    weight: indexOf('count', false),
    at: indexOf('at', false),
    dims: header.flatMap((column) => {
      const name = DIMENSION_COLUMN.exec(column)?.[1];
      return name === undefined ? [] : [{ name, index: indexOf(column, true) }];
    }),
  };
}

/** An event, or what is wrong with the row. An empty cell is a value that was left out. */
function eventOfCells(cells: readonly string[], columns: Columns): ImportEvent | string {
  if (cells.length !== columns.count) {
    return `${cells.length} fields where the header row has ${columns.count}`;
  }
  const cell = (index: number): string | undefined => cells[index] || undefined;
  const stream = cell(columns.stream);
  const actor = cell(columns.actor);
  const weight = cell(columns.weight);
  const at = cell(columns.at);
  if (weight !== undefined && !WHOLE_NUMBER.test(weight)) return 'count is not a whole number';
  const atMs = at === undefined ? undefined : parseTimeText(at);
  if (atMs === null) return 'at is neither epoch ms nor ISO 8601 with an offset';
  const dims = columns.dims.flatMap(({ name, index }) => {
    const value = cell(index);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    item: cells[columns.item] ?? '',
    ...(stream === undefined ? {} : { stream }),
    ...(actor === undefined ? {} : { actor }),
    ...(weight === undefined ? {} : { count: Number(weight) }),
    ...(atMs === undefined ? {} : { atMs }),
    ...(dims.length === 0 ? {} : { dims: Object.fromEntries(dims) }),
  };
}
