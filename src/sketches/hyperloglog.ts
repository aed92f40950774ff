/*
 * What      How many different hashes were added? An estimate in fixed memory.
 * Paper     Flajolet, Fusy, Gandouet, Meunier, 2007, "HyperLogLog: the analysis of a near-optimal
 *           cardinality estimation algorithm"; 64-bit hashes after Heule, Nunkesser, Hall, 2013,
 *           "HyperLogLog in practice", without its bias tables; the estimator is Ertl, 2017, "New
 *           cardinality estimation algorithms for HyperLogLog sketches" (algorithm 6), as in
 *           Redis. Bytes: Redis's HYLL format (src/hyperloglog.c), read by PFCOUNT and PFMERGE.
 * Params    None: 2^14 = 16,384 registers of 6 bits. Register index = low 14 bits of the hash,
 *           rank = 1 + trailing zeros of the other 50 bits (51 if they are all zero).
 * Guarantee No bound holds always. Relative standard error at most 1.04 / sqrt(16384) = 0.81 % at
 *           any size, so |estimate - truth| <= 1.6 % of truth with probability about 0.95; finite
 *           and between 0 and 2^53 - 1 for any registers.
 * Memory    16,384 bytes (a byte a register). Encoded, and as long as nobody looks into what was
 *           decoded: 12,304 bytes dense; at most 3,000 sparse.
 * Cost      addHash O(1); merge, estimate, encode, decode O(registers).
 * Merge     Register-wise maximum: equal to the sketch of both streams together, bit for bit, in
 *           any order and grouping, and adding a stream again changes nothing. Same key only.
 * Not       No removal, no listing, no intersection. Counts hashes as they come: two actors
 *           with one hash are one.
 *
 * Bytes     Numbers in the drawing are sizes in bytes.
 *
 *           +--------+----------+--------+---------------------+-----------------------+
 *           | 'HYLL' | encoding | unused | cached cardinality  | registers             |
 *           |   4    |    1     |   3    | 8, little-endian    | dense or sparse       |
 *           +--------+----------+--------+---------------------+-----------------------+
 *
 *           encoding: 0 dense, 1 sparse. unused: zeros. The top bit of the cached cardinality
 *           says that it is stale; encode always writes it as stale and otherwise zero, so that
 *           equal registers give equal bytes; decode ignores it.
 *
 *           Dense, 12,288 bytes: registers of 6 bits, from the low bits of each byte upwards:
 *             11000000 22221111 33333322 ...
 *           Sparse, runs of equal registers in the order of their index, 16,384 in total:
 *             00llllll            ZERO    l+1 zeros (1..64)
 *             01llllll llllllll   XZERO   l+1 zeros (1..16,384), high bits first
 *             1vvvvvll            VAL     l+1 registers (1..4) of value v+1 (1..32)
 *           Canonical: every run of zeros is one opcode, ZERO if it is long enough; every run of
 *           another value is as many full VALs as fit, and one for the rest.
 */

import { ownBytes } from '../lib/bytes.ts';
import { estimateOf, rankOf } from './register-arithmetic.ts';
import { SketchDecodeError } from './sketch-decode-error.ts';

const INDEX_BITS = 14;
const REGISTER_COUNT = 1 << INDEX_BITS;
const INDEX_MASK = REGISTER_COUNT - 1;
/** Of the 64 bits of a hash those that are no index, and one more if all of them are zero. */
const RANK_MAX = 64 - INDEX_BITS + 1;

const MAGIC = [0x48, 0x59, 0x4c, 0x4c] as const; // 'HYLL'
const HEADER_BYTES = 16;
const ENCODING_OFFSET = 4;
const UNUSED_OFFSET = 5;
const CARDINALITY_OFFSET = 8;
const STALE_FLAG_OFFSET = 15;
const STALE_FLAG = 0x80;
const ENCODING_DENSE = 0;
const ENCODING_SPARSE = 1;

const REGISTER_BITS = 6;
const REGISTER_MASK = (1 << REGISTER_BITS) - 1;
/** Added to a rank it does not reach beyond the mask, if the rank is in range. */
const TO_MASK = REGISTER_MASK - RANK_MAX;
const DENSE_BYTES = HEADER_BYTES + (REGISTER_COUNT * REGISTER_BITS) / 8;
/** Redis's default of hll-sparse-max-bytes, which counts the header too. */
const SPARSE_BYTES_MAX = 3000;
const SPARSE_VALUE_MAX = 32;
const SPARSE_VALUE_RUN_MAX = 4;
const SPARSE_ZERO_RUN_MAX = 64;
const OPCODE_XZERO = 0x40;
const OPCODE_VAL = 0x80;

/** Counts different 64-bit hashes, each given as two unsigned 32-bit halves. */
export class HyperLogLog {
  /** Relative standard error of an estimate: 1.04 / sqrt(registers), about 0.0081. */
  static readonly standardError = 1.04 / Math.sqrt(REGISTER_COUNT);

  /** A byte a register; or dense bytes that nobody has looked into. */
  #stored: Uint8Array;

  /** An empty sketch, the identity of merge; or of what its own methods hand in. */
  constructor(stored: Uint8Array = new Uint8Array(REGISTER_COUNT)) {
    this.#stored = stored;
  }

  /** All registers in the order of their index: 0 while untouched, else the largest rank. */
  get registers(): ArrayLike<number> {
    return this.#registers;
  }

  /** Bytes of memory that the registers take, once somebody looks into them. */
  get byteLength(): number {
    return REGISTER_COUNT;
  }

  /** Adds a hash and says whether that changed a register. */
  addHash(lo: number, hi: number): boolean {
    const registers = this.#registers;
    const index = lo & INDEX_MASK;
    const rank = rankOf(lo, hi, INDEX_BITS);
    if (rank <= registers[index]!) return false;
    registers[index] = rank;
    return true;
  }

  /** Makes this the sketch of both streams; `other` stays as it is. */
  merge(other: HyperLogLog): void {
    const own = this.#registers;
    const others = other.#registers;
    for (let index = 0; index < REGISTER_COUNT; index += 1) {
      const rank = others[index]!;
      if (rank > own[index]!) own[index] = rank;
    }
  }

  /** How many different hashes were added: 0 to 2^53 - 1, not rounded, 0 only if empty. */
  estimate(): number {
    return estimateOf(rankHistogram(this.#registers));
  }

  /**
   * The bytes described above: sparse while they fit into 3,000 bytes and no register is above
   * 32 (where Redis by default changes over), else dense. Equal registers give equal bytes.
   */
  encode(): Uint8Array {
    return encodeSparse(this.#registers) ?? encodeDense(this.#registers);
  }

  /**
   * Reads sparse or dense bytes, ours or Redis's, canonical or not.
   * Throws SketchDecodeError for all others.
   */
  static decode(bytes: Uint8Array): HyperLogLog {
    const encoding = checkedEncoding(bytes);
    const sketch = new HyperLogLog();
    if (encoding === ENCODING_DENSE) {
      if (decodeDense(bytes, sketch.#registers) > REGISTER_MASK) {
        throw new SketchDecodeError(`HYLL: a register is above ${RANK_MAX}`);
      }
    } else {
      decodeSparse(bytes, sketch.#registers);
    }
    return sketch;
  }

  /**
   * The same for bytes whose writer is trusted, which may be kept and must not change: dense ones
   * are unpacked when somebody looks into them, and no register is taken for more than it can be.
   */
  static decodeTrusted(bytes: Uint8Array): HyperLogLog {
    const isDense = checkedEncoding(bytes) === ENCODING_DENSE;
    return isDense ? new HyperLogLog(ownBytes(bytes)) : HyperLogLog.decode(bytes);
  }

  clone(): HyperLogLog {
    return new HyperLogLog(this.#registers.slice());
  }

  get #registers(): Uint8Array {
    if (this.#stored.length !== REGISTER_COUNT) this.#stored = unpacked(this.#stored);
    return this.#stored;
  }
}

/** How many registers hold each rank, from 0 to RANK_MAX. */
function rankHistogram(registers: Uint8Array): Uint32Array {
  const histogram = new Uint32Array(RANK_MAX + 1);
  for (let index = 0; index < REGISTER_COUNT; index += 1) {
    histogram[registers[index]!]! += 1;
  }
  return histogram;
}

function writeHeader(bytes: Uint8Array, encoding: number): void {
  bytes.set(MAGIC);
  bytes[ENCODING_OFFSET] = encoding;
  bytes[STALE_FLAG_OFFSET] = STALE_FLAG;
}

function encodeDense(registers: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(DENSE_BYTES);
  writeHeader(bytes, ENCODING_DENSE);
  // Four registers fill three bytes.
  let offset = HEADER_BYTES;
  for (let index = 0; index < REGISTER_COUNT; index += 4) {
    const second = registers[index + 1]!;
    const third = registers[index + 2]!;
    bytes[offset] = registers[index]! | (second << 6);
    bytes[offset + 1] = (second >> 2) | (third << 4);
    bytes[offset + 2] = (third >> 4) | (registers[index + 3]! << 2);
    offset += 3;
  }
  return bytes;
}

/** The canonical sparse bytes, or nothing if they are too many or a register is too large. */
function encodeSparse(registers: Uint8Array): Uint8Array | undefined {
  const bytes = new Uint8Array(SPARSE_BYTES_MAX);
  writeHeader(bytes, ENCODING_SPARSE);
  let offset = HEADER_BYTES;
  let index = 0;
  while (index < REGISTER_COUNT) {
    const value = registers[index]!;
    if (value > SPARSE_VALUE_MAX) return undefined;
    const runMax = value === 0 ? REGISTER_COUNT : SPARSE_VALUE_RUN_MAX;
    const length = runLength(registers, index, runMax);
    const opcodeBytes = value === 0 && length > SPARSE_ZERO_RUN_MAX ? 2 : 1;
    if (offset + opcodeBytes > SPARSE_BYTES_MAX) return undefined;
    if (opcodeBytes === 2) {
      bytes[offset] = OPCODE_XZERO | ((length - 1) >> 8);
      bytes[offset + 1] = length - 1;
    } else {
      bytes[offset] = (value === 0 ? 0 : OPCODE_VAL | ((value - 1) << 2)) | (length - 1);
    }
    offset += opcodeBytes;
    index += length;
  }
  return bytes.slice(0, offset);
}

/** Registers equal to the one at `start`, itself included, at most `lengthMax`. */
function runLength(registers: Uint8Array, start: number, lengthMax: number): number {
  const value = registers[start]!;
  const end = Math.min(start + lengthMax, REGISTER_COUNT);
  let index = start + 1;
  while (index < end && registers[index] === value) index += 1;
  return index - start;
}

/** Checks the header, and the length of dense bytes; returns the encoding. */
function checkedEncoding(bytes: Uint8Array): number {
  if (bytes.length < HEADER_BYTES) {
    throw new SketchDecodeError(`HYLL: ${bytes.length} bytes are too few for its header`);
  }
  if (MAGIC.some((byte, offset) => bytes[offset] !== byte)) {
    throw new SketchDecodeError('HYLL: wrong magic');
  }
  const encoding = bytes[ENCODING_OFFSET]!;
  if (encoding !== ENCODING_DENSE && encoding !== ENCODING_SPARSE) {
    throw new SketchDecodeError(`HYLL: unknown encoding ${encoding}`);
  }
  if (bytes.subarray(UNUSED_OFFSET, CARDINALITY_OFFSET).some((byte) => byte !== 0)) {
    throw new SketchDecodeError('HYLL: unused header bytes are not zero');
  }
  if (encoding === ENCODING_DENSE && bytes.length !== DENSE_BYTES) {
    throw new SketchDecodeError(`HYLL: dense with ${bytes.length} bytes, not ${DENSE_BYTES}`);
  }
  return encoding;
}

/**
 * Returns a number above the mask if a register is above its maximum. Written out, as V8 does not
 * unroll loops: a cold start reads a million registers here.
 */
function decodeDense(bytes: Uint8Array, registers: Uint8Array): number {
  let index = 0;
  let sums = 0;
  for (let offset = HEADER_BYTES; offset < DENSE_BYTES; offset += 3) {
    const word = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
    const first = word & REGISTER_MASK;
    const second = (word >> REGISTER_BITS) & REGISTER_MASK;
    const third = (word >> (2 * REGISTER_BITS)) & REGISTER_MASK;
    const fourth = word >> (3 * REGISTER_BITS);
    registers[index] = first;
    registers[index + 1] = second;
    registers[index + 2] = third;
    registers[index + 3] = fourth;
    index += 4;
    sums |= (first + TO_MASK) | (second + TO_MASK) | (third + TO_MASK) | (fourth + TO_MASK);
  }
  return sums;
}

/** The registers of dense bytes, each at most RANK_MAX. */
function unpacked(dense: Uint8Array): Uint8Array {
  const registers = new Uint8Array(REGISTER_COUNT);
  if (decodeDense(dense, registers) <= REGISTER_MASK) return registers;
  return registers.map((rank) => Math.min(rank, RANK_MAX));
}

function decodeSparse(bytes: Uint8Array, registers: Uint8Array): void {
  let index = 0;
  for (let offset = HEADER_BYTES; offset < bytes.length; offset += 1) {
    const opcode = bytes[offset]!;
    let value = 0;
    let length = (opcode & (SPARSE_ZERO_RUN_MAX - 1)) + 1;
    if (opcode >= OPCODE_VAL) {
      value = ((opcode >> 2) & (SPARSE_VALUE_MAX - 1)) + 1;
      length = (opcode & (SPARSE_VALUE_RUN_MAX - 1)) + 1;
    } else if (opcode >= OPCODE_XZERO) {
      offset += 1;
      if (offset === bytes.length) throw new SketchDecodeError('HYLL: last opcode is cut short');
      length = (((length - 1) << 8) | bytes[offset]!) + 1;
    }
    if (index + length > REGISTER_COUNT) {
      throw new SketchDecodeError(`HYLL: more than ${REGISTER_COUNT} registers`);
    }
    if (value !== 0) registers.fill(value, index, index + length);
    index += length;
  }
  if (index !== REGISTER_COUNT) {
    throw new SketchDecodeError(`HYLL: ${index} registers, not ${REGISTER_COUNT}`);
  }
}
