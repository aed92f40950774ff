import type { FieldChoice, ImportEvent } from './parsed-line.ts';
import { parseIsoTime } from './time-text.ts';

const EVENT_FIELDS: ReadonlySet<string> = new Set([
  'item',
  'stream',
  'actor',
  'count',
  'at',
  'dims',
]);

/** An event from the text of one JSON object, or what is wrong with it. */
export function parseJsonLine(text: string, fields: FieldChoice): ImportEvent | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  return eventOfJson(value, fields);
}

/**
 * The events of the API: item, stream, actor, count, at, dims, and nothing else. With `--item` or
 * `--actor` the objects are somebody else's records: those fields are taken, the API's other
 * fields where they are there, and the rest is left alone.
 */
export function eventOfJson(value: unknown, fields: FieldChoice): ImportEvent | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'not a JSON object';
  }
  const record = value as Readonly<Record<string, unknown>>;
  const isForeign = fields.item !== null || fields.actor !== null;
  if (!isForeign) {
    const unknown = Object.keys(record).find((name) => !EVENT_FIELDS.has(name));
    if (unknown !== undefined) return `unknown field ${JSON.stringify(unknown)}`;
  }
  const item = textField(record, fields.item ?? 'item', fields.item !== null);
  if (item === undefined) return `no text in field ${JSON.stringify(fields.item ?? 'item')}`;
  const actorName = fields.actor ?? 'actor';
  const actor = textField(record, actorName, fields.actor !== null);
  if (actor === undefined && isGiven(record, actorName)) return 'actor is not a text';
  const stream = textField(record, 'stream', false);
  if (stream === undefined && isGiven(record, 'stream')) return 'stream is not a text';
  const count = isGiven(record, 'count') ? record['count'] : undefined;
  if (count !== undefined && typeof count !== 'number') return 'count is not a number';
  const atMs = isGiven(record, 'at') ? timeOf(record['at']) : undefined;
  if (atMs === null) return 'at is neither epoch ms nor ISO 8601 with an offset';
  const dims = isGiven(record, 'dims') ? record['dims'] : undefined;
  if (dims !== undefined && !isTexts(dims)) return 'dims is not an object of texts';
  return {
    item,
    ...(stream === undefined ? {} : { stream }),
    ...(actor === undefined ? {} : { actor }),
    ...(count === undefined ? {} : { count }),
    ...(atMs === undefined ? {} : { atMs }),
    ...(dims === undefined ? {} : { dims }),
  };
}

/** Epoch ms from a number or an ISO 8601 text; null when it is neither. */
function timeOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? parseIsoTime(value) : null;
}

/** A chosen field may also be a number, as ids in logs often are. */
function textField(
  record: Readonly<Record<string, unknown>>,
  name: string,
  isChosen: boolean,
): string | undefined {
  const value = Object.hasOwn(record, name) ? record[name] : undefined;
  if (typeof value === 'string') return value;
  return isChosen && typeof value === 'number' ? String(value) : undefined;
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === 'string');
}

function isGiven(record: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(record, name);
}
