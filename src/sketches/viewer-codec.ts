/*
 * The bytes of a summary's viewers. Two kinds of payload, each a section of a summary's bytes
 * (summary-codec.ts) while it is small; a large one stands apart, in bytes of its own:
 *
 *   pairs          in the order of the summary's item table: a varint number of actors of each row,
 *                  then the hashes of all as pairs of words (low, high), row after row, ascending
 *                  by the 64-bit numbers high:low
 *   viewer sketch  varint cut, varint count; then, column by column and in the order of the items'
 *                  bytes: 4 bytes length of all items together, the items' UTF-8 bytes, a varint
 *                  length of each, a varint `missed` of each, a varint number of hashes of each (0:
 *                  registers); the hashes of all as pairs of words (low, high), ascending within an
 *                  item by the 64-bit numbers high:low; the registers of all (viewer-set.ts)
 *
 *   apart: 2 bytes magic "TV", 1 byte format version (1), 1 byte id of the section, 4 bytes seed
 *   id, 4 bytes CRC-32 of all bytes but these four, payload to the end
 */
import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from '../lib/bytes.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { ItemTable } from './item-table.ts';
import { PackedViewers } from './packed-viewers.ts';
import { isAfter, type PairGroups, PairTable } from './pair-table.ts';
import { SketchDecodeError } from './sketch-decode-error.ts';
import { BYTES_PER_HASH } from './viewer-set.ts';
import { ViewerSketch } from './viewer-sketch.ts';

export const SECTION_PAIRS = 5;
export const SECTION_VIEWER_SKETCH = 6;

const MAGIC_T = 0x54;
const MAGIC_V = 0x56;
const VERSION = 1;
const CRC_OFFSET = 8;
const BODY_OFFSET = 12;
/** An item of one byte with its length, `missed`, number of hashes and one hash. */
const ENTRY_BYTES_MIN = 4 + BYTES_PER_HASH;

export type Viewers = PairTable | ViewerSketch;

export function viewersSectionOf(viewers: Viewers): number {
  return viewers instanceof PairTable ? SECTION_PAIRS : SECTION_VIEWER_SKETCH;
}

/** `order`: the row of the summary's table that stands at each place; only pairs need it. */
export function writeViewers(writer: ByteWriter, viewers: Viewers, order: readonly number[]): void {
  if (viewers instanceof PairTable) writePairs(writer, viewers.groups, order);
  else writeViewerSketch(writer, viewers);
}

/** The payload of a section as bytes of their own. */
export function encodeApart(section: number, seedId: number, payload: Uint8Array): Uint8Array {
  const writer = new ByteWriter(BODY_OFFSET + payload.length);
  writer.uint8(MAGIC_T);
  writer.uint8(MAGIC_V);
  writer.uint8(VERSION);
  writer.uint8(section);
  writer.uint32(seedId);
  writer.uint32(0);
  writer.raw(payload);
  writer.patchUint32(CRC_OFFSET, checksumOf(writer.view(0)));
  return writer.finish();
}

/** Throws SketchDecodeError and ByteReadError. `items`: the summary's item table. */
export function decodeApart(
  bytes: Uint8Array,
  items: ItemTable | null,
  { seedId, viewerBytes }: { readonly seedId: number; readonly viewerBytes: number },
): Viewers {
  const reader = new ByteReader(bytes);
  if (reader.uint8() !== MAGIC_T || reader.uint8() !== MAGIC_V) fail('not the bytes of viewers');
  const version = reader.uint8();
  if (version !== VERSION) fail(`format version ${version} is not known`);
  const section = reader.uint8();
  if (reader.uint32() !== seedId) fail('written under another hash key');
  if (reader.uint32() !== checksumOf(bytes)) fail('the checksum does not fit');
  const viewers = readViewers(section, reader, items, viewerBytes);
  if (viewers === null) fail(`section ${section} is not known`);
  reader.expectEnd();
  return viewers;
}

/** Null for a section that holds no viewers. */
export function readViewers(
  section: number,
  payload: ByteReader,
  items: ItemTable | null,
  viewerBytes: number,
): Viewers | null {
  if (section === SECTION_PAIRS) return readPairs(payload, items);
  return section === SECTION_VIEWER_SKETCH ? readViewerSketch(payload, viewerBytes) : null;
}

function writePairs(
  writer: ByteWriter,
  { starts, words }: PairGroups,
  order: readonly number[],
): void {
  const last = starts.length - 1;
  const startOf = (row: number): number => starts[Math.min(row, last)]!;
  for (const row of order) writer.varint((startOf(row + 1) - startOf(row)) / 2);
  // On a little-endian machine they lie in memory as they are stored.
  const bytes = new Uint8Array(words.buffer);
  let from = 0;
  let next = 0;
  for (const row of order) {
    // What lies in a row already is written at once.
    if (startOf(row) !== next) {
      writer.raw(bytes.subarray(4 * from, 4 * next));
      from = startOf(row);
    }
    next = startOf(row + 1);
  }
  writer.raw(bytes.subarray(4 * from, 4 * next));
}

function readPairs(payload: ByteReader, items: ItemTable | null): PairTable {
  if (items === null) fail('there are pairs without items');
  const starts = new Uint32Array(items.size + 1);
  payload.varints(starts.subarray(1), payload.remaining);
  let pairCount = 0;
  for (let row = 1; row < starts.length; row += 1) {
    pairCount += starts[row]!;
    starts[row] = 2 * pairCount;
  }
  if (payload.remaining !== pairCount * BYTES_PER_HASH || pairCount === 0) {
    fail('the actors do not fit their number');
  }
  const words = new Uint32Array(2 * pairCount);
  // On a little-endian machine they lie in memory as they are stored.
  new Uint8Array(words.buffer).set(payload.raw(pairCount * BYTES_PER_HASH));
  const groups = { starts, words };
  if (!ascend(groups)) fail("an item's actors are out of order");
  return PairTable.of(items, groups);
}

/** So that no actor of an item is listed twice. */
function ascend({ starts, words }: PairGroups): boolean {
  for (let row = 0; row + 1 < starts.length; row += 1) {
    for (let at = starts[row]! + 2; at < starts[row + 1]!; at += 2) {
      if (!isAfter(words[at]!, words[at + 1]!, words[at - 2]!, words[at - 1]!)) return false;
    }
  }
  return true;
}

function writeViewerSketch(writer: ByteWriter, { cut, entries }: ViewerSketch): void {
  const rows = [...entries].sort(([a], [b]) => compareUtf8(a, b));
  writer.varint(cut);
  writer.varint(rows.length);
  const lengthOffset = writer.length;
  writer.uint32(0);
  const lengths = rows.map(([item]) => writer.utf8(item));
  writer.patchUint32(lengthOffset, writer.length - lengthOffset - 4);
  for (const length of lengths) writer.varint(length);
  for (const [, { missed }] of rows) writer.varint(missed);
  for (const [, { set }] of rows) writer.varint(set.hashCount);
  for (const [, { set }] of rows) if (set.isExact) set.writeTo(writer);
  for (const [, { set }] of rows) if (!set.isExact) set.writeTo(writer);
}

function readViewerSketch(payload: ByteReader, viewerBytes: number): ViewerSketch {
  const cut = payload.varint();
  const entries = new PackedViewers(payload, payload.count(ENTRY_BYTES_MIN));
  return ViewerSketch.of(viewerBytes, cut, entries);
}

function checksumOf(bytes: Uint8Array): number {
  return crc32(bytes.subarray(BODY_OFFSET), crc32(bytes.subarray(0, CRC_OFFSET)));
}

function fail(message: string): never {
  throw new SketchDecodeError(`viewers: ${message}`);
}
