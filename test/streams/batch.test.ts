import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import { PART_SHAPE, Summary, type SummaryContext } from '../../src/sketches/summary.ts';
import { encodeSummary } from '../../src/sketches/summary-codec.ts';
import {
  BatchBuilder,
  type BatchGroup,
  decodeBatches,
  encodeBatch,
} from '../../src/streams/batch.ts';
import { type Bucket, bucketKey, bucketOf, HOUR_MS } from '../../src/streams/buckets.ts';

const context: SummaryContext = {
  hash: new KeyedHash({ k0: 0x01234567, k1: 0x89abcdef }),
  shape: PART_SHAPE,
};
const AT_MS = Date.UTC(2026, 10, 30, 12, 34, 56);
const minute = bucketOf('minute', AT_MS);
const hour = bucketOf('hour', AT_MS);

describe('a batch', () => {
  test('sums events up by stream and bucket', () => {
    const builder = new BatchBuilder(context);
    builder.add('a', minute, 'x', 2, { lo: 1, hi: 2 });
    builder.add('b', minute, 'x', 1, null);
    builder.add('a', hour, 'x', 10, null);
    builder.add('a', minute, 'x', 3, { lo: 1, hi: 2 });
    builder.add('a', minute, 'y', 1, { lo: 3, hi: 4 });
    expect(builder.eventCount).toBe(5);
    expect(contentOf(builder.groups)).toEqual({
      [`a ${bucketKey(minute)}`]: { items: { x: 5, y: 1 }, total: 6, withoutActor: 0, actors: 2 },
      [`b ${bucketKey(minute)}`]: { items: { x: 1 }, total: 1, withoutActor: 1, actors: 0 },
      [`a ${bucketKey(hour)}`]: { items: { x: 10 }, total: 10, withoutActor: 10, actors: 0 },
    });
  });

  test('keeps apart what only looks alike when share and bucket are written in one text', () => {
    const builder = new BatchBuilder(context);
    for (const share of ['a', 'a:0', `${minute.startMs}:a`, ':', '']) {
      builder.add(share, minute, share, 1, null);
      builder.add(share, { level: 'hour', startMs: minute.startMs }, share, 1, null);
    }
    expect([...builder.groups]).toHaveLength(10);
    for (const { share, summary } of builder.groups) {
      expect(itemsOf(summary)).toEqual({ [share]: 1 });
    }
  });

  test('merged into another counts for both', () => {
    const one = builderOf([['a', minute, 'x']]);
    const other = builderOf([
      ['a', minute, 'x'],
      ['b', hour, 'y'],
    ]);
    one.merge(other);
    const all = builderOf([
      ['a', minute, 'x'],
      ['a', minute, 'x'],
      ['b', hour, 'y'],
    ]);
    expect(one.eventCount).toBe(3);
    expect(contentOf(one.groups)).toEqual(contentOf(all.groups));
  });

  test('comes back from its bytes as it was, one or several in a row', () => {
    const names = ['', 'default', 'é\u0000{}', '\u{10000}', 'x'.repeat(128)];
    const first = builderOf(names.map((stream) => [stream, minute, `${stream}-item`]));
    const second = builderOf(names.map((stream) => [stream, hour, 'other']));
    const bytes = Buffer.concat([first.encode(), second.encode()]);
    const groups = decodeBatches(bytes, context);
    expect(groups.map(keyOf)).toEqual([...first.groups, ...second.groups].map(keyOf));
    const written = [...first.groups, ...second.groups];
    for (const [index, { summary }] of groups.entries()) {
      expect(encodeSummary(summary)).toEqual(encodeSummary(written[index]!.summary));
    }
  });
});

describe('the bytes of a batch', () => {
  const golden = readFileSync(new URL('../golden/batch-v1.bin', import.meta.url));

  test('of format version 1 are read for ever', () => {
    expect(contentOf(decodeBatches(golden, context))).toEqual(contentOf(goldenBuilder().groups));
  });

  test('are the same for the same events: format version 1 does not change by accident', () => {
    // The older one is from before viewers were kept.
    const withPairs = readFileSync(new URL('../golden/batch-pairs-v1.bin', import.meta.url));
    expect(Buffer.from(goldenBuilder().encode()).toString('hex')).toBe(withPairs.toString('hex'));
    expect(contentOf(decodeBatches(withPairs, context))).toEqual(contentOf(goldenBuilder().groups));
  });

  test('with any bit changed are refused, so that nothing is counted in a wrong place', () => {
    for (let bit = 0; bit < golden.length * 8; bit += 1) {
      const damaged = Buffer.from(golden);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decodeBatches(damaged, context), `bit ${bit}`).toThrow(SketchDecodeError);
    }
  });

  test('that are cut off anywhere are refused, nothing at all included', () => {
    for (let length = 0; length < golden.length; length += 1) {
      const cut = golden.subarray(0, length);
      expect(() => decodeBatches(cut, context), `${length} bytes`).toThrow(SketchDecodeError);
    }
  });

  test('behind a good batch are refused with it', () => {
    const bytes = Buffer.concat([golden, Buffer.from('rubbish')]);
    expect(() => decodeBatches(bytes, context)).toThrow(SketchDecodeError);
  });

  test('under another hash key are refused', () => {
    const other = { ...context, hash: new KeyedHash({ k0: 1, k1: 2 }) };
    expect(() => decodeBatches(golden, other)).toThrow(SketchDecodeError);
  });

  test('of a later version, or with a level that is not known, are refused', () => {
    const later = Buffer.from(golden);
    later[2] = 2;
    expect(() => decodeBatches(later, context)).toThrow(/version 2/);
    const unknown = { level: 'week', startMs: 0 } as unknown as Bucket;
    const bytes = encodeBatch([{ share: 'a', bucket: unknown, summary: new Summary(context) }]);
    expect(() => decodeBatches(bytes, context)).toThrow(/level/);
  });

  test('of any kind are either read or refused as damaged', () => {
    const mutated = fc
      .array(fc.tuple(fc.nat(golden.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
      .map((changes) => {
        const bytes = Buffer.from(golden);
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    const withMagic = fc
      .uint8Array({ maxLength: 200, size: 'max' })
      .map((bytes) => Buffer.concat([golden.subarray(0, 3), bytes]));
    fc.assert(
      fc.property(
        fc.oneof(mutated, withMagic, fc.uint8Array({ maxLength: 200, size: 'max' })),
        (bytes) => {
          try {
            decodeBatches(bytes, context);
          } catch (error) {
            expect(error).toBeInstanceOf(SketchDecodeError);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

/** A bit of everything: levels, actors and none, counts of one byte and of several, Unicode. */
function goldenBuilder(): BatchBuilder {
  const builder = new BatchBuilder(context);
  builder.add('default', minute, '/', 1, { lo: 1, hi: 2 });
  builder.add('default', minute, '/é', 1_000_000, { lo: 0xffffffff, hi: 0xfffffffe });
  builder.add('default', hour, '/', 300, null);
  builder.add('日本 {p0}', { level: 'hour', startMs: hour.startMs - HOUR_MS }, '\u0000', 7, null);
  return builder;
}

function builderOf(events: readonly (readonly [string, Bucket, string])[]): BatchBuilder {
  const builder = new BatchBuilder(context);
  for (const [stream, bucket, item] of events) builder.add(stream, bucket, item, 1, null);
  return builder;
}

function keyOf({ share, bucket }: BatchGroup): string {
  return `${share} ${bucketKey(bucket)}`;
}

function contentOf(groups: Iterable<BatchGroup>): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const group of groups) {
    const { total, withoutActor, actors } = group.summary;
    const items = itemsOf(group.summary);
    content[keyOf(group)] = { items, total, withoutActor, actors: 'size' in actors && actors.size };
  }
  return content;
}

function itemsOf(summary: Summary): Record<string, number> {
  const items: Record<string, number> = {};
  summary.listed.forEach((item, upper) => {
    items[item] = upper;
  });
  return items;
}
