import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { hashKeyFromBytes, KeyedHash } from '../../src/sketches/hash.ts';

/**
 * Published vectors (vectors_hsip64 of github.com/veorq/SipHash): the key is 00 01 .. 07, the
 * message of the n-th vector (from 0) is the n bytes 00 01 .. n-1.
 */
const PUBLISHED_VECTORS = `
  218d1f59b9b83cc8 be552412f8387315 064f39ef7c50eb57 ce0f1a45f7060679
  d5e78a175be52ea1 cb9d7c3f2f3db580 ce3e91358aa2bc25 ff202728b07bc684
  edfee820bce4858c 5b51cccc13888307 95b0469f06a6f2ee ae26333994ddcd48
  7bc71f9faef5c799 5a2352d75a0c3744 3bb1a870eae8e658 217d0bcb4e81c902
  7336aad25f7bf3b5 37adc0641c4c4f6a c9b2db2b9a3e42f9 f910e48020ab363c
  1bf52b0a6feea7db 00741dc269e8b3ef e20103fa1ba776ef 4c2210e54b681d73
  70741045ae3fa6f1 0c86403739714038 0d899ed8112923f0 226bf5fab81ee1b8
  2d925ffb1e0016b5 361958d52cee10f1 291aaf864898179d 863c7f155c34117c
  28709d46d811626c 248477681d28f89c 8324e4d7528f9830 f9efd4e13aea6bd8
  86d67a40ec4276dc 3f6292eccca97e35 cbd92ee724d42109 368df6808d403d79
  5b38c81c67c8ae4c 95ab7189d439acb3 a91a52c025327024 5b0087c69528acea
  1e30f3ad27dcb15a 697f5c9a90324ed4 495c0f995557dc38 9427202a3c29f94d
  a9eaa8c04ba93e3e eea4c1737d011218 912d568fd8f65a49 56919596b0ff5c97
  02445a7998f550e1 86ec466ce71d1fb2 359569e7d289e3bc 871b05ca62bb7c96
  a1a492f942f15f1d 12ec267ff6095b6e 5d1b5ea1b231d89d d8cfb4453f92ee54
  d6762890bf26e460 313563a4b7ed5cf3 f90b3ab572d46693 2ea63c71bf326087
`
  .trim()
  .split(/\s+/);

const PUBLISHED_KEY = Uint8Array.from({ length: 8 }, (_, index) => index);

function countingBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index);
}

/** The last hash as the reference code prints it: both words in little-endian bytes. */
function hexOf(hash: KeyedHash): string {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(hash.lo, 0);
  bytes.writeUInt32LE(hash.hi, 4);
  return bytes.toString('hex');
}

function hexOfString(hash: KeyedHash, text: string): string {
  hash.hashString(text);
  return hexOf(hash);
}

function hexOfBytes(hash: KeyedHash, bytes: Uint8Array): string {
  hash.hashBytes(bytes, 0, bytes.length);
  return hexOf(hash);
}

describe('KeyedHash', () => {
  it('gives the published HalfSipHash-2-4 vectors for all 64 lengths of bytes', () => {
    const hash = new KeyedHash(hashKeyFromBytes(PUBLISHED_KEY));
    const results = PUBLISHED_VECTORS.map((_, length) => hexOfBytes(hash, countingBytes(length)));
    expect(results).toEqual(PUBLISHED_VECTORS);
    expect(results).toHaveLength(64);
  });

  it('gives the published vectors for the same messages as strings', () => {
    const hash = new KeyedHash(hashKeyFromBytes(PUBLISHED_KEY));
    const results = PUBLISHED_VECTORS.map((_, length) =>
      hexOfString(hash, String.fromCharCode(...countingBytes(length))),
    );
    expect(results).toEqual(PUBLISHED_VECTORS);
  });

  it('hashes a string as its UTF-8 bytes, whatever its characters and length', () => {
    const hash = new KeyedHash({ k0: 0x01234567, k1: 0x89abcdef });
    const texts = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 600 }),
      fc.string({ unit: 'binary', maxLength: 300 }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const utf8 = new TextEncoder().encode(text);
        expect(hexOfString(hash, text)).toBe(hexOfBytes(hash, utf8));
      }),
    );
  });

  it('takes one non-ASCII character at any place of the string into account', () => {
    const hash = new KeyedHash({ k0: 1, k1: 2 });
    for (let length = 1; length <= 9; length += 1) {
      for (let place = 0; place < length; place += 1) {
        const text = `${'a'.repeat(place)}\u0080${'a'.repeat(length - place - 1)}`;
        expect(hexOfString(hash, text)).toBe(hexOfBytes(hash, new TextEncoder().encode(text)));
      }
    }
  });

  it('hashes inputs longer than its first scratch buffer, ASCII or not', () => {
    const hash = new KeyedHash({ k0: 1, k1: 2 });
    for (const text of ['a'.repeat(10_000), '\u20ac'.repeat(10_000)]) {
      const whole = hexOfString(hash, text);
      expect(whole).toBe(hexOfBytes(hash, new TextEncoder().encode(text)));
      expect(hexOfString(hash, `${text.slice(0, -1)}b`)).not.toBe(whole);
      expect(hexOfString(hash, `${text.slice(0, -5)}b${text.slice(-4)}`)).not.toBe(whole);
      expect(hexOfString(hash, 'a')).toBe(hexOfBytes(hash, new TextEncoder().encode('a')));
    }
  });

  it('hashes only the named part of an array', () => {
    const hash = new KeyedHash({ k0: 3, k1: 4 });
    const bytes = countingBytes(40);
    hash.hashBytes(bytes, 7, 30);
    const part = hexOf(hash);
    expect(part).toBe(hexOfBytes(hash, bytes.slice(7, 30)));
  });

  it('refuses a part that lies outside the array', () => {
    const hash = new KeyedHash({ k0: 3, k1: 4 });
    for (const [start, end] of [
      [-1, 2],
      [2, 1],
      [0, 5],
      [Number.NaN, 2],
    ] as const) {
      expect(() => hash.hashBytes(new Uint8Array(4), start, end)).toThrow(AssertionFailure);
    }
  });

  it('gives other hashes and another seed id under another key, in either half', () => {
    const keys = [
      { k0: 1, k1: 2 },
      { k0: 2, k1: 2 },
      { k0: 1, k1: 3 },
    ];
    const hashes = keys.map((key) => new KeyedHash(key));
    expect(new Set(hashes.map((hash) => hexOfString(hash, 'same'))).size).toBe(3);
    expect(new Set(hashes.map((hash) => hash.seedId)).size).toBe(3);
    expect(new KeyedHash({ k0: 1, k1: 2 }).seedId).toBe(hashes[0]?.seedId);
  });

  it('has one pinned result for a key and a string, so that stored summaries stay readable', () => {
    const hash = new KeyedHash(hashKeyFromBytes(PUBLISHED_KEY));
    expect(hash.seedId).toBe(1_554_853_387);
    expect(hexOfString(hash, 'GET /caf\u00e9 \u{1f600}')).toBe('0fa4ad2c50e172c5');
  });

  it('has halves that are unsigned 32-bit integers', () => {
    const hash = new KeyedHash({ k0: 0xffffffff, k1: 0x80000000 });
    let topBits = 0;
    for (let index = 0; index < 64; index += 1) {
      hash.hashString(`id-${index}`);
      for (const half of [hash.lo, hash.hi]) {
        expect(half).toBe(half >>> 0);
        topBits |= half;
      }
    }
    expect(topBits >>> 0).toBe(0xffffffff);
  });
});

describe('hashKeyFromBytes', () => {
  it('reads two little-endian words', () => {
    const bytes = Uint8Array.of(0x01, 0x02, 0x03, 0x84, 0xff, 0xff, 0xff, 0xff);
    expect(hashKeyFromBytes(bytes)).toEqual({ k0: 0x84030201, k1: 0xffffffff });
  });

  it('refuses any length but 8', () => {
    for (const length of [0, 7, 9, 16]) {
      expect(() => hashKeyFromBytes(new Uint8Array(length))).toThrow(AssertionFailure);
    }
  });
});
