import { MINUTE_MS } from '../../streams/buckets.ts';
import type { FieldChoice, ImportEvent } from './parsed-line.ts';

/**
 * The combined log format of Apache httpd ("%h %l %u %t \"%r\" %>s %b \"%{Referer}i\"
 * \"%{User-agent}i\"", https://httpd.apache.org/docs/2.4/logs.html) and nginx. Referrer and agent
 * may be missing (the common format), and more fields may follow. A quote inside a quoted field
 * is escaped by a backslash; nothing is unescaped here. Users may contain spaces.
 */
const LINE = new RegExp(
  [
    /^(?<address>\S+) \S+ (?<user>.*?) /,
    /\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] /,
    /"(?<request>[^"\\]*(?:\\.[^"\\]*)*)" (?<status>\d{3}|-) (?<bytes>\d+|-)/,
    // A quote that is opened here must be closed: else the line was cut off.
    /(?: "(?<referrer>[^"\\]*(?:\\.[^"\\]*)*)" "(?<agent>[^"\\]*(?:\\.[^"\\]*)*)"|(?! "))(?: |$)/,
  ]
    .map((part) => part.source)
    .join(''),
);

/** The method (a token of RFC 9110), the target, and the protocol, which HTTP/0.9 left out. */
const REQUEST = /^(?<method>[!#$%&'*+\-.^_`|~0-9A-Za-z]+) (?<url>.+?)(?: (?<protocol>HTTP\/\S+))?$/;

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** What `--item` and `--actor` may name; each is taken raw, as logged. */
export const COMBINED_FIELDS = [
  'address',
  'user',
  'method',
  'path',
  'url',
  'protocol',
  'status',
  'bytes',
  'referrer',
  'agent',
] as const;

const FIELDS_OF_REQUEST: ReadonlySet<string> = new Set(['method', 'path', 'url', 'protocol']);
/** What servers log where there is nothing. */
const NOTHING = '-';

/** An event, or what is wrong with the line. */
export function parseCombinedLine(text: string, fields: FieldChoice): ImportEvent | string {
  const match = LINE.exec(text);
  if (match === null) return 'not in the combined log format';
  const atMs = timeOf(match);
  if (atMs === null) return 'the time does not exist';
  const itemField = fields.item ?? 'path';
  const actorField = fields.actor ?? 'address';
  const groups = match.groups ?? {};
  const request = needsRequest(itemField, actorField)
    ? requestFieldsOf(groups['request'] ?? '')
    : {};
  if (request === null) return 'no method and path in the request';
  const item = groups[itemField] ?? request[itemField];
  if (item === undefined) return `no ${itemField} in the line`;
  const actor = groups[actorField] ?? request[actorField];
  const hasActor = actor !== undefined && actor !== NOTHING && actor !== '';
  return { item, atMs, ...(hasActor ? { actor } : {}) };
}

function needsRequest(itemField: string, actorField: string): boolean {
  return FIELDS_OF_REQUEST.has(itemField) || FIELDS_OF_REQUEST.has(actorField);
}

function requestFieldsOf(request: string): Readonly<Record<string, string | undefined>> | null {
  const groups = REQUEST.exec(request)?.groups;
  if (groups === undefined) return null;
  return { ...groups, path: withoutQuery(groups['url'] ?? '') };
}

function withoutQuery(url: string): string {
  const queryAt = url.indexOf('?');
  return queryAt === -1 ? url : url.slice(0, queryAt);
}

/** Epoch ms of `[10/Oct/2000:13:55:36 -0700]`; null when there is no such day or time. */
function timeOf(match: RegExpExecArray): number | null {
  const [day, monthName = '', year, hour, minute, second, sign, offsetHours, offsetMinutes] =
    match.slice(3, 12);
  const month = MONTHS.indexOf(monthName);
  const isClockTime = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  const isOffset = Number(offsetHours) < 24 && Number(offsetMinutes) < 60;
  // Date.UTC carries 31 April over into May, so the day is compared afterwards.
  const dayMs = Date.UTC(Number(year), month, Number(day));
  const isDay = month !== -1 && new Date(dayMs).getUTCDate() === Number(day);
  if (!isClockTime || !isOffset || !isDay) return null;
  const minutes = Number(hour) * 60 + Number(minute);
  const minutesEast = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -1 : 1);
  return dayMs + (minutes - minutesEast) * MINUTE_MS + Number(second) * 1000;
}
