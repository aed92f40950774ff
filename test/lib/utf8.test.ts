import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareUtf8, isUtf8, utf8Length } from '../../src/lib/utf8.ts';

/** Characters around every border of UTF-8 and UTF-16. */
const BORDERS = ['\0', '\x7f', '\x80', '\u07ff', '\u0800', '\ud7ff', '\ue000', '\uffff'];
const ASTRAL = ['\u{10000}', '\u{1f600}', '\u{10ffff}'];

const texts = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...BORDERS, ...ASTRAL) }),
  ),
  { maxLength: 30 },
);

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

describe('the order of UTF-8', () => {
  it('is that of the bytes, for any two strings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(byBytes(a, b));
      }),
    );
  });

  it('is that of the bytes at every border, also between surrogates and what lies above them', () => {
    const all = [...BORDERS, ...ASTRAL];
    for (const a of all) {
      for (const b of all) {
        expect(Math.sign(compareUtf8(a, b))).toBe(byBytes(a, b));
        expect(Math.sign(compareUtf8(`x${a}y`, `x${b}`))).toBe(byBytes(`x${a}y`, `x${b}`));
      }
    }
  });

  it('sorts with and without surrogates', () => {
    fc.assert(
      fc.property(texts, (list) => {
        expect([...list].sort(compareUtf8)).toEqual([...list].sort(byBytes));
      }),
    );
  });

  it('puts a character above U+FFFF after U+FFFF, where the engine itself does not', () => {
    expect(['\u{10000}', '\uffff'].sort()).toEqual(['\u{10000}', '\uffff']);
    expect(['\u{10000}', '\uffff'].sort(compareUtf8)).toEqual(['\uffff', '\u{10000}']);
  });
});

it('knows the length of a string in UTF-8', () => {
  expect(['', 'a', 'é', '€', '\u{1f600}'].map(utf8Length)).toEqual([0, 1, 2, 3, 4]);
});

it('tells UTF-8 from other bytes', () => {
  expect(isUtf8(Buffer.from('a é € \u{1f600} \0'))).toBe(true);
  expect(isUtf8(new Uint8Array())).toBe(true);
  for (const bytes of [
    [0x80],
    [0xc3],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
  ]) {
    expect(isUtf8(Uint8Array.from(bytes))).toBe(false);
  }
});
