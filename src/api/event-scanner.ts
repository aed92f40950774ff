/**
 * Reads events straight from the bytes of a body, if these are of the plainest kind: objects with
 * the known fields, each once, in ASCII without escapes, with digits for numbers, and all of it
 * valid. So programs write nearly all events, and reading them like this takes a third of the time
 * of parsing JSON and checking the outcome. The scanner refuses nothing: whatever is not plain is
 * left to the parser, whose word it is (event-batch.ts).
 */
import type { EventInput } from '../streams/ingest.ts';
import { DIMENSIONS_MAX, VALUE_BYTES_MAX } from '../streams/limits.ts';
import type { MediaType } from './body-reader.ts';
import { COUNT_MAX, DEFAULT_STREAM, type EventBatch } from './event-batch.ts';
import { DIMENSION_BYTES_MAX, ITEM_BYTES_MAX, NAME_BYTES_MAX } from './text-schemas.ts';

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const ASCII_MAX = 0x7f;

/** Every number of so many digits is a safe integer. */
const DIGITS_MAX = 15;

const ITEM = 0;
const STREAM = 1;
const ACTOR = 2;
const COUNT = 3;
const AT = 4;
const DIMS = 5;
const FIELD_NAMES = ['item', 'stream', 'actor', 'count', 'at', 'dims'].map((name) =>
  Buffer.from(name),
);

/** The events of a list or of lines, all of them good; null when the body is not plain. */
export function scanEvents(
  body: Buffer,
  mediaType: MediaType,
  maxEvents: number,
): EventBatch | null {
  const scanner = new EventScanner(body, maxEvents);
  const events = mediaType === 'application/json' ? scanner.list() : scanner.lines();
  return events === null ? null : { events, rejections: [] };
}

class EventScanner {
  readonly #bytes: Buffer;
  /** The same as text, one character a byte: to cut strings from. */
  readonly #text: string;
  readonly #maxEvents: number;
  readonly #events: EventInput[] = [];
  #at = 0;
  /** False once something is not plain: what is read from then on means nothing. */
  #isPlain = true;

  constructor(bytes: Buffer, maxEvents: number) {
    this.#bytes = bytes;
    this.#text = bytes.toString('latin1');
    this.#maxEvents = maxEvents;
  }

  list(): EventInput[] | null {
    this.#expect(LEFT_BRACKET);
    do this.#event();
    while (this.#isPlain && this.#take(COMMA));
    this.#expect(RIGHT_BRACKET);
    this.#skipSpaces();
    return this.#isPlain && this.#at === this.#bytes.length ? this.#events : null;
  }

  lines(): EventInput[] | null {
    while (this.#isPlain) {
      while (this.#take(NEWLINE));
      if (this.#at === this.#bytes.length) return this.#events;
      this.#event();
      if (!this.#take(NEWLINE) && this.#at < this.#bytes.length) return null;
    }
    return null;
  }

  #event(): void {
    let item = '';
    let stream = DEFAULT_STREAM;
    let actor: string | null = null;
    let count = 1;
    let atMs: number | null = null;
    let dims: Record<string, string> | null = null;
    let seen = 0;
    this.#expect(LEFT_BRACE);
    do {
      const field = this.#field();
      this.#require(field >= 0 && (seen & (1 << field)) === 0);
      seen |= 1 << field;
      this.#expect(COLON);
      if (field === ITEM) item = this.#string(ITEM_BYTES_MAX);
      else if (field === STREAM) stream = this.#string(NAME_BYTES_MAX);
      else if (field === ACTOR) actor = this.#string(ITEM_BYTES_MAX);
      else if (field === COUNT) count = this.#wholeNumber();
      else if (field === AT) atMs = this.#wholeNumber();
      else if (field === DIMS) dims = this.#dims();
    } while (this.#isPlain && this.#take(COMMA));
    this.#expect(RIGHT_BRACE);
    const index = this.#events.length;
    this.#require(index < this.#maxEvents && item !== '' && count >= 1 && count <= COUNT_MAX);
    this.#events.push({ index, stream, item, actor, count, atMs, dims });
  }

  /** At least one dimension, each once. */
  #dims(): Record<string, string> {
    const dims: Record<string, string> = {};
    let count = 0;
    this.#expect(LEFT_BRACE);
    do {
      const name = this.#string(DIMENSION_BYTES_MAX);
      this.#expect(COLON);
      const value = this.#string(VALUE_BYTES_MAX);
      // A name that every object has would not become one of its own.
      this.#require(!(name in dims));
      dims[name] = value;
      count += 1;
    } while (this.#isPlain && this.#take(COMMA));
    this.#expect(RIGHT_BRACE);
    this.#require(count <= DIMENSIONS_MAX);
    return dims;
  }

  /** The number of a known field's name; -1 for any other. */
  #field(): number {
    this.#expect(QUOTE);
    const bytes = this.#bytes;
    const start = this.#at;
    for (let field = 0; field < FIELD_NAMES.length; field += 1) {
      const name = FIELD_NAMES[field]!;
      let length = 0;
      while (length < name.length && bytes[start + length] === name[length]) length += 1;
      if (length === name.length && bytes[start + length] === QUOTE) {
        this.#at = start + length + 1;
        return field;
      }
    }
    return -1;
  }

  /** Of 1..maxBytes characters. */
  #string(maxBytes: number): string {
    this.#expect(QUOTE);
    const bytes = this.#bytes;
    const start = this.#at;
    let end = start;
    let byte = bytes[end];
    while (byte !== undefined && byte !== QUOTE) {
      if (byte < SPACE || byte > ASCII_MAX || byte === BACKSLASH) break;
      end += 1;
      byte = bytes[end];
    }
    this.#require(byte === QUOTE && end > start && end - start <= maxBytes);
    this.#at = end + 1;
    return this.#text.slice(start, end);
  }

  #wholeNumber(): number {
    this.#skipSpaces();
    const bytes = this.#bytes;
    const start = this.#at;
    let end = start;
    let value = 0;
    let byte = bytes[end];
    while (byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9) {
      value = value * 10 + (byte - DIGIT_0);
      end += 1;
      byte = bytes[end];
    }
    const digitCount = end - start;
    const hasLeadingZero = digitCount > 1 && bytes[start] === DIGIT_0;
    this.#require(digitCount > 0 && digitCount <= DIGITS_MAX && !hasLeadingZero);
    this.#at = end;
    return value;
  }

  #expect(byte: number): void {
    this.#require(this.#take(byte));
  }

  #require(holds: boolean): void {
    if (!holds) this.#isPlain = false;
  }

  #take(byte: number): boolean {
    this.#skipSpaces();
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }

  #skipSpaces(): void {
    while (this.#bytes[this.#at] === SPACE) this.#at += 1;
  }
}
