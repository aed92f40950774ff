/** One event as it stands in the input, before any shift of its time. */
export interface ImportEvent {
  readonly item: string;
  /** Left out: the stream of the whole import. */
  readonly stream?: string;
  readonly actor?: string;
  readonly count?: number;
  /** Left out: the time of arrival. */
  readonly atMs?: number;
  /** Values by dimension. */
  readonly dims?: Readonly<Record<string, string>>;
}

export type ParsedLine = GoodLine | BadLine;

interface GoodLine {
  /** 1-based line of the input; in a JSON document the 1-based place of the event. */
  readonly line: number;
  readonly event: ImportEvent;
}

export interface BadLine {
  readonly line: number;
  readonly problem: string;
  /** The beginning of it, safe to show on a terminal. */
  readonly excerpt: string;
}

/** Bytes in, lines out; it keeps no more than one unfinished line (or a stated size). */
export interface LineParser {
  push(bytes: Buffer): ParsedLine[];
  /** What is left at the end of the input. */
  end(): ParsedLine[];
}

/** Which fields of the input are taken for item and actor; null: the format's own. */
export interface FieldChoice {
  readonly item: string | null;
  readonly actor: string | null;
}

/** The input as a whole cannot be imported (no such column, not JSON, ...). */
export class InputError extends Error {
  override readonly name = 'InputError';
}

const ITEM_BYTES_MAX = 512;
const ACTOR_BYTES_MAX = 512;
const MEMBER_BYTES_MAX = 512;
const STREAM_BYTES_MAX = 128;
const DIMENSION_BYTES_MAX = 64;
const VALUE_BYTES_MAX = 128;
const DIMENSIONS_MAX = 8;
const COUNT_MAX = 1_000_000;
export const LINE_BYTES_MAX = 65_536;
export const EXCERPT_BYTES_MAX = 120;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Says what is wrong with an event whose fields have the right types; null when nothing is. */
export function problemOf(event: ImportEvent): string | null {
  return (
    nameProblem('item', event.item, ITEM_BYTES_MAX) ??
    (event.actor === undefined ? null : nameProblem('actor', event.actor, ACTOR_BYTES_MAX)) ??
    (event.stream === undefined ? null : streamProblem(event.stream)) ??
    (event.count === undefined ? null : countProblem(event.count)) ??
    (event.atMs === undefined ? null : timeProblem(event.atMs)) ??
    (event.dims === undefined ? null : dimsProblem(event.dims))
  );
}

export function streamProblem(stream: string): string | null {
  if (stream === '.' || stream === '..') return `stream must not be "${stream}"`;
  return nameProblem('stream', stream, STREAM_BYTES_MAX);
}

/** Of a board. */
export function memberProblem(member: string): string | null {
  return nameProblem('member', member, MEMBER_BYTES_MAX);
}

function nameProblem(field: string, text: string, bytesMax: number): string | null {
  if (text === '') return `${field} is empty`;
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax) {
    return `${field} is longer than ${bytesMax} bytes`;
  }
  return LONE_SURROGATE.test(text) ? `${field} is not valid Unicode` : null;
}

function countProblem(count: number): string | null {
  const isInRange = Number.isInteger(count) && count >= 1 && count <= COUNT_MAX;
  return isInRange ? null : `count is not a whole number from 1 to ${COUNT_MAX}`;
}

function timeProblem(atMs: number): string | null {
  return Number.isSafeInteger(atMs) && atMs >= 0 ? null : 'at is not a time in epoch ms';
}

function dimsProblem(dims: NonNullable<ImportEvent['dims']>): string | null {
  const entries = Object.entries(dims);
  if (entries.length > DIMENSIONS_MAX) return `dims names more than ${DIMENSIONS_MAX} dimensions`;
  for (const [name, value] of entries) {
    const problem =
      nameProblem('the name of a dimension', name, DIMENSION_BYTES_MAX) ??
      nameProblem(`dims.${name}`, value, VALUE_BYTES_MAX);
    if (problem !== null) return problem;
  }
  return null;
}
