/**
 * Reads that fetch blobs with plain commands: no blob passes through Lua on a read. What they
 * find is right because a tag names its bytes for ever; what is gone meanwhile is simply absent.
 */
import { entryTimeMs } from '../../streams/entry-id.ts';
import type { LogEntry, PartitionStats } from '../../streams/store-port.ts';
import type { PartitionKeys } from './keys.ts';
import type { SlotClient } from './slot-client.ts';

/** A reply of this size or a little more holds a connection up for some milliseconds. */
const CHUNK_BYTES = 8 * 1024 * 1024;
/** Before any size is known: the minutes of an hour are read in two round trips. */
const FIRST_CHUNK_LENGTH = 16;
const CHUNK_LENGTH_MAX = 64;

/**
 * Fetches a value for each name, in their order, a limited number of names and about CHUNK_BYTES
 * in each round trip.
 */
export async function readInChunks<Name>(
  names: readonly Name[],
  fetch: (chunk: readonly Name[]) => Promise<readonly (Buffer | null)[]>,
): Promise<(Buffer | null)[]> {
  const values: (Buffer | null)[] = [];
  let readBytes = 0;
  let chunkLength = FIRST_CHUNK_LENGTH;
  while (values.length < names.length) {
    const chunk = await fetch(names.slice(values.length, values.length + chunkLength));
    for (const value of chunk) {
      values.push(value);
      readBytes += value?.length ?? 0;
    }
    const fitting = Math.floor((CHUNK_BYTES * values.length) / Math.max(readBytes, 1));
    chunkLength = Math.max(1, Math.min(fitting, CHUNK_LENGTH_MAX));
  }
  return values;
}

interface ListedEntry {
  readonly id: string;
  readonly tag: string;
  readonly bytes: number;
}

/**
 * The oldest entries, as many as fit into `maxBytes` but at least one. An entry that another
 * worker folds meanwhile is left out. One that has lost its blob is given with an empty one, as
 * no append makes it: the fold moves it aside instead of stumbling over it for ever.
 */
export async function readLogEntries(
  client: SlotClient,
  keys: PartitionKeys,
  maxEntries: number,
  maxBytes: number,
): Promise<LogEntry[]> {
  const chosen = fitting(await listLog(client, keys, maxEntries), maxBytes);
  const blobs = await readInChunks(chosen, (chunk) =>
    client.send(keys.slot, (node) =>
      node.hmgetBuffer(keys.blobs, ...chunk.map((entry) => entry.tag)),
    ),
  );
  const isWhole = blobs.every((blob) => blob !== null);
  const stillListed = isWhole ? [] : await listLog(client, keys, maxEntries);
  const stillTags = new Set(stillListed.map((entry) => entry.tag));
  return chosen.flatMap(({ id, tag }, i) => {
    const blob = blobs[i] ?? null;
    if (blob === null && !stillTags.has(tag)) {
      return [];
    }
    return [{ id, tag, blob: blob ?? new Uint8Array(0) }];
  });
}

function fitting(entries: readonly ListedEntry[], maxBytes: number): ListedEntry[] {
  const chosen: ListedEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    bytes += entry.bytes;
    if (chosen.length > 0 && bytes > maxBytes) {
      break;
    }
    chosen.push(entry);
  }
  return chosen;
}

async function listLog(
  client: SlotClient,
  keys: PartitionKeys,
  maxEntries: number,
): Promise<ListedEntry[]> {
  const entries = await client.send(keys.slot, (node) =>
    node.xrange(keys.log, '-', '+', 'COUNT', maxEntries),
  );
  return entries.map(([id, fields]) => ({
    id,
    tag: fields[1] ?? '',
    bytes: Number(fields[3]),
  }));
}

export async function readPartitionStats(
  client: SlotClient,
  keys: PartitionKeys,
): Promise<PartitionStats> {
  const [logLength, [waitingBytes, damagedBytes], oldest, damagedEntries] = await client.send(
    keys.slot,
    (node) =>
      Promise.all([
        node.xlen(keys.log),
        node.hmget(keys.state, 'waitingBytes', 'damagedBytes'),
        node.xrange(keys.log, '-', '+', 'COUNT', 1),
        node.xlen(keys.damaged),
      ]),
  );
  const oldestId = oldest[0]?.[0];
  return {
    waitingEntries: logLength,
    waitingBytes: Number(waitingBytes ?? 0) + (damagedEntries > 0 ? Number(damagedBytes) : 0),
    oldestWaitingMs: oldestId === undefined ? null : entryTimeMs(oldestId),
    damagedEntries,
  };
}
