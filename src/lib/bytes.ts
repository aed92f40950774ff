/**
 * Writing and reading of compact binary records: little-endian words, varints (7 bits a byte, low
 * bits first, up to 2^53 - 1) and length-prefixed UTF-8.
 */
import { assert } from './assert.ts';
import type { Counts } from './counts.ts';
import { isAscii } from './utf8.ts';

const VARINT_BYTES_MAX = 8;
const INITIAL_CAPACITY = 256;
const TWO_POW_28 = 2 ** 28;
/** UTF-8 needs at most 3 bytes for each UTF-16 code unit. */
const UTF8_BYTES_PER_UNIT_MAX = 3;

export class ByteWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity = INITIAL_CAPACITY) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  uint8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value, this.#length);
  }

  /** A non-negative safe integer. */
  varint(value: number): void {
    this.#reserve(VARINT_BYTES_MAX);
    const bytes = this.#bytes;
    let at = this.#length;
    let rest = value;
    while (rest >= TWO_POW_28) {
      bytes[at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 128) {
      bytes[at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    bytes[at++] = rest;
    this.#length = at;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Length in bytes as a varint, then the bytes of the UTF-8 form. */
  text(text: string): void {
    const bytesMax = text.length * UTF8_BYTES_PER_UNIT_MAX;
    this.#reserve(bytesMax + VARINT_BYTES_MAX);
    if (bytesMax < 128) {
      // The length takes one byte whatever it turns out to be: write the text first.
      const written = this.#bytes.write(text, this.#length + 1, 'utf8');
      this.#bytes[this.#length] = written;
      this.#length += written + 1;
      return;
    }
    this.varint(Buffer.byteLength(text, 'utf8'));
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** The bytes of the UTF-8 form alone; returns how many. */
  utf8(text: string): number {
    this.#reserve(text.length * UTF8_BYTES_PER_UNIT_MAX);
    const written = this.#bytes.write(text, this.#length, 'utf8');
    this.#length += written;
    return written;
  }

  /** Overwrites four bytes written before, for lengths and checksums known only afterwards. */
  patchUint32(offset: number, value: number): void {
    assert(offset + 4 <= this.#length, 'only written bytes can be patched');
    this.#bytes.writeUInt32LE(value, offset);
  }

  /** What was written since `offset`; valid until the next write. */
  view(offset: number): Uint8Array {
    return this.#bytes.subarray(offset, this.#length);
  }

  /** A copy of all that was written. */
  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, 0, this.#length);
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** A view where it is most of what it keeps in memory, else a copy. */
export function ownBytes(bytes: Uint8Array): Buffer {
  return 2 * bytes.length >= bytes.buffer.byteLength
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    : Buffer.from(bytes);
}

/** Orders two stretches of bytes like `Buffer.compare`, without its cost for short ones. */
export function compareBytes(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): number {
  const length = Math.min(aEnd - aStart, bEnd - bStart);
  for (let index = 0; index < length; index += 1) {
    const difference = a[aStart + index]! - b[bStart + index]!;
    if (difference !== 0) return difference;
  }
  return aEnd - aStart - (bEnd - bStart);
}

/** Thrown by ByteReader; decoders turn it into their own error. */
export class ByteReadError extends Error {
  override readonly name = 'ByteReadError';
}

export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = end;
  }

  get offset(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#end - this.#at;
  }

  uint8(): number {
    this.#need(1);
    return this.#bytes[this.#at++]!;
  }

  uint32(): number {
    this.#need(4);
    const value = this.#bytes.readUInt32LE(this.#at);
    this.#at += 4;
    return value;
  }

  varint(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    const first = at < this.#end ? bytes[at]! : 128;
    if (first < 128) {
      this.#at = at + 1;
      return first;
    }
    let value = 0;
    let scale = 1;
    for (let count = 0; count < VARINT_BYTES_MAX; count += 1) {
      if (at >= this.#end) throw new ByteReadError('a number is cut off');
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        this.#at = at;
        return value;
      }
      scale *= 128;
    }
    throw new ByteReadError('a number is out of range');
  }

  /** Fills `target` with as many numbers; each must be at most `max`. */
  varints(target: Counts, max: number): void {
    const length = target.length;
    const oneByteEach = this.#bytes.subarray(this.#at, Math.min(this.#at + length, this.#end));
    if (oneByteEach.length === length && max >= 127 && isAscii(oneByteEach)) {
      target.set(oneByteEach);
      this.#at += length;
    } else {
      this.#mixedVarints(target, max);
    }
  }

  /** On its own, so that what the engine learns about the loop is not mixed with the short cut. */
  #mixedVarints(target: Counts, max: number): void {
    const bytes = this.#bytes;
    const length = target.length;
    const fourthLast = this.#end - 4;
    let at = this.#at;
    let index = 0;
    const orMax = Math.min(127, max);
    while (index < length) {
      if (at <= fourthLast && index + 4 <= length) {
        // Most numbers take one byte: four of them are checked at once.
        const a = bytes[at]!;
        const b = bytes[at + 1]!;
        const c = bytes[at + 2]!;
        const d = bytes[at + 3]!;
        if ((a | b | c | d) <= orMax) {
          target[index] = a;
          target[index + 1] = b;
          target[index + 2] = c;
          target[index + 3] = d;
          index += 4;
          at += 4;
          continue;
        }
      }
      this.#at = at;
      const value = this.varint();
      if (value > max) throw new ByteReadError('a number is out of range');
      target[index++] = value;
      at = this.#at;
    }
    this.#at = at;
  }

  /** The bytes of so many numbers as a view, once each is known to be at most `max`. */
  packedVarints(count: number, max: number): Uint8Array {
    const start = this.#at;
    this.#skipVarints(count, max);
    return this.#bytes.subarray(start, this.#at);
  }

  /** As in #mixedVarints: most numbers take one byte, so four of them are checked at once. */
  #skipVarints(count: number, max: number): void {
    const bytes = this.#bytes;
    const fourthLast = this.#end - 4;
    const orMax = Math.min(127, max);
    let at = this.#at;
    let left = count;
    while (left > 0) {
      if (at <= fourthLast && left >= 4) {
        if ((bytes[at]! | bytes[at + 1]! | bytes[at + 2]! | bytes[at + 3]!) <= orMax) {
          at += 4;
          left -= 4;
          continue;
        }
      }
      this.#at = at;
      if (this.varint() > max) throw new ByteReadError('a number is out of range');
      at = this.#at;
      left -= 1;
    }
    this.#at = at;
  }

  /** A view of the next bytes, not a copy. */
  raw(byteCount: number): Uint8Array {
    this.#need(byteCount);
    const view = this.#bytes.subarray(this.#at, this.#at + byteCount);
    this.#at += byteCount;
    return view;
  }

  text(): string {
    const byteCount = this.varint();
    this.#need(byteCount);
    const text = this.#bytes.toString('utf8', this.#at, this.#at + byteCount);
    this.#at += byteCount;
    return text;
  }

  /** A number of records, refused if so many of that size cannot follow: before allocating. */
  count(bytesPerRecordMin: number): number {
    const count = this.varint();
    if (count * bytesPerRecordMin > this.remaining) {
      throw new ByteReadError('more records are announced than there are bytes');
    }
    return count;
  }

  expectEnd(): void {
    if (this.remaining !== 0) throw new ByteReadError('bytes are left over');
  }

  #need(byteCount: number): void {
    if (byteCount > this.remaining) throw new ByteReadError('the bytes are cut off');
  }
}
