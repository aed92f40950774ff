/**
 * The only place that spells the names of keys. All keys of a partition carry its hash tag, so
 * that they lie in one slot and one script may touch them together.
 */
import { ALL_TIME } from '../../boards/store-port.ts';
import type { Bucket, Level } from '../../streams/buckets.ts';
import type { Column } from '../../streams/store-port.ts';
import { slotOfHashTag } from './hash-slot.ts';

declare const redisKeyBrand: unique symbol;
export type RedisKey = string & { readonly [redisKeyBrand]: true };

/** The rings of hashes in time that remember ids; `append.lua` knows their sizes too. */
const CLIENT_RING_SIZE = 6;
const SERVER_RING_SIZE = 3;

/** A hash that expires holds ids for this many slots of its ring at least. */
export const CLIENT_SLOTS_PER_TTL = CLIENT_RING_SIZE - 2;
export const SERVER_SLOTS_PER_TTL = SERVER_RING_SIZE - 2;

/** The same of a part of a board; `board-part.lua` knows their sizes too. */
const BOARD_KEY_RING_SIZE = 4;
const BOARD_ID_RING_SIZE = 4;
const BOARD_CALL_RING_SIZE = 3;

/** How many slots of a ring an id is remembered for at least: keys, ids, calls. */
export const BOARD_SLOTS_PER_TTL = [
  BOARD_KEY_RING_SIZE - 2,
  BOARD_ID_RING_SIZE - 2,
  BOARD_CALL_RING_SIZE - 2,
] as const;

const LEVEL_LETTERS: Readonly<Record<Level, string>> = { minute: 'm', hour: 'h', day: 'd' };

/** No name holds a colon: all but a few characters of names are percent-encoded. */
const COLUMN_SUFFIXES: Readonly<Record<Column, string>> = { counts: '', viewers: ':v' };

const DEPLOYMENT_TAG = 'tally';

export interface ShareKeys {
  /** Hash: generation, deletedThrough. Expires when nothing of the share is kept any more. */
  readonly record: RedisKey;
  /** Hash: tag of an open part -> its index line. */
  readonly open: RedisKey;
  /** Hash: tag of an open part -> its blob. */
  readonly parts: RedisKey;
}

export class PartitionKeys {
  readonly slot: number;
  /** Stream: one entry for each append, with the tag and the size of its blob. */
  readonly log: RedisKey;
  /** Hash: tag of a log entry -> its blob. Apart from the log, so that no check reads a blob. */
  readonly blobs: RedisKey;
  /** Hash: waitingBytes, damagedBytes. */
  readonly state: RedisKey;
  /** Stream: what was acknowledged and could not be used. May be deleted by hand. */
  readonly damaged: RedisKey;
  /** Sorted set: a share, by the time of its next visit of the compaction. */
  readonly due: RedisKey;
  /** Sorted set of the listed shares, all with score 0: in the order of their bytes. */
  readonly listed: RedisKey;
  /** String: written before a WAIT, so that WAIT has something to wait for. */
  readonly fence: RedisKey;
  readonly idRings: readonly RedisKey[];
  readonly #tag: string;

  constructor(tag: string) {
    this.#tag = tag;
    this.slot = slotOfHashTag(tag);
    this.log = keyOf(tag, 'log');
    this.blobs = keyOf(tag, 'blobs');
    this.state = keyOf(tag, 'state');
    this.damaged = keyOf(tag, 'damaged');
    this.due = keyOf(tag, 'due');
    this.listed = keyOf(tag, 'streams');
    this.fence = keyOf(tag, 'fence');
    this.idRings = [
      ...Array.from({ length: CLIENT_RING_SIZE }, (_, i) => keyOf(tag, `ids:client:${i}`)),
      ...Array.from({ length: SERVER_RING_SIZE }, (_, i) => keyOf(tag, `ids:server:${i}`)),
    ];
  }

  share(share: string): ShareKeys {
    const name = encodeName(share);
    return {
      record: keyOf(this.#tag, `s:${name}`),
      open: keyOf(this.#tag, `open:${name}`),
      parts: keyOf(this.#tag, `parts:${name}`),
    };
  }

  /** String: a head (tag, generation) and a column of the summary. Expires with its level. */
  summary(share: string, { level, startMs }: Bucket, column: Column): RedisKey {
    const name = encodeName(share);
    return keyOf(this.#tag, `${LEVEL_LETTERS[level]}:${startMs}:${name}${COLUMN_SUFFIXES[column]}`);
  }
}

/** Of one part of a board; its name is the hash tag, so that parts land in slots of their own. */
export class BoardPartKeys {
  readonly slot: number;
  /** Those of every script, in the order that `board-part.lua` knows. */
  readonly fixed: readonly RedisKey[];
  readonly #tag: string;
  /** Hash: member -> the time at which its all-time score was reached, or nothing. */
  readonly #members: RedisKey;

  constructor(part: string) {
    const tag = `b.${part}`;
    this.#tag = tag;
    this.slot = slotOfHashTag(tag);
    this.#members = keyOf(tag, 'members');
    this.fixed = [
      // Hash: epoch, moving, released, admitted. While it is there the part is.
      keyOf(tag, 'state'),
      keyOf(tag, 'fence'),
      this.#members,
      // Hash: member -> JSON.
      keyOf(tag, 'meta'),
      // Hash: the members of the chunk that is under way.
      keyOf(tag, 'moving'),
      ...ringOf(tag, 'keys', BOARD_KEY_RING_SIZE),
      ...ringOf(tag, 'ids', BOARD_ID_RING_SIZE),
      ...ringOf(tag, 'calls', BOARD_CALL_RING_SIZE),
    ];
  }

  /** Shown and hidden rows, times, totals, levels and how many are on each; all may expire. */
  season(view: string, id: string): RedisKey[] {
    const season = `${encodeName(view)}:${id}`;
    return [
      keyOf(this.#tag, `shown:${season}`),
      keyOf(this.#tag, `hidden:${season}`),
      id === ALL_TIME ? this.#members : keyOf(this.#tag, `times:${season}`),
      keyOf(this.#tag, `totals:${season}`),
      keyOf(this.#tag, `levels:${season}`),
      keyOf(this.#tag, `counts:${season}`),
    ];
  }
}

function ringOf(tag: string, name: string, size: number): RedisKey[] {
  return Array.from({ length: size }, (_, index) => keyOf(tag, `${name}:${index}`));
}

export const deploymentKeys = {
  slot: slotOfHashTag(DEPLOYMENT_TAG),
  /** Hash: hashSecret, partitionTags, createdAtSeconds. */
  deployment: keyOf(DEPLOYMENT_TAG, 'deployment'),
  fence: keyOf(DEPLOYMENT_TAG, 'fence'),
} as const;

/** All in one slot. */
export interface DocumentKeys {
  readonly slot: number;
  /** String: another one after every change of a document. */
  readonly revision: RedisKey;
  /** Hash: name -> tag of its document. */
  readonly tags: RedisKey;
  /** Hash: name -> tag and text of its document. */
  readonly documents: RedisKey;
  readonly fence: RedisKey;
}

/** Which documents: those of streams, or those of boards. */
export type DocumentKind = 'registry' | 'boards';

/** In the deployment's own slot, unless another hash tag is given. */
export function documentKeys(kind: DocumentKind, tag: string = DEPLOYMENT_TAG): DocumentKeys {
  return {
    slot: slotOfHashTag(tag),
    revision: keyOf(tag, `${kind}:revision`),
    tags: keyOf(tag, `${kind}:tags`),
    documents: keyOf(tag, `${kind}:documents`),
    fence: keyOf(tag, 'fence'),
  };
}

/** Hash: process -> its report of what is hot. */
export function ratesKey(kind: string): { readonly slot: number; readonly key: RedisKey } {
  return { slot: slotOfHashTag(DEPLOYMENT_TAG), key: keyOf(DEPLOYMENT_TAG, `rates:${kind}`) };
}

function keyOf(tag: string, rest: string): RedisKey {
  return `{${tag}}:${rest}` as RedisKey;
}

/** Percent-encodes all but `A-Z a-z 0-9 . _ -`, so that no name can reach into the syntax. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(
    /[!~*'()]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
