import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { drawRegisters, hashWith } from '../support/draw-registers.ts';
import { murmur64a } from '../support/murmur64a.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { numbered, registersHex } from '../support/sketch-of.ts';

const REGISTER_COUNT = 16_384;
const ENCODING_OFFSET = 4;
const DENSE = 0;
const SPARSE = 1;
const CARDINALITY_OFFSET = 8;
const PFADD_ELEMENTS_MAX = 1000;

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis({ path: server.socketPath });
});

afterAll(async () => {
  await redis.quit();
  await server.stop();
});

beforeEach(async () => {
  await redis.flushall();
});

function murmurSketch(elements: Iterable<string>): HyperLogLog {
  const sketch = new HyperLogLog();
  for (const element of elements) {
    const { lo, hi } = murmur64a(element);
    sketch.addHash(lo, hi);
  }
  return sketch;
}

async function addToRedis(key: string, elements: readonly string[]): Promise<void> {
  // Without elements PFADD makes an empty sketch.
  if (elements.length === 0) await redis.pfadd(key);
  for (let start = 0; start < elements.length; start += PFADD_ELEMENTS_MAX) {
    await redis.pfadd(key, ...elements.slice(start, start + PFADD_ELEMENTS_MAX));
  }
}

async function storedBytes(key: string): Promise<Buffer> {
  const bytes = await redis.getBuffer(key);
  if (bytes === null) throw new Error(`no key ${key}`);
  return bytes;
}

/** What Redis itself reads in the registers; on a copy, since this makes them dense. */
async function registersInRedis(key: string): Promise<string> {
  await redis.copy(key, 'copy', 'REPLACE');
  const registers = (await redis.call('PFDEBUG', 'GETREG', 'copy')) as number[];
  expect(registers).toHaveLength(REGISTER_COUNT);
  return registersHex({ registers });
}

/** Bytes with the cached cardinality marked stale, as our canonical bytes have it. */
function withStaleCache(bytes: Buffer): string {
  const copy = Buffer.from(bytes);
  copy.fill(0, CARDINALITY_OFFSET, CARDINALITY_OFFSET + 8);
  copy[CARDINALITY_OFFSET + 7] = 0x80;
  return copy.toString('hex');
}

describe('HyperLogLog beside a real Redis', () => {
  it.each([
    [0, SPARSE],
    [1, SPARSE],
    [10, SPARSE],
    [100, SPARSE],
    [1000, SPARSE],
    [1537, SPARSE],
    [3000, DENSE],
    [10_000, DENSE],
    [100_000, DENSE],
  ])('has the registers and the bytes of PFADD after %i elements', async (count, encoding) => {
    const elements = [...numbered('element:', 0, count)];
    const sketch = murmurSketch(elements);
    await addToRedis('theirs', elements);
    const theirs = await storedBytes('theirs');
    expect(theirs[ENCODING_OFFSET]).toBe(encoding);
    expect(registersHex(sketch)).toBe(await registersInRedis('theirs'));
    expect(registersHex(HyperLogLog.decode(theirs))).toBe(registersHex(sketch));
    expect(Buffer.from(sketch.encode()).toString('hex')).toBe(withStaleCache(theirs));

    await redis.set('ours', Buffer.from(sketch.encode()));
    expect(await registersInRedis('ours')).toBe(registersHex(sketch));
    expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
    expect(await redis.pfcount('theirs')).toBe(Math.round(sketch.estimate()));
  });

  it.each(['a', 'visitor-', 'https://example.org/', '\u20ac'])(
    'changes from sparse to dense with the same element as Redis, for numbered elements %s...',
    async (prefix) => {
      const sketch = new HyperLogLog();
      const steps = redis.pipeline();
      const elements = [...numbered(prefix, 0, 2500)];
      const ours = elements.map((element) => {
        const { lo, hi } = murmur64a(element);
        sketch.addHash(lo, hi);
        steps.pfadd('key', element).getrangeBuffer('key', ENCODING_OFFSET, ENCODING_OFFSET);
        return sketch.encode()[ENCODING_OFFSET];
      });
      const replies = (await steps.exec()) ?? [];
      const theirs = elements.map(
        (_, index) => (replies[2 * index + 1]?.[1] as Buffer | undefined)?.[0],
      );
      expect(theirs.indexOf(DENSE)).toBeGreaterThan(1000);
      expect(ours.indexOf(DENSE)).toBe(theirs.indexOf(DENSE));
      expect(ours.lastIndexOf(SPARSE)).toBe(theirs.lastIndexOf(SPARSE));
    },
  );

  it('estimates what PFCOUNT counts, for sketches of one to 10^10 ids', async () => {
    const prng = new Prng(20);
    for (let tenths = 0; tenths <= 100; tenths += 1) {
      const sketch = drawRegisters(Math.round(10 ** (tenths / 10)), prng);
      await redis.set('ours', Buffer.from(sketch.encode()));
      expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
    }
  });

  it('estimates what PFCOUNT counts when nearly all registers are full or nearly so', async () => {
    for (const fullCount of [1, 100, 8000, 16_000, REGISTER_COUNT - 1]) {
      const sketch = new HyperLogLog();
      for (let index = 0; index < REGISTER_COUNT; index += 1) {
        // One small register keeps the estimate within the integers that a double can hold.
        const rank = index === 0 ? 25 : index <= fullCount ? 51 : 50;
        const { lo, hi } = hashWith(index, rank);
        sketch.addHash(lo, hi);
      }
      await redis.set('ours', Buffer.from(sketch.encode()));
      expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
    }
  });

  it('has a register above 32, which sparse bytes cannot hold, read by Redis from dense bytes', async () => {
    for (const rank of [32, 33, 50, 51]) {
      const sketch = new HyperLogLog();
      const { lo, hi } = hashWith(5, rank);
      sketch.addHash(lo, hi);
      expect(sketch.encode()[ENCODING_OFFSET]).toBe(rank <= 32 ? SPARSE : DENSE);
      await redis.set('ours', Buffer.from(sketch.encode()));
      expect(await registersInRedis('ours')).toBe(registersHex(sketch));
      expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
    }
  });

  it('lets Redis go on with our bytes: the cached cardinality is marked as stale', async () => {
    for (const count of [0, 300, 5000]) {
      const sketch = murmurSketch(numbered('first-', 0, count));
      await redis.set('ours', Buffer.from(sketch.encode()));
      expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
      await addToRedis('ours', [...numbered('second-', 0, 200)]);
      sketch.merge(murmurSketch(numbered('second-', 0, 200)));
      expect(registersHex(HyperLogLog.decode(await storedBytes('ours')))).toBe(
        registersHex(sketch),
      );
      expect(await redis.pfcount('ours')).toBe(Math.round(sketch.estimate()));
    }
  });

  it.each([
    ['sparse', 'sparse', 200, 300],
    ['sparse', 'dense', 200, 20_000],
    ['dense', 'sparse', 20_000, 200],
    ['dense', 'dense', 20_000, 30_000],
    ['empty', 'sparse', 0, 300],
    ['sparse', 'sparse to dense', 1200, 1200],
  ])('merges %s and %s bytes to the registers of PFMERGE', async (_a, _b, countA, countB) => {
    const a = murmurSketch(numbered('a-', 0, countA));
    const b = murmurSketch(numbered('b-', 0, countB));
    await redis.set('a', Buffer.from(a.encode()));
    await redis.set('b', Buffer.from(b.encode()));
    await redis.pfmerge('union', 'a', 'b');
    const unionCount = await redis.pfcount('a', 'b');
    a.merge(b);
    expect(await registersInRedis('union')).toBe(registersHex(a));
    expect(registersHex(HyperLogLog.decode(await storedBytes('union')))).toBe(registersHex(a));
    expect(unionCount).toBe(Math.round(a.estimate()));
  });

  it('reads sparse bytes that are valid but not canonical as Redis does', async () => {
    const prng = new Prng(3);
    for (const count of [0, 1, 50, 1000]) {
      const sketch = drawRegisters(count, prng);
      const bytes = sparseWithSplitRuns(sketch.registers, prng);
      expect(bytes.toString('hex')).not.toBe(Buffer.from(sketch.encode()).toString('hex'));
      await redis.set('split', bytes);
      expect(await registersInRedis('split')).toBe(registersHex(sketch));
      expect(registersHex(HyperLogLog.decode(bytes))).toBe(registersHex(sketch));
    }
  });
});

/** Sparse bytes whose runs end anywhere: equal neighbours may stand in several opcodes. */
function sparseWithSplitRuns(registers: ArrayLike<number>, prng: Prng): Buffer {
  const bytes = [...Buffer.from('HYLL'), SPARSE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
  for (let index = 0; index < REGISTER_COUNT; ) {
    const value = registers[index] ?? 0;
    const lengthMax = value === 0 ? prng.pick([64, 2000]) : 4;
    const wanted = 1 + prng.nextInt(lengthMax);
    let length = 1;
    while (length < wanted && registers[index + length] === value) length += 1;
    if (value > 0) bytes.push(0x80 | ((value - 1) << 2) | (length - 1));
    else if (lengthMax === 64) bytes.push(length - 1);
    else bytes.push(0x40 | ((length - 1) >> 8), (length - 1) & 0xff);
    index += length;
  }
  return Buffer.from(bytes);
}
