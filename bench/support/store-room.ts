/** The streams room on a Redis, wired by hand: for benches that fill it or ask it without HTTP. */
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { cryptoTags } from '../../src/lib/random-tag.ts';
import { hashKeyFromBytes, KeyedHash } from '../../src/sketches/hash.ts';
import { connectRedis } from '../../src/store/redis/connection.ts';
import { claimDeployment } from '../../src/store/redis/deployment.ts';
import { documentKeys } from '../../src/store/redis/keys.ts';
import { RedisDocumentStore } from '../../src/store/redis/redis-document-store.ts';
import { RedisStreamStore } from '../../src/store/redis/redis-stream-store.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { openStreamsRoom, type StreamsRoom } from '../../src/streams/streams-room.ts';

const MIB = 2 ** 20;

export interface RoomOnRedis extends StreamsRoom {
  close(): void;
}

export async function openRoomOnRedis(
  url: string,
  clock: Clock = systemClock,
): Promise<RoomOnRedis> {
  const connection = await connectRedis(url);
  const deployment = await claimDeployment(connection, {
    partitions: null,
    hashSecret: null,
    ack: null,
  });
  const { partitionTags, hashSecret } = deployment;
  const settings = {
    partitionTags,
    maxBacklogBytes: 256 * MIB,
    maxBacklogEntries: 20_000,
    clientIdTtlMs: DAY_MS,
    serverIdTtlMs: 10 * MINUTE_MS,
    maxRememberedIds: 1_000_000,
    longestRetentionMs: 400 * DAY_MS,
    ack: null,
  };
  const room = openStreamsRoom({
    store: new RedisStreamStore(connection, settings, cryptoTags),
    registryStore: new RedisDocumentStore(connection, documentKeys('registry'), null, cryptoTags),
    maxStreams: 10_000,
    clock,
    tags: cryptoTags,
    hash: new KeyedHash(hashKeyFromBytes(Buffer.from(hashSecret, 'hex'))),
    retention: { minute: 25 * HOUR_MS, hour: 32 * DAY_MS, day: 400 * DAY_MS },
    maxFutureMs: MINUTE_MS,
    cacheBytes: 256 * MIB,
  });
  return { ...room, close: () => connection.close() };
}
