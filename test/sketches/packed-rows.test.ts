import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../src/lib/bytes.ts';
import type { Candidate } from '../../src/sketches/candidate.ts';
import { PackedRows } from '../../src/sketches/packed-rows.ts';

const COUNT_MAX = 2_000;

function packed(rows: readonly Candidate[]): PackedRows {
  const writer = new ByteWriter();
  writer.uint32(Buffer.byteLength(rows.map(({ item }) => item).join('')));
  for (const { item } of rows) writer.utf8(item);
  for (const { item } of rows) writer.varint(Buffer.byteLength(item));
  for (const { upper } of rows) writer.varint(upper);
  for (const { upper, lower } of rows) writer.varint(upper - lower);
  const reader = new ByteReader(writer.finish());
  return new PackedRows(reader, rows.length, COUNT_MAX, { hasGaps: true, isAscending: false });
}

/** Some hundred rows, many of them with the same few counts. */
const tables = fc
  .array(fc.oneof(fc.nat(5), fc.nat(COUNT_MAX)), { minLength: 120, maxLength: 300 })
  .map((uppers) => uppers.map((upper, row) => ({ item: `item ${row}`, upper, lower: upper >> 1 })));

describe('stored rows', () => {
  it('are visited from any count on, in their order, whatever was asked for before', () => {
    const leasts = fc.array(fc.oneof(fc.nat(6), fc.nat(COUNT_MAX)), { maxLength: 8 });
    fc.assert(
      fc.property(tables, leasts, (table, asked) => {
        const rows = packed(table);
        for (const least of asked) {
          const found: Candidate[] = [];
          rows.forEach((item, upper, lower) => found.push({ item, upper, lower }), least);
          expect(found).toEqual(table.filter(({ upper }) => upper >= least));
        }
      }),
    );
  });
});
