import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyedHash } from '../../../src/sketches/hash.ts';
import { CLOSED_SHAPE, PART_SHAPE, Summary } from '../../../src/sketches/summary.ts';
import { encodeColumns } from '../../../src/sketches/summary-codec.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { PartitionKeys } from '../../../src/store/redis/keys.ts';
import {
  bucketOf,
  DAY_MS,
  expiresAtMs,
  HOUR_MS,
  LEVEL_MS,
  LEVELS,
  type Retention,
} from '../../../src/streams/buckets.ts';
import { compactionOf, summaryOf } from '../../contract/harness.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import {
  countsBytesMax,
  shareBytesMax,
  summariesMax,
  summaryBytesMax,
  viewersBytesMax,
} from '../../support/worst-case.ts';
import { openOn } from './redis-harness.ts';

const RETENTION: Retention = { minute: 25 * HOUR_MS, hour: 32 * DAY_MS, day: 400 * DAY_MS };
const LONGEST_ITEM_BYTES = 512;
/** Redis rounds large values up to sizes of its allocator; each key has a name and an expiry. */
const ALLOCATOR_FACTOR = 1.25;
const KEY_BYTES_MAX = 300;

let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection?.close();
  await server?.stop();
});

describe('a summary at all of its limits', () => {
  test.each([
    ['exact: as many items as are kept, of the longest names', largestExact],
    ['a sketch: no cell empty, candidates of the longest names, viewers up to their bytes', sketch],
  ] as const)('that is %s takes no more than the formula says', async (_, make) => {
    const summary = make();
    const columns = encodeColumns(summary);
    const viewers = columns.viewers!;
    const countsMax = countsBytesMax(CLOSED_SHAPE, summary.total, LONGEST_ITEM_BYTES);
    const viewersMax = viewersBytesMax(CLOSED_SHAPE);
    expect(columns.counts.length).toBeLessThanOrEqual(countsMax);
    expect(viewers.length).toBeLessThanOrEqual(viewersMax);
    const { store, partition, tag, nowMs } = openOn(connection);
    const open = { store, partition, nowMs, passMs: async () => {} };
    const buckets = LEVELS.map((level) => bucketOf(level, Date.UTC(2026, 10, 30)));
    const summaries = await Promise.all(
      buckets.map((bucket) => summaryOf(open, { bucket, ...columns })),
    );
    const commit = compactionOf({ share: 'a', summaries });
    expect(await store.commitCompaction(partition, commit)).toBe('applied');
    const keys = new PartitionKeys(tag);
    for (const bucket of buckets) {
      for (const [column, bytesMax] of [
        ['counts', countsMax],
        ['viewers', viewersMax],
      ] as const) {
        const usage = await server.cli('MEMORY', 'USAGE', keys.summary('a', bucket, column));
        expect(Number(usage)).toBeGreaterThan(columns[column]!.length);
        expect(Number(usage)).toBeLessThan(ALLOCATOR_FACTOR * bytesMax + KEY_BYTES_MAX);
      }
    }
  });

  test('comes near to it: the formula says little more than what is measured', () => {
    const onlySketched = { ...CLOSED_SHAPE, exactItems: 1, exactItemBytes: 1 };
    for (const [shape, summary] of [
      [CLOSED_SHAPE, largestExact()],
      [onlySketched, sketch()],
    ] as const) {
      const { counts, viewers } = encodeColumns(summary);
      const countsMax = countsBytesMax(shape, summary.total, LONGEST_ITEM_BYTES);
      expect(countsMax).toBeLessThan(1.4 * counts.length);
      // Pairs end at their number, sets at their bytes.
      expect(viewersBytesMax(shape)).toBeLessThan(1.7 * viewers!.length);
    }
  });
});

test('no more summaries of a level are there at once than are reckoned with', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DAY_MS }), fc.constantFrom(...LEVELS), (at, level) => {
      const nowMs = Date.UTC(2026, 10, 30) + at;
      let count = 0;
      let bucket = bucketOf(level, nowMs);
      while (expiresAtMs(bucket, RETENTION) > nowMs) {
        count += 1;
        bucket = { level, startMs: bucket.startMs - LEVEL_MS[level] };
      }
      expect(count).toBeLessThanOrEqual(summariesMax(level, RETENTION));
      expect(count).toBeGreaterThan(summariesMax(level, RETENTION) - 3);
    }),
  );
});

test('the table in the operations manual is the formula', () => {
  const manual = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const lines = manual.split('\n');
  for (const [name, load] of [
    ['16 bytes, 10,000', { eventsPerMinute: 10_000, itemBytes: 16 }],
    ['64 bytes, 1,000,000', { eventsPerMinute: 1_000_000, itemBytes: 64 }],
    ['512 bytes, any number', { eventsPerMinute: 2 ** 53, itemBytes: LONGEST_ITEM_BYTES }],
  ] as const) {
    const each = LEVELS.map((level) => summaryBytesMax(CLOSED_SHAPE, level, load));
    const cells = each.map((bytes) => `${(bytes / 1e6).toFixed(2)} MB`);
    const sum = `${(shareBytesMax(CLOSED_SHAPE, RETENTION, load) / 1e9).toFixed(1)} GB`;
    const row = `| ${[name, ...cells, sum].join(' | ')} |`;
    expect(lines.filter((line) => line.startsWith(`| ${name}`))).toEqual([row]);
  }
  const kept = LEVELS.map((level) => summariesMax(level, RETENTION));
  const [minutes, hours, days] = kept.map((count) => count.toLocaleString('en'));
  const words = manual.replaceAll(/\s+/g, ' ');
  expect(words).toContain(`${minutes} minutes, ${hours} hours and ${days} days`);
});

function emptySummary(): Summary {
  return new Summary({ hash: new KeyedHash({ k0: 1, k1: 2 }), shape: CLOSED_SHAPE });
}

/** Actors beyond what is kept exactly, and all the pairs that are. */
function largestExact(): Summary {
  const { exactItems, exactPairs } = CLOSED_SHAPE;
  const summary = emptySummary();
  for (let at = 0; at < exactItems; at += 1) {
    const actor = at < exactPairs ? { lo: at, hi: at } : null;
    summary.add(longItem(at), 2 ** 38, actor);
  }
  expect(summary.itemsExact).toBe(true);
  expect(summary.actorsExact).toBe(false);
  expect(summary.pairCount).toBe(exactPairs);
  return summary;
}

/** Cells of two bytes each, nearly all of them. */
function sketch(): Summary {
  const { candidates, width } = CLOSED_SHAPE;
  const summary = emptySummary();
  const part = new Summary({ ...summary.context, shape: PART_SHAPE });
  for (let at = 0; at < candidates; at += 1) part.add(longItem(at), 2 ** 30, null);
  for (let at = 0; at < 8 * width; at += 1) part.add(`f${at}`, 1_000, null);
  const viewed = 200;
  for (let at = 0; at < viewed * 120; at += 1) {
    part.add(`v${at % viewed}`, 1, { lo: at, hi: at });
  }
  summary.merge(part);
  expect(summary.itemsExact).toBe(false);
  expect(summary.itemCount).toBe(candidates);
  return summary;
}

function longItem(at: number): string {
  return `${at}`.padStart(LONGEST_ITEM_BYTES, 'x');
}
