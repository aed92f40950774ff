import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { ByteReader, ByteReadError, ByteWriter, compareBytes } from '../../src/lib/bytes.ts';

const { MAX_SAFE_INTEGER } = Number;

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(1);
  write(writer);
  return writer.finish();
}

function varintBytes(value: number): Uint8Array {
  return written((writer) => writer.varint(value));
}

/** Numbers of every length in bytes, with those at the borders. */
const numbers = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.integer({ min: 0, max: 53 }).chain((bits) =>
    fc.integer({ min: -2, max: 2 }).map((offset) => {
      return Math.min(Math.max(2 ** bits + offset, 0), MAX_SAFE_INTEGER);
    }),
  ),
);

describe('varints', () => {
  it.each([
    [0, [0]],
    [127, [127]],
    [128, [128, 1]],
    [300, [172, 2]],
    [16_383, [255, 127]],
    [16_384, [128, 128, 1]],
    [2 ** 28, [128, 128, 128, 128, 1]],
    [MAX_SAFE_INTEGER, [255, 255, 255, 255, 255, 255, 255, 15]],
  ])('writes %i as these bytes', (value, bytes) => {
    expect([...varintBytes(value)]).toEqual(bytes);
  });

  it('reads back any safe integer', () => {
    fc.assert(
      fc.property(numbers, (value) => {
        const reader = new ByteReader(varintBytes(value));
        expect(reader.varint()).toBe(value);
        reader.expectEnd();
      }),
    );
  });

  it('refuses numbers above 2^53 - 1, numbers without an end and numbers cut off', () => {
    const tooLarge = [0, 0, 0, 0, 0, 0, 0, 16].map((byte, index) => (index < 7 ? 128 : byte));
    const endless = Array.from({ length: 20 }, () => 255);
    for (const bytes of [tooLarge, endless, [128], [], [255, 255]]) {
      expect(() => new ByteReader(Uint8Array.from(bytes)).varint()).toThrow(ByteReadError);
    }
  });

  it('reads many at once as one by one, into either kind of array', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(140), numbers), { maxLength: 60 }), (values) => {
        const bytes = written((writer) => {
          writer.uint8(9);
          for (const value of values) writer.varint(value);
          writer.uint8(7);
        });
        const reader = new ByteReader(bytes);
        reader.uint8();
        const target = new Float64Array(values.length);
        reader.varints(target, MAX_SAFE_INTEGER);
        expect([...target]).toEqual(values);
        expect(reader.uint8()).toBe(7);
        const packing = new ByteReader(bytes);
        packing.uint8();
        const packed = packing.packedVarints(values.length, MAX_SAFE_INTEGER);
        expect([...packed]).toEqual([...bytes.subarray(1, -1)]);
        expect(packing.uint8()).toBe(7);
      }),
    );
    const reader = new ByteReader(Uint8Array.of(1, 2, 3, 4, 5));
    const words = new Uint32Array(5);
    reader.varints(words, 5);
    expect([...words]).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([4, 126, 127, 128, 300, 70_000])(
    'reads many at once up to a limit of %i and refuses limit + 1 at any place',
    (limit) => {
      for (let place = 0; place < 6; place += 1) {
        const values = [0, 1, 2, 3, 4, 0];
        values[place] = limit;
        const bytesOf = (list: number[]): Uint8Array =>
          written((writer) => list.forEach((value) => writer.varint(value)));
        const target = new Uint32Array(6);
        new ByteReader(bytesOf(values)).varints(target, limit);
        expect([...target]).toEqual(values);
        expect(new ByteReader(bytesOf(values)).packedVarints(6, limit)).toEqual(bytesOf(values));
        values[place] = limit + 1;
        const reader = new ByteReader(bytesOf(values));
        expect(() => reader.varints(target, limit)).toThrow(ByteReadError);
        const packing = new ByteReader(bytesOf(values));
        expect(() => packing.packedVarints(6, limit)).toThrow(ByteReadError);
      }
    },
  );

  it.each([10, MAX_SAFE_INTEGER])(
    'refuses many at once, up to %i, when the last ones are missing',
    (max) => {
      const reader = new ByteReader(Uint8Array.of(1, 2, 3));
      expect(() => reader.varints(new Uint32Array(4), max)).toThrow(ByteReadError);
      const packing = new ByteReader(Uint8Array.of(1, 2, 3));
      expect(() => packing.packedVarints(4, max)).toThrow(ByteReadError);
    },
  );
});

describe('ByteWriter and ByteReader', () => {
  it('give back words, raw bytes and texts in the order they were written', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.nat(255),
            fc.integer({ min: 0, max: 2 ** 32 - 1 }),
            fc.uint8Array({ maxLength: 40 }),
            fc.string({ unit: 'binary', maxLength: 60 }),
          ),
          { maxLength: 10 },
        ),
        (records) => {
          const bytes = written((writer) => {
            for (const [byte, word, raw, text] of records) {
              writer.uint8(byte);
              writer.uint32(word);
              writer.varint(raw.length);
              writer.raw(raw);
              writer.text(text);
            }
          });
          const reader = new ByteReader(bytes);
          for (const [byte, word, raw, text] of records) {
            expect(reader.uint8()).toBe(byte);
            expect(reader.uint32()).toBe(word);
            expect([...reader.raw(reader.varint())]).toEqual([...raw]);
            expect(reader.text()).toBe(text);
          }
          expect(reader.remaining).toBe(0);
        },
      ),
    );
  });

  it('writes texts of every length around the border of a one-byte length', () => {
    for (const character of ['a', 'é', '€', '\u{1f600}']) {
      for (let count = 0; count <= 140; count += 1) {
        const text = character.repeat(count);
        const bytes = written((writer) => writer.text(text));
        const expected = Buffer.from(text);
        const reader = new ByteReader(bytes);
        expect(reader.varint()).toBe(expected.length);
        expect(Buffer.from(reader.raw(reader.remaining)).equals(expected)).toBe(true);
      }
    }
  });

  it('write bare UTF-8 and say how many bytes it took', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const writer = new ByteWriter(1);
        expect(writer.utf8(text)).toBe(Buffer.byteLength(text));
        expect(Buffer.from(writer.finish()).toString()).toBe(text);
      }),
    );
  });

  it('read a part of an array by its own offsets', () => {
    const whole = Uint8Array.from({ length: 20 }, (_, index) => index);
    const reader = new ByteReader(whole.subarray(5), 2, 10);
    expect(reader.offset).toBe(2);
    expect(reader.remaining).toBe(8);
    expect(reader.uint8()).toBe(7);
    expect([...reader.raw(2)]).toEqual([8, 9]);
    expect(reader.uint32()).toBe(0x0d0c0b0a);
    expect(reader.uint8()).toBe(14);
    expect(() => reader.uint8()).toThrow(ByteReadError);
  });

  it('refuse to read what is not there, and to end before the end', () => {
    const reads: ((reader: ByteReader) => unknown)[] = [
      (reader) => reader.uint32(),
      (reader) => reader.raw(4),
      (reader) => reader.text(),
      (reader) => reader.count(1),
      (reader) => reader.expectEnd(),
    ];
    for (const read of reads) {
      expect(() => read(new ByteReader(Uint8Array.of(3, 0, 0)))).toThrow(ByteReadError);
    }
  });

  it('refuse a number of records that cannot follow, before anybody makes room for them', () => {
    const bytes = written((writer) => {
      writer.varint(3);
      writer.raw(new Uint8Array(6));
    });
    expect(new ByteReader(bytes).count(2)).toBe(3);
    expect(() => new ByteReader(bytes).count(3)).toThrow(ByteReadError);
    expect(() => new ByteReader(varintBytes(MAX_SAFE_INTEGER)).count(1)).toThrow(ByteReadError);
  });

  it('patch words that were written, and only those', () => {
    const writer = new ByteWriter();
    writer.uint8(1);
    writer.uint32(0);
    writer.uint8(2);
    writer.patchUint32(1, 0xdeadbeef);
    expect([...writer.finish()]).toEqual([1, 0xef, 0xbe, 0xad, 0xde, 2]);
    expect([...writer.view(4)]).toEqual([0xde, 2]);
    expect(() => writer.patchUint32(3, 0)).toThrow(AssertionFailure);
  });

  it('finish with a copy that later writing does not change', () => {
    const writer = new ByteWriter();
    writer.uint8(1);
    const first = writer.finish();
    writer.uint8(2);
    expect([...first]).toEqual([1]);
    expect([...writer.finish()]).toEqual([1, 2]);
  });
});

it('compares stretches of bytes as Buffer.compare does', () => {
  const bytes = fc.uint8Array({ maxLength: 6, max: 3 });
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      const paddedA = Uint8Array.of(9, ...a, 9);
      const paddedB = Uint8Array.of(8, 8, ...b);
      const order = compareBytes(paddedA, 1, 1 + a.length, paddedB, 2, 2 + b.length);
      expect(Math.sign(order)).toBe(Buffer.compare(a, b));
    }),
  );
});
