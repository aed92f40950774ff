/*
 * The bytes of a Summary, format version 1, in one column or two: the viewers (which actors each
 * item had) stand apart when they are large, for most questions do not need them.
 *
 *   offset  size  field
 *        0     2  magic "TS"
 *        2     1  format version (1)
 *        3     1  flags: 1 items are sketched, 2 actors are sketched, 4 saturated, 8 incomplete,
 *                 16 the encoding is the canonical one, 32 the viewers stand apart
 *        4     4  seed id: fingerprint of the hash key (little-endian, as all words)
 *        8     4  CRC-32 of all bytes but these four
 *       12     -  varint total, varint total without actor, then sections to the end
 *
 *   section: 1 byte id, 4 bytes length, payload. Ids in use:
 *     1 item table   varint count, rows
 *     2 item sketch  1 byte log2(width), 1 byte depth, varint capacity, varint cut, varint count,
 *                    rows of the candidates in the order of their bytes; then the cells, width *
 *                    depth varints, row after row
 *     3 actor set    the hashes as pairs of words (low, high)
 *                    left out where the pairs in the same bytes give them
 *     4 registers    Redis's HYLL bytes (hyperloglog.ts)
 *     5 pairs, 6 viewer sketch: see viewer-codec.ts
 *   rows, column by column: 4 bytes length of all items together, the items' UTF-8 bytes, a varint
 *   length of each, a varint count of each (its upper bound); of candidates also upper - lower.
 *   Ids from 7 on are free for what later versions add. A reader that does not know a section
 *   refuses the bytes: it must not answer without it.
 *
 * Summaries with actors but without viewers were written before these were kept: any item may have
 * had all of their actors.
 *
 * The canonical encoding orders tables by UTF-8 bytes and actors by hash, so that equal summaries
 * have equal bytes, and items can be found in them. Short-lived bytes (log entries, parts) skip the
 * sorting.
 */
import { crc32 } from 'node:zlib';
import { ByteReadError, ByteReader, ByteWriter } from '../lib/bytes.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import { ActorSet } from './actor-set.ts';
import type { Candidate, ListedItems } from './candidate.ts';
import { CountMin, isCountMinShape } from './count-min.ts';
import { HyperLogLog } from './hyperloglog.ts';
import { ItemSketch } from './item-sketch.ts';
import { ItemTable } from './item-table.ts';
import { PackedCells } from './packed-cells.ts';
import { PackedRows } from './packed-rows.ts';
import { PairTable } from './pair-table.ts';
import { SketchDecodeError } from './sketch-decode-error.ts';
import { eventsWithActorMax, Summary, type SummaryContext, type SummaryState } from './summary.ts';
import { TopK } from './top-k.ts';
import {
  decodeApart,
  encodeApart,
  readViewers,
  type Viewers,
  viewersSectionOf,
  writeViewers,
} from './viewer-codec.ts';
import { ViewerSketch } from './viewer-sketch.ts';

const MAGIC_T = 0x54;
const MAGIC_S = 0x53;
const VERSION = 1;
const CRC_OFFSET = 8;
const BODY_OFFSET = 12;

const FLAG_ITEMS_SKETCHED = 1;
const FLAG_ACTORS_SKETCHED = 2;
const FLAG_SATURATED = 4;
const FLAG_INCOMPLETE = 8;
const FLAG_CANONICAL = 16;
const FLAG_VIEWERS_APART = 32;
const FLAGS_KNOWN = 63;

const SECTION_ITEM_TABLE = 1;
const SECTION_ITEM_SKETCH = 2;
const SECTION_ACTOR_SET = 3;
const SECTION_REGISTERS = 4;
/** Smaller viewers are not worth a column of their own. */
const APART_BYTES_MIN = 2_048;

const NO_BYTES = new Uint8Array();
const BYTES_PER_ACTOR = 8;
const TABLE_ROW_BYTES_MIN = 2;
const CANDIDATE_BYTES_MIN = 3;
const CANDIDATES_MAX = 1_000_000;

/** The canonical bytes, viewers and all: equal for equal summaries. */
export function encodeSummary(summary: Summary): Uint8Array {
  return encode(summary, { isCanonical: true, mayStandApart: false }).counts;
}

/** The same format without the cost of sorting, for bytes that are soon merged again. */
export function encodeSummaryUnordered(summary: Summary): Uint8Array {
  return encode(summary, { isCanonical: false, mayStandApart: false }).counts;
}

/** The canonical bytes in two columns; `viewers` is null where they are small. */
export interface SummaryColumns {
  readonly counts: Uint8Array;
  readonly viewers: Uint8Array | null;
}

export function encodeColumns(summary: Summary): SummaryColumns {
  return encode(summary, { isCanonical: true, mayStandApart: true });
}

/**
 * Reads what any of the encoders wrote; without the column of the viewers the summary is read
 * without them. Lengths are checked before anything is allocated; throws only SketchDecodeError:
 * damaged bytes, an unknown version or section, another hash key. The summary may keep the bytes:
 * they must not change any more.
 */
export function decodeSummary(
  counts: Uint8Array,
  context: SummaryContext,
  viewers?: Uint8Array,
): Summary {
  const summary = Summary.fromState(
    context,
    decoded(() => decode(counts, context)),
  );
  if (summary.viewersLoaded || viewers === undefined) return summary;
  return decodeViewers(summary, viewers);
}

/**
 * The same summary with its viewers, from the column that stands apart; both share what they have
 * in common. Throws SketchDecodeError.
 */
export function decodeViewers(summary: Summary, viewers: Uint8Array): Summary {
  const { context } = summary;
  const { hash, shape } = context;
  const state = summary.state();
  const table = state.items instanceof ItemTable ? state.items : null;
  const limits = { seedId: hash.seedId, viewerBytes: shape.viewerBytes };
  const read = decoded(() => decodeApart(viewers, table, limits));
  return Summary.fromState(context, { ...state, viewers: read });
}

function decoded<Result>(decodeBytes: () => Result): Result {
  try {
    return decodeBytes();
  } catch (error) {
    if (error instanceof ByteReadError) throw new SketchDecodeError(`summary: ${error.message}`);
    throw error;
  }
}

interface EncodeOptions {
  readonly isCanonical: boolean;
  readonly mayStandApart: boolean;
}

function encode(summary: Summary, { isCanonical, mayStandApart }: EncodeOptions): SummaryColumns {
  const { total, withoutActor, saturated, incomplete, items } = summary.state();
  const { viewers } = summary;
  const { seedId } = summary.context.hash;
  const rows = items instanceof ItemSketch ? [] : tableRowsOf(items);
  if (isCanonical) sortRows(rows);
  const isOld = viewers instanceof ViewerSketch && tellsNothing(viewers, summary);
  const payload = isOld ? NO_BYTES : payloadOf(viewers, rows);
  const isApart = mayStandApart && payload.length >= APART_BYTES_MIN;
  const actors = viewers instanceof PairTable && !isApart ? null : summary.actors;
  const writer = new ByteWriter();
  writer.uint8(MAGIC_T);
  writer.uint8(MAGIC_S);
  writer.uint8(VERSION);
  writer.uint8(
    (items instanceof ItemSketch ? FLAG_ITEMS_SKETCHED : 0) |
      (actors instanceof HyperLogLog ? FLAG_ACTORS_SKETCHED : 0) |
      (saturated ? FLAG_SATURATED : 0) |
      (incomplete ? FLAG_INCOMPLETE : 0) |
      (isCanonical ? FLAG_CANONICAL : 0) |
      (isApart ? FLAG_VIEWERS_APART : 0),
  );
  writer.uint32(seedId);
  writer.uint32(0);
  writer.varint(total);
  writer.varint(withoutActor);
  if (items instanceof ItemSketch) {
    section(writer, SECTION_ITEM_SKETCH, () => writeItemSketch(writer, items));
  } else if (rows.length > 0) {
    section(writer, SECTION_ITEM_TABLE, () => writeItemTable(writer, rows));
  }
  if (actors instanceof HyperLogLog) {
    section(writer, SECTION_REGISTERS, () => writer.raw(actors.encode()));
  } else if (actors !== null && actors.size > 0) {
    section(writer, SECTION_ACTOR_SET, () => writeActors(writer, actors, isCanonical));
  }
  const id = viewersSectionOf(viewers);
  if (payload.length > 0 && !isApart) section(writer, id, () => writer.raw(payload));
  writer.patchUint32(CRC_OFFSET, checksumOf(writer.view(0)));
  return {
    counts: writer.finish(),
    viewers: isApart ? encodeApart(id, seedId, payload) : null,
  };
}

/** As what was written before there were viewers, or where they could not be read. */
function tellsNothing({ cut, size }: ViewerSketch, summary: Summary): boolean {
  const { total, withoutActor, saturated } = summary;
  return size === 0 && cut === eventsWithActorMax(total, withoutActor, saturated);
}

/** Empty where there are no actors at all. */
function payloadOf(viewers: Viewers, rows: readonly TableRow[]): Uint8Array {
  const writer = new ByteWriter();
  const isEmpty = viewers instanceof PairTable && viewers.size === 0;
  const order = viewers instanceof PairTable ? rows.map(({ row }) => row) : [];
  if (!isEmpty) writeViewers(writer, viewers, order);
  return writer.finish();
}

function checksumOf(bytes: Uint8Array): number {
  return crc32(bytes.subarray(BODY_OFFSET), crc32(bytes.subarray(0, CRC_OFFSET)));
}

function section(writer: ByteWriter, id: number, writePayload: () => void): void {
  writer.uint8(id);
  const lengthOffset = writer.length;
  writer.uint32(0);
  writePayload();
  writer.patchUint32(lengthOffset, writer.length - lengthOffset - 4);
}

function writeItemTable(writer: ByteWriter, rows: readonly Candidate[]): void {
  writer.varint(rows.length);
  writeRows(writer, rows);
}

function writeItemSketch(writer: ByteWriter, sketch: ItemSketch): void {
  const { cells, top, cut } = sketch;
  const rows = rowsOf(top);
  sortRows(rows);
  writer.uint8(Math.log2(cells.width));
  writer.uint8(cells.depth);
  writer.varint(top.capacity);
  writer.varint(cut);
  writer.varint(rows.length);
  writeRows(writer, rows);
  for (const { upper, lower } of rows) writer.varint(upper - lower);
  for (const cell of cells.cells) writer.varint(cell);
}

function rowsOf(listed: ListedItems): Candidate[] {
  const rows: Candidate[] = [];
  listed.forEach((item, upper, lower) => {
    rows.push({ item, upper, lower });
  });
  return rows;
}

/** With the row of the table that each is. */
interface TableRow extends Candidate {
  readonly row: number;
}

function tableRowsOf(table: ItemTable): TableRow[] {
  const rows: TableRow[] = [];
  table.forEach((item, upper, lower) => {
    rows.push({ item, upper, lower, row: rows.length });
  });
  return rows;
}

function sortRows(rows: Candidate[]): void {
  rows.sort((a, b) => compareUtf8(a.item, b.item));
}

function writeRows(writer: ByteWriter, rows: readonly Candidate[]): void {
  const lengthOffset = writer.length;
  writer.uint32(0);
  const lengths = rows.map(({ item }) => writer.utf8(item));
  writer.patchUint32(lengthOffset, writer.length - lengthOffset - 4);
  for (const length of lengths) writer.varint(length);
  for (const { upper } of rows) writer.varint(upper);
}

function writeActors(writer: ByteWriter, actors: ActorSet, ordered: boolean): void {
  if (!ordered) {
    actors.forEach((lo, hi) => {
      writer.uint32(lo);
      writer.uint32(hi);
    });
    return;
  }
  for (const word of actors.sorted()) writer.uint32(word);
}

/** What has been read, and what later sections refer to. */
interface Decoding {
  readonly context: SummaryContext;
  /**
   * Their writer has sorted the rows and written all cells, and the checksum fits: to look again
   * takes as long as to read them.
   */
  readonly isCanonical: boolean;
  readonly total: number;
  items: ItemTable | ItemSketch;
  actors: ActorSet | HyperLogLog | null;
  viewers: Viewers | null;
}

function decode(bytes: Uint8Array, context: SummaryContext): SummaryState {
  const { seedId } = context.hash;
  const reader = new ByteReader(bytes);
  if (reader.uint8() !== MAGIC_T || reader.uint8() !== MAGIC_S) fail('not the bytes of a summary');
  const version = reader.uint8();
  if (version !== VERSION) fail(`format version ${version} is not known`);
  const flags = reader.uint8();
  if (flags > FLAGS_KNOWN) fail('unknown flags');
  if (reader.uint32() !== seedId) fail('written under another hash key');
  if (reader.uint32() !== checksumOf(bytes)) fail('the checksum does not fit');
  const total = reader.varint();
  const withoutActor = reader.varint();
  const read: Decoding = {
    context,
    isCanonical: (flags & FLAG_CANONICAL) !== 0,
    total,
    items: new ItemTable(),
    actors: null,
    viewers: null,
  };
  readSections(reader, read);
  const sketched = read.items instanceof ItemSketch ? FLAG_ITEMS_SKETCHED : 0;
  const registers = read.actors instanceof HyperLogLog ? FLAG_ACTORS_SKETCHED : 0;
  if ((flags & (FLAG_ITEMS_SKETCHED | FLAG_ACTORS_SKETCHED)) !== (sketched | registers)) {
    fail('flags and sections contradict each other');
  }
  if (read.viewers instanceof PairTable && read.actors !== null) fail('actors are given twice');
  const isApart = (flags & FLAG_VIEWERS_APART) !== 0;
  if (isApart && read.viewers !== null) fail('viewers are given twice');
  const state = {
    total,
    withoutActor,
    saturated: (flags & FLAG_SATURATED) !== 0,
    incomplete: (flags & FLAG_INCOMPLETE) !== 0,
    items: read.items,
  };
  const viewers = isApart ? null : (read.viewers ?? noViewers(read, state));
  // Those of a column apart are given as well, so that it need not be read for them.
  const pairsGiveActors = viewers instanceof PairTable;
  return { ...state, actors: pairsGiveActors ? null : (read.actors ?? new ActorSet()), viewers };
}

/** Without actors nobody has any; else the bytes are older than viewers are: `loseViewers`. */
function noViewers(
  { actors, items, context }: Decoding,
  { total, withoutActor, saturated }: { total: number; withoutActor: number; saturated: boolean },
): Viewers {
  if (actors === null && items instanceof ItemTable) return new PairTable(items);
  const cut = actors === null ? 0 : eventsWithActorMax(total, withoutActor, saturated);
  return new ViewerSketch(context.shape.viewerBytes, cut);
}

function readSections(reader: ByteReader, read: Decoding): void {
  let lastId = 0;
  while (reader.remaining > 0) {
    const id = reader.uint8();
    if (id <= lastId) fail('sections are out of order');
    lastId = id;
    const payload = new ByteReader(reader.raw(reader.uint32()));
    readSection(id, payload, read);
    payload.expectEnd();
  }
}

function readSection(id: number, payload: ByteReader, read: Decoding): void {
  const { context } = read;
  switch (id) {
    case SECTION_ITEM_TABLE:
      readItemTable(payload, read);
      break;
    case SECTION_ITEM_SKETCH:
      if (hasItems(read)) fail('items are given twice');
      read.items = readItemSketch(payload, read);
      break;
    case SECTION_ACTOR_SET:
      read.actors = readActors(payload);
      break;
    case SECTION_REGISTERS:
      if (read.actors !== null) fail('actors are given twice');
      read.actors = readRegisters(payload.raw(payload.remaining), read);
      break;
    default: {
      const table = read.items instanceof ItemTable ? read.items : null;
      const viewers = readViewers(id, payload, table, context.shape.viewerBytes);
      if (viewers === null) fail(`section ${id} is not known`);
      if (read.viewers !== null) fail('viewers are given twice');
      read.viewers = viewers;
    }
  }
}

function readItemTable(payload: ByteReader, read: Decoding): void {
  const { context, isCanonical, total } = read;
  const count = payload.count(TABLE_ROW_BYTES_MIN);
  if (count === 0) fail('the item table is empty');
  const rows = new PackedRows(payload, count, total, { hasGaps: false, isAscending: isCanonical });
  read.items = ItemTable.of(rows, context.hash) ?? fail('an item is listed twice');
}

function hasItems({ items }: Decoding): boolean {
  return items instanceof ItemSketch || items.size > 0;
}

function readItemSketch(payload: ByteReader, { total, isCanonical }: Decoding): ItemSketch {
  const width = 2 ** payload.uint8();
  const depth = payload.uint8();
  if (!isCountMinShape(width, depth)) fail('width or depth is out of range');
  const capacity = payload.varint();
  if (capacity < 1 || capacity > CANDIDATES_MAX) fail('the number of candidates is out of range');
  const cut = payload.varint();
  if (cut > total) fail('the cut-off is above the total');
  const size = payload.count(CANDIDATE_BYTES_MIN);
  if (size > capacity) fail('there are too many candidates');
  const rows = new PackedRows(payload, size, total, { hasGaps: true, isAscending: false });
  if (!rows.isAscending) fail('the candidates are out of order');
  const top = TopK.of(capacity, rows);
  const length = width * depth;
  if (payload.remaining < length) fail('cells are missing');
  const cells = isCanonical
    ? PackedCells.readTrusted(payload, length, total)
    : PackedCells.read(payload, length, total);
  return new ItemSketch(new CountMin({ width, depth }, cells, total), top, cut);
}

function readRegisters(bytes: Uint8Array, { isCanonical }: Decoding): HyperLogLog {
  return isCanonical ? HyperLogLog.decodeTrusted(bytes) : HyperLogLog.decode(bytes);
}

function readActors(payload: ByteReader): ActorSet {
  const count = payload.remaining / BYTES_PER_ACTOR;
  if (!Number.isInteger(count) || count === 0) fail('the actor set is damaged');
  const actors = new ActorSet(count);
  for (let index = 0; index < count; index += 1) {
    const lo = payload.uint32();
    actors.add(lo, payload.uint32());
  }
  if (actors.size !== count) fail('an actor is listed twice');
  return actors;
}

function fail(message: string): never {
  throw new SketchDecodeError(`summary: ${message}`);
}
