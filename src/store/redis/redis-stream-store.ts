import { assert } from '../../lib/assert.ts';
import { cryptoTags, type Tag, type TagSource } from '../../lib/random-tag.ts';
import { StoreUnavailableError } from '../../lib/store-errors.ts';
import { type Bucket, EXPIRY_SLACK_MS, HOUR_MS } from '../../streams/buckets.ts';
import { entryTimeMs } from '../../streams/entry-id.ts';
import {
  type AppendOutcome,
  type AppendRequest,
  type CommitOutcome,
  type CompactionCommit,
  FIRST_GENERATION,
  type FoldCommit,
  type Generation,
  type ListedStream,
  type LogEntry,
  type NewPart,
  type PartitionStats,
  type StoredSummary,
  type StreamFold,
  type StreamIndex,
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
import { appendOutcome, commitOutcome, INDEX_BROKEN, STREAM_DELETED } from './script-codes.ts';
import { arrayOf, bufferOf, isWrongType, pairsOf, textOf, unexpectedReply } from './replies.ts';
import {
  brokenStream,
  decodePartLine,
  decodeSummary,
  encodeIdHead,
  encodePartLine,
  encodeSummary,
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
  ...(['delete-stream', 'drop-stale-summaries', 'prune-streams'] as const),
];
type ScriptName = (typeof SCRIPT_NAMES)[number];

/** A summary of the current hour, or of the next, outlives its level's time by at most so much. */
const SUMMARY_EXPIRY_DELAY_MS = 2 * HOUR_MS + EXPIRY_SLACK_MS;

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
    this.#scripts = new Map(SCRIPT_NAMES.map((name) => [name, loadScript(name)]));
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
    const { entries, aside, streams } = commit;
    const reply = await this.#write(partition, 'commit-fold', {
      keys: [
        ...[keys.log, keys.blobs, keys.state, keys.damaged, keys.due, keys.streams, keys.fence],
        ...streams.flatMap(({ stream }) => streamKeysOf(keys, stream)),
      ],
      args: [
        ...[entries.length, aside.length, streams.length],
        ...entries.flatMap(({ id, tag }) => [id, tag]),
        ...aside.flatMap(({ reason, blob }) => [reason, bufferOf(blob)]),
        ...streams.flatMap(streamFoldArgs),
      ],
    });
    return commitOutcome(reply);
  }

  async readDueStreams(partition: number, nowMs: number, limit: number): Promise<string[]> {
    const keys = this.#keysOf(partition);
    return this.#connection.reads.send(keys.slot, (node) =>
      node.zrangebyscore(keys.due, '-inf', nowMs, 'LIMIT', 0, limit),
    );
  }

  async cancelVisit(partition: number, stream: string): Promise<void> {
    const keys = this.#keysOf(partition);
    await this.#connection.writes.send(keys.slot, (node) => node.zrem(keys.due, stream));
  }

  async commitCompaction(partition: number, commit: CompactionCommit): Promise<CommitOutcome> {
    const keys = this.#keysOf(partition);
    const { stream, generation, removeParts, lostParts, addParts, aside, summaries } = commit;
    const reply = await this.#write(partition, 'commit-compaction', {
      keys: [
        ...streamKeysOf(keys, stream),
        ...[keys.due, keys.state, keys.damaged, keys.fence],
        ...summaries.map(({ bucket }) => keys.summary(stream, bucket)),
      ],
      args: [
        ...[stream, generation, commit.remainingParts, commit.compactAtMs ?? ''],
        ...[removeParts.length + lostParts.length, lostParts.length],
        ...[addParts.length, aside.length],
        ...removeParts,
        ...lostParts,
        ...addParts.flatMap(partArgs),
        ...aside.flatMap(({ reason, blob }) => [reason, bufferOf(blob)]),
        ...summaries.flatMap(({ expectedTag, tag, blob, expiresAtMs }) => [
          ...[expectedTag ?? '', encodeSummary(tag, generation, blob), expiresAtMs],
        ]),
      ],
    });
    return commitOutcome(reply);
  }

  async readIndex(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
  ): Promise<StreamIndex> {
    const keys = this.#keysOf(partition);
    const summaryKeys = buckets.map((bucket) => keys.summary(stream, bucket));
    const scriptKeys = [...streamKeysOf(keys, stream), keys.log, ...summaryKeys];
    const call = this.#call('read-index', scriptKeys, []);
    const reply = await this.#connection.reads.send(keys.slot, (node) =>
      runScript(node, call, null),
    );
    if (reply === INDEX_BROKEN) {
      throw brokenStream(stream);
    }
    const [generationText, deletedThrough, openFields, heads, oldest] = arrayOf(reply, 'index');
    const generation = textOf(generationText);
    const oldestId = textOf(oldest);
    return {
      generation,
      deletedThrough: textOf(deletedThrough) || null,
      parts: pairsOf(arrayOf(openFields, 'index')).map(([tag, line]) =>
        decodePartLine(stream, textOf(tag), textOf(line)),
      ),
      summaryTags: arrayOf(heads, 'index').map((head) => summaryTagOf(textOf(head), generation)),
      oldestWaitingMs: oldestId === '' ? null : entryTimeMs(oldestId),
    };
  }

  async readSummaries(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
  ): Promise<(StoredSummary | null)[]> {
    const keys = this.#keysOf(partition);
    if (buckets.length === 0) {
      return [];
    }
    const { record } = keys.stream(stream);
    const readGeneration = this.#ownKeys(
      stream,
      this.#connection.reads.send(keys.slot, (node) => node.hget(record, 'generation')),
    );
    // MGET gives null for a key of another type, so that it does not take the others down.
    const readValues = readInChunks(buckets, (chunk) =>
      this.#connection.reads.send(keys.slot, (node) =>
        node.mgetBuffer(...chunk.map((bucket) => keys.summary(stream, bucket))),
      ),
    );
    const [generation, values] = await Promise.all([readGeneration, readValues]);
    return values.map((value) => decodeSummary(value, generation ?? FIRST_GENERATION));
  }

  async readParts(
    partition: number,
    stream: string,
    tags: readonly Tag[],
  ): Promise<(Uint8Array | null)[]> {
    const keys = this.#keysOf(partition);
    const { parts } = keys.stream(stream);
    const reading = readInChunks(tags, (chunk) =>
      this.#connection.reads.send(keys.slot, (node) => node.hmgetBuffer(parts, ...chunk)),
    );
    return this.#ownKeys(stream, reading);
  }

  async listStreams(
    partition: number,
    after: string | null,
    limit: number,
  ): Promise<ListedStream[]> {
    const listed: ListedStream[] = [];
    let last = after;
    while (listed.length < limit) {
      const page = await this.#readNames(partition, last, limit - listed.length);
      const generations = await this.#readGenerations(partition, page);
      const gone: string[] = [];
      for (const [i, stream] of page.entries()) {
        const generation = generations[i] ?? null;
        if (generation === null) {
          gone.push(stream);
        } else {
          listed.push({ stream, generation });
        }
      }
      await this.#pruneStreams(partition, gone);
      if (page.length === 0) {
        break;
      }
      last = page.at(-1) ?? null;
    }
    return listed;
  }

  async deleteStream(partition: number, stream: string, next: Generation): Promise<void> {
    const keys = this.#keysOf(partition);
    const reply = await this.#write(partition, 'delete-stream', {
      keys: [...streamKeysOf(keys, stream), ...[keys.due, keys.streams, keys.log, keys.fence]],
      args: [stream, next, this.#settings.longestRetentionMs + SUMMARY_EXPIRY_DELAY_MS],
    });
    if (reply !== STREAM_DELETED) {
      throw unexpectedReply('delete-stream', reply);
    }
  }

  async dropStaleSummaries(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
  ): Promise<void> {
    const keys = this.#keysOf(partition);
    const summaryKeys = buckets.map((bucket) => keys.summary(stream, bucket));
    const scriptKeys = [keys.stream(stream).record, ...summaryKeys];
    const call = this.#call('drop-stale-summaries', scriptKeys, []);
    await this.#ownKeys(stream, this.#tidy(partition, call));
  }

  readStats(partition: number): Promise<PartitionStats> {
    return readPartitionStats(this.#connection.reads, this.#keysOf(partition));
  }

  /** Work on the stream's own keys: BrokenStreamError when they hold something else. */
  async #ownKeys<T>(stream: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const isBroken = error instanceof StoreUnavailableError && isWrongType(error.cause);
      throw isBroken ? brokenStream(stream) : error;
    }
  }

  async #readNames(partition: number, after: string | null, limit: number): Promise<string[]> {
    const keys = this.#keysOf(partition);
    const min = after === null ? '-' : `(${after}`;
    return this.#connection.reads.send(keys.slot, (node) =>
      node.zrangebylex(keys.streams, min, '+', 'LIMIT', 0, limit),
    );
  }

  /** Null where the stream's record has expired, or is none. */
  async #readGenerations(
    partition: number,
    streams: readonly string[],
  ): Promise<(Generation | null)[]> {
    const keys = this.#keysOf(partition);
    return this.#connection.reads.send(keys.slot, (node) =>
      Promise.all(
        streams.map((stream) =>
          node.hget(keys.stream(stream).record, 'generation').catch((error: unknown) => {
            if (isWrongType(error)) {
              return null;
            }
            throw error;
          }),
        ),
      ),
    );
  }

  async #pruneStreams(partition: number, streams: readonly string[]): Promise<void> {
    if (streams.length === 0) {
      return;
    }
    const keys = this.#keysOf(partition);
    const scriptKeys = [keys.streams, ...streams.map((stream) => keys.stream(stream).record)];
    await this.#tidy(partition, this.#call('prune-streams', scriptKeys, streams));
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

function streamKeysOf(keys: PartitionKeys, stream: string): RedisKey[] {
  const { record, open, parts } = keys.stream(stream);
  return [record, open, parts];
}

function streamFoldArgs(fold: StreamFold): (string | number | Buffer)[] {
  return [
    ...[fold.stream, fold.generation, fold.compactAtMs, fold.listedUntilMs, fold.parts.length],
    ...fold.parts.flatMap(partArgs),
  ];
}

function partArgs(part: NewPart): (string | Buffer)[] {
  return [part.tag, encodePartLine(part), bufferOf(part.blob)];
}
