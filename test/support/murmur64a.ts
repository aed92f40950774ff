const MULTIPLIER = 0xc6a4a7935bd1e995n;
const SHIFT = 47n;
const UINT64_MASK = 0xffffffffffffffffn;
const UINT32_MASK = 0xffffffffn;
const BLOCK_BYTES = 8;
/** The seed of Redis's PFADD. */
const REDIS_SEED = 0xadc83b19n;

/**
 * MurmurHash64A (Austin Appleby, public domain) as PFADD uses it, in two unsigned halves: with it
 * the same elements give the same registers in a real Redis and in ours. Tests only: its
 * collisions can be crafted whatever the seed.
 */
export function murmur64a(text: string): { readonly lo: number; readonly hi: number } {
  const bytes = Buffer.from(text, 'utf8');
  let hash = REDIS_SEED ^ multiplied(BigInt(bytes.length));
  const blocksEnd = bytes.length - (bytes.length % BLOCK_BYTES);
  for (let offset = 0; offset < blocksEnd; offset += BLOCK_BYTES) {
    hash = multiplied(hash ^ multiplied(shiftMixed(multiplied(bytes.readBigUInt64LE(offset)))));
  }
  if (blocksEnd < bytes.length) {
    let tail = 0n;
    for (let offset = bytes.length - 1; offset >= blocksEnd; offset -= 1) {
      tail = (tail << 8n) | BigInt(bytes[offset] ?? 0);
    }
    hash = multiplied(hash ^ tail);
  }
  hash = shiftMixed(multiplied(shiftMixed(hash)));
  return { lo: Number(hash & UINT32_MASK), hi: Number(hash >> 32n) };
}

function multiplied(value: bigint): bigint {
  return (value * MULTIPLIER) & UINT64_MASK;
}

function shiftMixed(value: bigint): bigint {
  return value ^ (value >> SHIFT);
}
