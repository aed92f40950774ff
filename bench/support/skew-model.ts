/** How evenly load lies on shards: keys, their shares of all writes, and where their parts are. */
import { createHash } from 'node:crypto';
import { begun, firstLayout, type Layout, routeOf } from '../../src/shards/layout.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';

export const SHARD_COUNT = 16;

/** An unsigned 32-bit number. */
export type HashName = (name: string) => number;

/** The last 32 bits of the digest as a number: modulo 16 the same as the whole of it. */
export const md5Of: HashName = (name) => createHash('md5').update(name).digest().readUInt32BE(12);

export function keyedHashOf(seed: number): HashName {
  const hash = new KeyedHash({ k0: seed, k1: ~seed >>> 0 });
  return (name) => {
    hash.hashString(name);
    return hash.lo;
  };
}

export function keyName(index: number): string {
  return `user${index}`;
}

/** Shares of all writes: rank r has a weight of r to the power of -exponent. */
export function zipfShares(keyCount: number, exponent: number): number[] {
  const weights = Array.from({ length: keyCount }, (_, index) => (index + 1) ** -exponent);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

export interface PartOfKey {
  readonly name: string;
  readonly part: number;
  /** How many the key has; a key of one is not split. */
  readonly parts: number;
}

/** The shard of a part. Keys are placed once each, the hottest first. */
export type Place = (part: PartOfKey) => number;

const SHARDS: Layout = begun(
  firstLayout(
    'shards',
    Array.from({ length: SHARD_COUNT }, (_, shard) => String(shard)),
  ),
);

function shardOf(hash: number): number {
  return Number(routeOf(SHARDS, hash).home);
}

/** Each part wherever the hash of its own name falls. */
export function byHash(hash: HashName): Place {
  return ({ name, part, parts }) =>
    shardOf(hash(parts === 1 ? name : `${name}#${String(part).padStart(2, '0')}`));
}

/** The first part where the key was, the others on the shards that follow. */
export function fromOwnShard(hash: HashName): Place {
  return ({ name, part }) => (shardOf(hash(name)) + part) % SHARD_COUNT;
}

/** Parts of split keys on one shard after the other, over all keys, as one who knows all would. */
export function dealt(hash: HashName): Place {
  let next = 0;
  return ({ name, parts }) => {
    if (parts === 1) return shardOf(hash(name));
    const shard = next;
    next = (next + 1) % SHARD_COUNT;
    return shard;
  };
}

export interface SkewFigures {
  /** The load of the hottest shard to that of the mean one. */
  readonly maxToMean: number;
  /** Share of all load on the hottest shard. */
  readonly hottestShare: number;
  readonly splitKeys: number;
  /** Of a split key: what a read of it touches. 0 if none is split. */
  readonly meanParts: number;
  readonly maxParts: number;
  readonly meanShards: number;
  readonly maxShards: number;
  /** Of all reads, if each key is read as often as it is written. */
  readonly partsPerRead: number;
  readonly shardsPerRead: number;
}

export function measureSkew(
  shares: readonly number[],
  partsOf: ReadonlyMap<string, number>,
  place: Place,
): SkewFigures {
  const loads = new Float64Array(SHARD_COUNT);
  const splits: { parts: number; shards: number }[] = [];
  let partsPerRead = 0;
  let shardsPerRead = 0;
  for (const [index, share] of shares.entries()) {
    const name = keyName(index);
    const parts = partsOf.get(name) ?? 1;
    const shards = new Set<number>();
    for (let part = 0; part < parts; part += 1) {
      const shard = place({ name, part, parts });
      shards.add(shard);
      loads[shard]! += share / parts;
    }
    if (parts > 1) splits.push({ parts, shards: shards.size });
    partsPerRead += share * parts;
    shardsPerRead += share * shards.size;
  }
  const hottestShare = Math.max(...loads);
  const maxOf = (values: readonly number[]): number => Math.max(0, ...values);
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return {
    maxToMean: hottestShare * SHARD_COUNT,
    hottestShare,
    splitKeys: splits.length,
    meanParts: meanOf(splits.map(({ parts }) => parts)),
    maxParts: maxOf(splits.map(({ parts }) => parts)),
    meanShards: meanOf(splits.map(({ shards }) => shards)),
    maxShards: maxOf(splits.map(({ shards }) => shards)),
    partsPerRead,
    shardsPerRead,
  };
}
