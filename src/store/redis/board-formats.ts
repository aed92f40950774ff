/** Between the port of boards and what its scripts take and return. */
import type {
  EntryOutcome,
  LocatedMember,
  PartAnswer,
  PartAsk,
  PartRequest,
  PartRow,
  Position,
  Refusal,
  RememberedKey,
  RememberedOutcome,
  RequestOutcome,
  SeasonAt,
  WriteOutcome,
} from '../../boards/store-port.ts';
import { arrayOf, textOf, unexpectedReply } from './replies.ts';

const GONE = -1;
const STALE = -2;
const OTHER_SEASON = -3;

const FINGERPRINT_CHARACTERS = 22;
/** The first element of positions among a script's arguments. */
const FIRST_ELEMENT_ARG = 3;
const LIMB = 2n ** 32n;

const ENTRY_CODES: Readonly<Record<string, EntryOutcome['code']>> = {
  a: 'applied',
  d: 'duplicate',
  n: 'absent',
  r: 'out_of_range',
};

export function seasonInput(seasons: readonly SeasonAt[]): unknown[] {
  return seasons.map(({ view, startsAtMs, endsAtMs, expiresAtMs }) => [
    ...[view, startsAtMs, endsAtMs ?? 0, expiresAtMs ?? 0],
  ]);
}

/** Flat lists, since a script makes tables slowly; left out where they would say nothing. */
export function requestInput(requests: readonly PartRequest[]): Record<string, unknown> {
  const entries = requests.flatMap((request) => request.entries);
  const hasIds = entries.some(({ id }) => id !== null);
  const hasKeys = requests.some(({ key }) => key !== null);
  const isFixed = entries.some(({ mayCreate }) => !mayCreate);
  return {
    members: entries.map(({ member }) => member),
    values: entries.map(({ value }) => value),
    ...(hasIds ? { ids: entries.map(({ id }) => id ?? '') } : {}),
    ...(hasKeys ? { places: entries.map(({ index }) => index) } : {}),
    ...(isFixed ? { fixed: entries.map(({ mayCreate }) => !mayCreate) } : {}),
    requests: requests.map((request) => [
      ...[request.entries.length, Number(request.atomic)],
      ...(request.key === null ? [] : [request.key.key, request.key.fingerprint, request.key.size]),
    ]),
  };
}

/** Elements are bytes and travel beside the JSON. */
export function askInput(asks: readonly PartAsk[]): { asks: unknown[]; elements: Buffer[] } {
  const elements: Buffer[] = [];
  const argOf = ({ element }: Position): number => {
    elements.push(Buffer.from(element, 'latin1'));
    return FIRST_ELEMENT_ARG + elements.length - 1;
  };
  const inputs = asks.map((ask) => {
    switch (ask.kind) {
      case 'rows': {
        const { kind, from, skip, limit } = ask;
        const at = from === null ? {} : { at: argOf(from), key: from.key };
        return { kind, skip, limit, meta: true, ...at, ...withoutInput(ask.without) };
      }
      case 'count': {
        const before = ask.before.map((position) => [position.key, argOf(position)]);
        return { kind: ask.kind, before, ...withoutInput(ask.without) };
      }
      case 'locate':
      case 'levels':
      case 'stats':
        return ask;
    }
  });
  return { asks: inputs, elements };
}

/** Left out rather than null, which Lua would take for a value. */
function withoutInput(without: string | null): { without?: string } {
  return without === null ? {} : { without };
}

export function decodeRefusal(reply: readonly unknown[]): Refusal | null {
  switch (reply[0]) {
    case GONE:
      return { kind: 'gone' };
    case STALE:
      return { kind: 'stale', epoch: textOf(reply[1]) };
    case OTHER_SEASON:
      return { kind: 'other_season', nowMs: Number(reply[1]) };
    default:
      return null;
  }
}

export function decodeWrite(
  reply: readonly unknown[],
  requests: readonly PartRequest[],
): WriteOutcome {
  const outcomes = textOf(reply[1]).split(',');
  const keys = arrayOf(reply[2], 'board-write');
  let at = 0;
  return {
    kind: 'written',
    requests: requests.map(({ entries }, index) => {
      const ofEntries = keys.slice(at, at + entries.length);
      at += entries.length;
      return requestOutcome(outcomes[index] ?? '', ofEntries);
    }),
  };
}

function requestOutcome(text: string, keys: readonly unknown[]): RequestOutcome {
  switch (text[0]) {
    case 'A':
      return {
        kind: 'applied',
        entries: keys.map((key, index) => {
          const code = ENTRY_CODES[text[index + 1] ?? ''];
          if (code === undefined) throw unexpectedReply('board-write', text);
          return { code, key: numberOrNull(key) };
        }),
      };
    case 'F':
      return { kind: 'frozen' };
    case 'R':
      return { kind: 'out_of_range', entry: Number(text.slice(1)) };
    case 'K':
      return { kind: 'key_reused' };
    case 'I':
      return { kind: 'ids_full' };
    default:
      throw unexpectedReply('board-write', text);
  }
}

export function decodeRemembered(reply: readonly unknown[]): RememberedOutcome {
  return {
    kind: 'remembered',
    ids: arrayOf(reply[1], 'board-remembered').map((flag) => flag === 1),
    keys: arrayOf(reply[2], 'board-remembered').map(rememberedKey),
  };
}

function rememberedKey(record: unknown): RememberedKey | null {
  if (!Buffer.isBuffer(record)) return null;
  const bits = record.subarray(FINGERPRINT_CHARACTERS);
  return {
    fingerprint: record.toString('latin1', 0, FINGERPRINT_CHARACTERS),
    elements: Array.from({ length: bits.length * 8 }, (_, index) => {
      return ((bits[index >> 3]! >> (index & 7)) & 1) === 1;
    }),
  };
}

export function decodeAnswers(asks: readonly PartAsk[], replies: readonly unknown[]): PartAnswer[] {
  return asks.map((ask, index) => decodeAnswer(ask, arrayOf(replies[index], 'board-read')));
}

function decodeAnswer(ask: PartAsk, reply: readonly unknown[]): PartAnswer {
  switch (ask.kind) {
    case 'rows':
      return {
        kind: 'rows',
        before: Number(reply[0]),
        start: Number(reply[1]),
        size: Number(reply[2]),
        rows: decodeRows(reply[3], reply[4], reply[5]),
      };
    case 'count':
      return {
        kind: 'count',
        size: Number(reply[0]),
        before: arrayOf(reply[1], 'board-read').map(Number),
      };
    case 'locate':
      return { kind: 'locate', members: reply.map(locatedMember) };
    case 'levels':
      return {
        kind: 'levels',
        count: Number(reply[0]),
        keys: arrayOf(reply[1], 'board-read').map(Number),
      };
    case 'stats':
      return {
        kind: 'stats',
        size: Number(reply[0]),
        sum: BigInt(textOf(reply[1])) * LIMB + BigInt(textOf(reply[2])),
        firstKey: numberOrNull(reply[3]),
        lastKey: numberOrNull(reply[4]),
        counts: arrayOf(reply[5], 'board-read').map(Number),
      };
  }
}

function decodeRows(elements: unknown, keys: unknown, meta: unknown): PartRow[] {
  const allKeys = arrayOf(keys, 'board-read');
  const allMeta = arrayOf(meta, 'board-read');
  return arrayOf(elements, 'board-read').map((element, index) => ({
    key: Number(allKeys[index]),
    element: (element as Buffer).toString('latin1'),
    meta: textOrNull(allMeta[index]),
  }));
}

function locatedMember(reply: unknown): LocatedMember | null {
  if (!Array.isArray(reply)) return null;
  const [key, element, isHidden, meta] = reply as [Buffer, Buffer, number, unknown];
  return {
    key: Number(key),
    element: element.toString('latin1'),
    meta: textOrNull(meta),
    isHidden: isHidden === 1,
  };
}

function numberOrNull(reply: unknown): number | null {
  if (typeof reply === 'number') return reply;
  return Buffer.isBuffer(reply) ? Number(reply) : null;
}

function textOrNull(reply: unknown): string | null {
  return Buffer.isBuffer(reply) ? reply.toString() : null;
}
