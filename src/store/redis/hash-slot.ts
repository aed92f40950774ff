/** Slots of a Redis Cluster. */
export const SLOT_COUNT = 16_384;

/**
 * The slot that a hash tag (the text between the braces of a key) belongs to: CRC-16/XMODEM of
 * its bytes modulo 16,384, as the Redis Cluster specification (redis.io) defines it.
 */
export function slotOfHashTag(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc % SLOT_COUNT;
}
