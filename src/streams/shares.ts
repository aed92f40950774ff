/**
 * What an event counts in: its stream as a whole, and one segment for each dimension that the
 * stream keeps and the event names. A share has a key, a text that stands for it wherever summaries
 * are kept; only this file knows what is in it.
 */
import { assert } from '../lib/assert.ts';

/** The events of a stream that have one value of one dimension. */
export interface Segment {
  readonly dimension: string;
  readonly value: string;
}

export interface Share {
  readonly stream: string;
  /** Null: the whole stream. */
  readonly segment: Segment | null;
}

const ESCAPE = '\x1e';
const SEPARATOR = '\x1f';
/** Texts are escaped so that the order of their bytes stays what it was. */
const ESCAPED_ESCAPE = `${ESCAPE}0`;
const ESCAPED_SEPARATOR = `${ESCAPE}1`;

/** The key of a whole stream is its name, but for two control characters. */
export function shareKeyOf(stream: string, segment: Segment | null): string {
  const name = escape(stream);
  if (segment === null) return name;
  return [name, escape(segment.dimension), escape(segment.value)].join(SEPARATOR);
}

/** `key` must be one that `shareKeyOf` made. */
export function shareOf(key: string): Share {
  const [name = '', dimension, value] = key.split(SEPARATOR);
  const stream = unescape(name);
  if (dimension === undefined) return { stream, segment: null };
  assert(value !== undefined, 'a share names a dimension with its value');
  return { stream, segment: { dimension: unescape(dimension), value: unescape(value) } };
}

function escape(text: string): string {
  if (!text.includes(ESCAPE) && !text.includes(SEPARATOR)) return text;
  return text.replaceAll(ESCAPE, ESCAPED_ESCAPE).replaceAll(SEPARATOR, ESCAPED_SEPARATOR);
}

function unescape(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPED_SEPARATOR, SEPARATOR).replaceAll(ESCAPED_ESCAPE, ESCAPE);
}
