import { assert } from '../../lib/assert.ts';
import { cryptoTags, type Tag, type TagSource } from '../../lib/random-tag.ts';
import { BrokenStreamError, StoreUnavailableError } from '../../lib/store-errors.ts';
import { type Bucket, DAY_MS, EXPIRY_SLACK_MS } from '../../streams/buckets.ts';
import { entryTimeMs } from '../../streams/entry-id.ts';
import {
  type AppendOutcome,
  type AppendRequest,
  type AskedIndex,
  type Column,
  type CommitOutcome,
  type CompactionCommit,
  FIRST_GENERATION,
  type FoldCommit,
  type Generation,
  type ListedShare,
  type LogEntry,
  type NewPart,
  type PartitionIndex,
  type PartitionStats,
  type ShareFold,
  type ShareIndex,
  type StoredColumn,
  type StreamStore,
} from '../../streams/store-port.ts';
import type { RedisConnection } from './connection.ts';
import {
  CLIENT_SLOTS_PER_TTL,
  PartitionKeys,
  type RedisKey,
  SERVER_SLOTS_PER_TTL,
} from './keys.ts';
import { readInChunks, readLogEntries, readPartitionStats } from './blob-reads.ts';
import {
  type AckPolicy,
  fenceArg,
  type LuaScript,
  loadScript,
  runScript,
  type ScriptCall,
} from './lua-script.ts';
import { appendOutcome, commitOutcome, SHARE_DELETED } from './script-codes.ts';
import { arrayOf, bufferOf, isWrongType, pairsOf, textOf, unexpectedReply } from './replies.ts';
import {
  decodeColumn,
  decodePartLine,
  encodeColumn,
  encodeIdHead,
  encodePartLine,
  summaryTagOf,
} from './stored-formats.ts';

export interface RedisStreamStoreSettings {
  /** One hash tag for each partition, from `claimDeployment`. */
  readonly partitionTags: readonly string[];
  /** Per partition: bytes and entries that may wait for the fold. */
  readonly maxBacklogBytes: number;
  readonly maxBacklogEntries: number;
  /** How long ids are remembered at least, by Redis's clock. */
  readonly clientIdTtlMs: number;
  readonly serverIdTtlMs: number;
  /** Per partition, for ids of clients and for ids of servers each. */
  readonly maxRememberedIds: number;
  /** The longest time that a level keeps; the record of a deletion outlives its summaries. */
  readonly longestRetentionMs: number;
  /** Null: a write is done when the primary has it. */
  readonly ack: AckPolicy | null;
}

const SCRIPT_NAMES = [
  ...(['append', 'commit-fold', 'commit-compaction', 'read-index'] as const),
  ...(['delete-share', 'drop-stale-summaries', 'prune-shares'] as const),
];
type ScriptName = (typeof SCRIPT_NAMES)[number];

/** In the order in which the scripts take them. */
const COLUMNS: readonly Column[] = ['counts', 'viewers'];

/** A summary of the current day, or of the next, outlives its level's time by at most so much. */
const SUMMARY_EXPIRY_DELAY_MS = 2 * DAY_MS + EXPIRY_SLACK_MS;

/**
 * Streams in Redis 7 or later, one node or a cluster. Each partition lies in the slot of its hash
 * tag; `keys.ts` says what lies there, and the headers of `scripts/` what happens to it.
 */
export class RedisStreamStore implements StreamStore {
  readonly partitionCount: number;
  readonly #connection: RedisConnection;
  readonly #settings: RedisStreamStoreSettings;
  readonly #tags: TagSource;
  readonly #partitions: readonly PartitionKeys[];
  readonly #scripts: ReadonlyMap<ScriptName, LuaScript>;

  constructor(
    connection: RedisConnection,
    settings: RedisStreamStoreSettings,
    tags: TagSource = cryptoTags,
  ) {
    this.#connection = connection;
    this.#settings = settings;
    this.#tags = tags;
    this.#partitions = settings.partitionTags.map((tag) => new PartitionKeys(tag));
    this.#scripts = new Map(
      SCRIPT_NAMES.map((name) => [name, loadScript(name, name === 'append' ? ['id-ring'] : [])]),
    );
    this.partitionCount = this.#partitions.length;
  }

  async append(partition: number, requests: readonly AppendRequest[]): Promise<AppendOutcome[]> {
    if (requests.length === 0) {
      return [];
    }
    const keys = this.#keysOf(partition);
    const { ack, ...settings } = this.#settings;
    const scriptKeys = [
      ...[keys.log, keys.blobs, keys.state, keys.damaged, keys.fence],
      ...keys.idRings,
    ];
    const limits = [
      ...[settings.maxBacklogBytes, settings.maxBacklogEntries, settings.maxRememberedIds],
      Math.ceil(settings.clientIdTtlMs / CLIENT_SLOTS_PER_TTL),
      Math.ceil(settings.serverIdTtlMs / SERVER_SLOTS_PER_TTL),
    ];
    const requestArgs = requests.flatMap((request) => [
      ...[request.idSource, request.id, encodeIdHead(request), request.answer],
      bufferOf(request.blob),
    ]);
    const reply = await this.#connection.writes.sendWrite(keys.slot, (node) => {
      // A tag of its own each time it is sent: after a failover the same requests may make an
      // entry with other bytes, because some of them were repeated elsewhere meanwhile.
      const args = [fenceArg(ack), this.#tags(), ...limits, ...requestArgs];
      return runScript(node, this.#call('append', scriptKeys, args), ack);
    });
    const fields = arrayOf(reply, 'append');
    return requests.map((_, i) => appendOutcome(fields[2 * i], textOf(fields[2 * i + 1])));
  }

  readLog(partition: number, maxEntries: number, maxBytes: number): Promise<LogEntry[]> {
    const keys = this.#keysOf(partition);
    return readLogEntries(this.#connection.reads, keys, maxEntries, maxBytes);
  }

  async commitFold(partition: number, commit: FoldCommit): Promise<CommitOutcome> {
    const keys = this.#keysOf(partition);
    const { entries, aside, shares } = commit;
    const reply = await this.#write(partition, 'commit-fold', {
      keys: [
        ...[keys.log, keys.blobs, keys.state, keys.damaged, keys.due, keys.listed, keys.fence],
        ...shares.flatMap(({ share }) => shareKeysOf(keys, share)),
      ],
      args: [
        ...[entries.length, aside.length, shares.length],
        ...entries.flatMap(({ id, tag }) => [id, tag]),
        ...aside.flatMap(({ reason, blob }) => [reason, bufferOf(blob)]),
        ...shares.flatMap(shareFoldArgs),
      ],
    });
    return commitOutcome(reply);
  }

  async readDueShares(partition: number, nowMs: number, limit: number): Promise<string[]> {
    const keys = this.#keysOf(partition);
    return this.#connection.reads.send(keys.slot, (node) =>
      node.zrangebyscore(keys.due, '-inf', nowMs, 'LIMIT', 0, limit),
    );
  }

  async cancelVisit(partition: number, share: string): Promise<void> {
    const keys = this.#keysOf(partition);
    await this.#connection.writes.send(keys.slot, (node) => node.zrem(keys.due, share));
  }

  async commitCompaction(partition: number, commit: CompactionCommit): Promise<CommitOutcome> {
    const keys = this.#keysOf(partition);
    const { share, generation, removeParts, lostParts, addParts, aside, summaries } = commit;
    const reply = await this.#write(partition, 'commit-compaction', {
      keys: [
        ...shareKeysOf(keys, share),
        ...[keys.due, keys.state, keys.damaged, keys.fence],
        ...summaries.flatMap(({ bucket }) => columnKeysOf(keys, share, bucket)),
      ],
      args: [
        ...[share, generation, commit.remainingParts, commit.compactAtMs ?? ''],
        ...[removeParts.length + lostParts.length, lostParts.length],
        ...[addParts.length, aside.length],
        ...removeParts,
        ...lostParts,
        ...addParts.flatMap(partArgs),
        ...aside.flatMap(({ reason, blob }) => [reason, bufferOf(blob)]),
        ...summaries.flatMap(({ expectedTag, tag, counts, viewers, expiresAtMs }) => [
          ...[expectedTag ?? '', encodeColumn(tag, generation, counts)],
          ...[viewers === null ? '' : encodeColumn(tag, generation, viewers), expiresAtMs],
        ]),
      ],
    });
    return commitOutcome(reply);
  }

  async readIndex(partition: number, asked: readonly AskedIndex[]): Promise<PartitionIndex> {
    const keys = this.#keysOf(partition);
    const scriptKeys = asked.flatMap(({ share, buckets }) => [
      ...shareKeysOf(keys, share),
      ...buckets.map((bucket) => keys.summary(share, bucket, 'counts')),
    ]);
    const summaryCounts = asked.map(({ buckets }) => buckets.length);
    const call = this.#call('read-index', [keys.log, ...scriptKeys], summaryCounts);
    const reply = await this.#connection.reads.send(keys.slot, (node) =>
      runScript(node, call, null),
    );
    const [oldest, ...shares] = arrayOf(reply, 'index');
    const oldestId = textOf(oldest);
    return {
      shares: asked.map((_, at) => indexOf(shares[at])),
      oldestWaitingMs: oldestId === '' ? null : entryTimeMs(oldestId),
    };
  }

  async readSummaries(
    partition: number,
    share: string,
    buckets: readonly Bucket[],
    column: Column,
  ): Promise<(StoredColumn | null)[]> {
    const keys = this.#keysOf(partition);
    if (buckets.length === 0) {
      return [];
    }
    const { record } = keys.share(share);
    const readGeneration = this.#ownKeys(
      this.#connection.reads.send(keys.slot, (node) => node.hget(record, 'generation')),
    );
    // MGET gives null for a key of another type, so that it does not take the others down.
    const readValues = readInChunks(buckets, (chunk) =>
      this.#connection.reads.send(keys.slot, (node) =>
        node.mgetBuffer(...chunk.map((bucket) => keys.summary(share, bucket, column))),
      ),
    );
    const [generation, values] = await Promise.all([readGeneration, readValues]);
    return values.map((value) => decodeColumn(value, generation ?? FIRST_GENERATION));
  }

  async readParts(
    partition: number,
    share: string,
    tags: readonly Tag[],
  ): Promise<(Uint8Array | null)[]> {
    const keys = this.#keysOf(partition);
    const { parts } = keys.share(share);
    const reading = readInChunks(tags, (chunk) =>
      this.#connection.reads.send(keys.slot, (node) => node.hmgetBuffer(parts, ...chunk)),
    );
    return this.#ownKeys(reading);
  }

  async listShares(partition: number, after: string | null, limit: number): Promise<ListedShare[]> {
    const listed: ListedShare[] = [];
    let last = after;
    while (listed.length < limit) {
      const page = await this.#readListed(partition, last, limit - listed.length);
      const generations = await this.#readGenerations(partition, page);
      const gone: string[] = [];
      for (const [i, share] of page.entries()) {
        const generation = generations[i] ?? null;
        if (generation === null) {
          gone.push(share);
        } else {
          listed.push({ share, generation });
        }
      }
      await this.#pruneShares(partition, gone);
      if (page.length === 0) {
        break;
      }
      last = page.at(-1) ?? null;
    }
    return listed;
  }

  async deleteShare(partition: number, share: string, next: Generation): Promise<void> {
    const keys = this.#keysOf(partition);
    const reply = await this.#write(partition, 'delete-share', {
      keys: [...shareKeysOf(keys, share), ...[keys.due, keys.listed, keys.log, keys.fence]],
      args: [share, next, this.#settings.longestRetentionMs + SUMMARY_EXPIRY_DELAY_MS],
    });
    if (reply !== SHARE_DELETED) {
      throw unexpectedReply('delete-share', reply);
    }
  }

  async dropStaleSummaries(
    partition: number,
    share: string,
    buckets: readonly Bucket[],
  ): Promise<void> {
    const keys = this.#keysOf(partition);
    const columnKeys = buckets.flatMap((bucket) => columnKeysOf(keys, share, bucket));
    const scriptKeys = [keys.share(share).record, ...columnKeys];
    const call = this.#call('drop-stale-summaries', scriptKeys, []);
    await this.#ownKeys(this.#tidy(partition, call));
  }

  readStats(partition: number): Promise<PartitionStats> {
    return readPartitionStats(this.#connection.reads, this.#keysOf(partition));
  }

  /** Work on the share's own keys: BrokenStreamError when they hold something else. */
  async #ownKeys<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const isBroken = error instanceof StoreUnavailableError && isWrongType(error.cause);
      throw isBroken ? new BrokenStreamError('keys of a stream are damaged') : error;
    }
  }

  async #readListed(partition: number, after: string | null, limit: number): Promise<string[]> {
    const keys = this.#keysOf(partition);
    const min = after === null ? '-' : `(${after}`;
    return this.#connection.reads.send(keys.slot, (node) =>
      node.zrangebylex(keys.listed, min, '+', 'LIMIT', 0, limit),
    );
  }

  /** Null where the share's record has expired, or is none. */
  async #readGenerations(
    partition: number,
    shares: readonly string[],
  ): Promise<(Generation | null)[]> {
    const keys = this.#keysOf(partition);
    return this.#connection.reads.send(keys.slot, (node) =>
      Promise.all(
        shares.map((share) =>
          node.hget(keys.share(share).record, 'generation').catch((error: unknown) => {
            if (isWrongType(error)) {
              return null;
            }
            throw error;
          }),
        ),
      ),
    );
  }

  async #pruneShares(partition: number, shares: readonly string[]): Promise<void> {
    if (shares.length === 0) {
      return;
    }
    const keys = this.#keysOf(partition);
    const scriptKeys = [keys.listed, ...shares.map((share) => keys.share(share).record)];
    await this.#tidy(partition, this.#call('prune-shares', scriptKeys, shares));
  }

  /** A write that nobody was promised: it needs no replicas. */
  async #tidy(partition: number, call: ScriptCall): Promise<void> {
    const { slot } = this.#keysOf(partition);
    await this.#connection.writes.send(slot, (node) => runScript(node, call, null));
  }

  /** A write whose own checks make a repetition harmless; puts the fence argument first. */
  #write(
    partition: number,
    script: ScriptName,
    { keys, args }: Pick<ScriptCall, 'keys' | 'args'>,
  ): Promise<unknown> {
    const { ack } = this.#settings;
    const { slot } = this.#keysOf(partition);
    const call = this.#call(script, keys, [fenceArg(ack), ...args]);
    return this.#connection.writes.send(slot, (node) => runScript(node, call, ack));
  }

  #call(name: ScriptName, keys: readonly RedisKey[], args: ScriptCall['args']): ScriptCall {
    const script = this.#scripts.get(name);
    assert(script !== undefined, 'every script is loaded');
    return { script, keys, args };
  }

  #keysOf(partition: number): PartitionKeys {
    const keys = this.#partitions[partition];
    assert(keys !== undefined, 'a partition is 0..partitionCount - 1');
    return keys;
  }
}

function shareKeysOf(keys: PartitionKeys, share: string): RedisKey[] {
  const { record, open, parts } = keys.share(share);
  return [record, open, parts];
}

function columnKeysOf(keys: PartitionKeys, share: string, bucket: Bucket): RedisKey[] {
  return COLUMNS.map((column) => keys.summary(share, bucket, column));
}

/** Null when the share's own keys hold what they must not hold. */
function indexOf(reply: unknown): ShareIndex | null {
  if (reply === null) {
    return null;
  }
  const [generationText, deletedThrough, openFields, heads] = arrayOf(reply, 'index');
  const generation = textOf(generationText);
  const lines = pairsOf(arrayOf(openFields, 'index'));
  const parts = lines.map(([tag, line]) => decodePartLine(textOf(tag), textOf(line)));
  if (!parts.every((part) => part !== null)) {
    return null;
  }
  return {
    generation,
    deletedThrough: textOf(deletedThrough) || null,
    parts,
    summaryTags: arrayOf(heads, 'index').map((head) => summaryTagOf(textOf(head), generation)),
  };
}

function shareFoldArgs(fold: ShareFold): (string | number | Buffer)[] {
  const { share, generation, compactAtMs, isListed, keptUntilMs, parts } = fold;
  return [
    ...[share, generation, compactAtMs, isListed ? '1' : '0', keptUntilMs, parts.length],
    ...parts.flatMap(partArgs),
  ];
}

function partArgs(part: NewPart): (string | Buffer)[] {
  return [part.tag, encodePartLine(part), bufferOf(part.blob)];
}
