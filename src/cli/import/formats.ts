import { isUtf8 } from 'node:buffer';
import { excerpt } from '../terminal.ts';
import { parseCombinedLine } from './combined-log.ts';
import { CsvParser } from './csv.ts';
import { eventOfJson, parseJsonLine } from './json-event.ts';
import { LineSplitter, type RawLine } from './line-splitter.ts';
import {
  EXCERPT_BYTES_MAX,
  type FieldChoice,
  type ImportEvent,
  InputError,
  type LineParser,
  type ParsedLine,
  problemOf,
} from './parsed-line.ts';

export const FORMATS = ['combined', 'ndjson', 'csv', 'json'] as const;
export type Format = (typeof FORMATS)[number];

/** A JSON document is held in memory as a whole; ndjson is the form for more. */
export const JSON_BYTES_MAX = 64 * 1024 * 1024;

/** `access.log`, `access.log.1`, `events.ndjson.gz`, ...; null when the name says nothing. */
export function formatOfName(name: string): Format | null {
  const plain = name.replace(/\.gz$/i, '');
  if (/\.log(\.\d+)?$/i.test(plain)) return 'combined';
  if (/\.(ndjson|jsonl)$/i.test(plain)) return 'ndjson';
  if (/\.csv$/i.test(plain)) return 'csv';
  return /\.json$/i.test(plain) ? 'json' : null;
}

export function createParser(format: Format, fields: FieldChoice): LineParser {
  switch (format) {
    case 'combined':
      return new LineByLineParser((text) => parseCombinedLine(text, fields));
    case 'ndjson':
      return new LineByLineParser((text) => parseJsonLine(text, fields));
    case 'csv':
      return new CsvParser(fields);
    case 'json':
      return new JsonDocumentParser(fields);
  }
}

/** One event a line; empty lines are passed over. */
class LineByLineParser implements LineParser {
  readonly #splitter = new LineSplitter();
  readonly #parseText: (text: string) => ImportEvent | string;

  constructor(parseText: (text: string) => ImportEvent | string) {
    this.#parseText = parseText;
  }

  push(bytes: Buffer): ParsedLine[] {
    return this.#parse(this.#splitter.push(bytes));
  }

  end(): ParsedLine[] {
    return this.#parse(this.#splitter.end());
  }

  #parse(lines: readonly RawLine[]): ParsedLine[] {
    const parsed: ParsedLine[] = [];
    for (const raw of lines) {
      if (!('text' in raw)) {
        parsed.push(raw);
      } else if (raw.text !== '') {
        parsed.push(checked(raw.line, this.#parseText(raw.text), () => raw.text));
      }
    }
    return parsed;
  }
}

/** An array of events, `{"events": [...]}`, or one event. */
class JsonDocumentParser implements LineParser {
  readonly #fields: FieldChoice;
  #chunks: Buffer[] = [];
  #byteCount = 0;

  constructor(fields: FieldChoice) {
    this.#fields = fields;
  }

  push(bytes: Buffer): ParsedLine[] {
    this.#byteCount += bytes.length;
    if (this.#byteCount > JSON_BYTES_MAX) {
      throw new InputError(`a JSON document may have ${JSON_BYTES_MAX} bytes; use ndjson for more`);
    }
    this.#chunks.push(bytes);
    return [];
  }

  end(): ParsedLine[] {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (!isUtf8(bytes)) throw new InputError('the document is not valid UTF-8');
    return eventsOfDocument(bytes.toString('utf8')).map((value, index) =>
      checked(index + 1, eventOfJson(value, this.#fields), () => JSON.stringify(value)),
    );
  }
}

function eventsOfDocument(text: string): readonly unknown[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new InputError(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (Array.isArray(document)) return document;
  if (typeof document === 'object' && document !== null && 'events' in document) {
    if (Array.isArray(document.events)) return document.events;
    throw new InputError('"events" is not an array');
  }
  return [document];
}

function checked(line: number, event: ImportEvent | string, textOf: () => string): ParsedLine {
  const problem = typeof event === 'string' ? event : problemOf(event);
  if (typeof event !== 'string' && problem === null) return { line, event };
  return {
    line,
    problem: String(problem),
    excerpt: excerpt(Buffer.from(textOf()), EXCERPT_BYTES_MAX),
  };
}
