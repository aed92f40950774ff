/*
 * What      How many different actors one item had: their hashes while they are few, then registers
 *           of a small HyperLogLog.
 * Paper     As hyperloglog.ts, with fewer registers; the estimator is that of Ertl, 2017.
 * Params    None: up to 96 hashes of 8 bytes, then 2^10 = 1,024 registers of 6 bits (768 bytes).
 *           Register index = low 10 bits of the hash, rank = 1 + trailing zeros of the others.
 * Guarantee While `isExact`: the number of different hashes. Else no bound holds always: relative
 *           standard error 1.04 / sqrt(1024) = 3.25 % at any size.
 * Memory    At most 2 KiB while exact, then 1 KiB. Encoded: at most 768 bytes.
 * Cost      add O(1); merge, estimate, encode O(registers).
 * Merge     Union: the same set in any order and grouping, byte for byte.
 * Not       No removal, no listing once there are registers.
 */
import type { ByteWriter } from '../lib/bytes.ts';
import { ActorSet } from './actor-set.ts';
import { estimateOf, rankOf } from './register-arithmetic.ts';

/** So many hashes take as many bytes as the registers. */
export const VIEWER_HASHES_MAX = 96;
export const VIEWER_REGISTERS_BYTES = 768;
export const BYTES_PER_HASH = 8;
/** What stands around the viewers of a summary where they are stored, at most. */
export const VIEWERS_FRAME_BYTES = 64;

const INDEX_BITS = 10;
const REGISTER_COUNT = 1 << INDEX_BITS;
const INDEX_MASK = REGISTER_COUNT - 1;
const RANK_MAX = 64 - INDEX_BITS + 1;
const REGISTER_BITS = 6;
const REGISTER_MASK = (1 << REGISTER_BITS) - 1;
/** The lowest bit of each of four registers. */
const LOWEST_BITS = 0b000001_000001_000001_000001;
const UPPER_ERRORS = 3;

export class ViewerSet {
  /** Relative standard error of an estimate that is not exact: 1.04 / sqrt(registers). */
  static readonly standardError = 1.04 / Math.sqrt(REGISTER_COUNT);

  #hashes: ActorSet | null = new ActorSet();
  #registers = new Uint8Array(0);
  /** Of the registers as they are now; null: not known. */
  #estimate: number | null = null;

  get isExact(): boolean {
    return this.#hashes !== null;
  }

  /** Number of hashes that are kept; 0 once there are registers. */
  get hashCount(): number {
    return this.#hashes?.size ?? 0;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    return this.#hashes?.byteLength ?? this.#registers.byteLength;
  }

  /** Bytes that `writeTo` writes. */
  get encodedBytes(): number {
    return this.isExact ? setBytes(this.hashCount) : VIEWER_REGISTERS_BYTES;
  }

  add(lo: number, hi: number): void {
    if (this.#hashes === null) {
      this.#addToRegisters(lo, hi);
      return;
    }
    this.#hashes.add(lo, hi);
    if (this.#hashes.size > VIEWER_HASHES_MAX) this.#becomeRegisters(this.#hashes);
  }

  /** Pairs lo, hi, from `start` up to `end`. */
  addWords(words: Uint32Array, start: number, end: number): void {
    for (let at = start; at < end; at += 2) this.add(words[at]!, words[at + 1]!);
  }

  /** Visits every hash that is kept. */
  forEachHash(visit: (lo: number, hi: number) => void): void {
    this.#hashes?.forEach(visit);
  }

  /** The other is unchanged. */
  merge(other: ViewerSet): void {
    if (other.#hashes !== null) {
      other.#hashes.forEach((lo, hi) => this.add(lo, hi));
      return;
    }
    if (this.#hashes !== null) this.#becomeRegisters(this.#hashes);
    const own = this.#registers;
    const others = other.#registers;
    for (let index = 0; index < REGISTER_COUNT; index += 1) {
      if (others[index]! > own[index]!) own[index] = others[index]!;
    }
    this.#estimate = null;
  }

  /** How many different hashes were added; not rounded. */
  estimate(): number {
    if (this.#hashes !== null) return this.#hashes.size;
    if (this.#estimate === null) {
      const histogram = new Uint32Array(RANK_MAX + 1);
      for (const rank of this.#registers) histogram[rank]! += 1;
      this.#estimate = estimateOf(histogram);
    }
    return this.#estimate;
  }

  clone(): ViewerSet {
    const copy = new ViewerSet();
    copy.#hashes = this.#hashes?.clone() ?? null;
    copy.#registers = this.#registers.slice();
    copy.#estimate = this.#estimate;
    return copy;
  }

  /** `hashCount` hashes in ascending order, or the registers, 6 bits each from the low bits up. */
  writeTo(writer: ByteWriter): void {
    if (this.#hashes !== null) {
      for (const word of this.#hashes.sorted()) writer.uint32(word);
      return;
    }
    // Four registers fill three bytes.
    const registers = this.#registers;
    for (let index = 0; index < REGISTER_COUNT; index += 4) {
      const second = registers[index + 1]!;
      const third = registers[index + 2]!;
      writer.uint8((registers[index]! | (second << 6)) & 255);
      writer.uint8(((second >> 2) | (third << 4)) & 255);
      writer.uint8((third >> 4) | (registers[index + 3]! << 2));
    }
  }

  /** Unites with registers as `writeTo` writes them. */
  addPackedRegisters(bytes: Uint8Array, start: number): void {
    if (this.#hashes !== null) this.#becomeRegisters(this.#hashes);
    const registers = this.#registers;
    const end = start + VIEWER_REGISTERS_BYTES;
    let index = 0;
    for (let offset = start; offset < end; offset += 3) {
      const word = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
      const first = word & REGISTER_MASK;
      const second = (word >> REGISTER_BITS) & REGISTER_MASK;
      const third = (word >> (2 * REGISTER_BITS)) & REGISTER_MASK;
      const fourth = word >> (3 * REGISTER_BITS);
      if (first > registers[index]!) registers[index] = first;
      if (second > registers[index + 1]!) registers[index + 1] = second;
      if (third > registers[index + 2]!) registers[index + 2] = third;
      if (fourth > registers[index + 3]!) registers[index + 3] = fourth;
      index += 4;
    }
    this.#estimate = null;
  }

  #becomeRegisters(hashes: ActorSet): void {
    this.#hashes = null;
    this.#registers = new Uint8Array(REGISTER_COUNT);
    hashes.forEach((lo, hi) => this.#addToRegisters(lo, hi));
  }

  #addToRegisters(lo: number, hi: number): void {
    const index = lo & INDEX_MASK;
    const rank = rankOf(lo, hi, INDEX_BITS);
    if (rank <= this.#registers[index]!) return;
    this.#registers[index] = rank;
    this.#estimate = null;
  }
}

/** Bytes that a set of so many different hashes takes when stored. */
export function setBytes(hashCount: number): number {
  return Math.min(hashCount * BYTES_PER_HASH, VIEWER_REGISTERS_BYTES);
}

/** Of registers as `writeTo` writes them. */
export function packedEstimate(bytes: Uint8Array, start: number): number {
  const histogram = new Uint32Array(RANK_MAX + 1);
  for (let offset = start; offset < start + VIEWER_REGISTERS_BYTES; offset += 3) {
    const word = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
    histogram[word & REGISTER_MASK]! += 1;
    histogram[(word >> REGISTER_BITS) & REGISTER_MASK]! += 1;
    histogram[(word >> (2 * REGISTER_BITS)) & REGISTER_MASK]! += 1;
    histogram[word >> (3 * REGISTER_BITS)]! += 1;
  }
  return estimateOf(histogram);
}

/** Whether no register is above 55: from 56 on the upper three of its six bits are ones. */
export function registersInRange(bytes: Uint8Array): boolean {
  let excess = 0;
  for (let offset = 0; offset < bytes.length; offset += 3) {
    const word = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
    excess |= (word >> 3) & (word >> 4) & (word >> 5) & LOWEST_BITS;
  }
  return excess === 0;
}

/** What registers with this estimate count for at most. */
export function upperOfEstimate(estimate: number): number {
  return Math.ceil(estimate * (1 + UPPER_ERRORS * ViewerSet.standardError));
}
