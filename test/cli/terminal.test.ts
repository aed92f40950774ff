import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  displayWidth,
  excerpt,
  fit,
  grouped,
  printable,
  terminalSize,
} from '../../src/cli/terminal.ts';

test.each([
  ['/index.html', '/index.html'],
  ['a\nb\tc\0', 'a\\u{a}b\\u{9}c\\u{0}'],
  ['\u001b[2J', '\\u{1b}[2J'],
  ['\u202egnp.exe', '\\u{202e}gnp.exe'],
  ['\u2028', '\\u{2028}'],
  ['é 日本 🏏', 'é 日本 🏏'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('what is printable holds nothing that a terminal acts on', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(printable(printable(text))).toBe(printable(text));
    }),
  );
});

test.each([
  ['abc', 3],
  ['é', 1],
  ['e\u0301', 1],
  ['日本', 4],
  ['🏏', 2],
])('%j is %d columns wide', (text, columns) => {
  expect(displayWidth(text)).toBe(columns);
});

test('cut text fills no more than its columns, and whole text is left alone', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.integer({ min: 1, max: 30 }),
      (text, columns) => {
        const shown = fit(printable(text), columns);
        expect(displayWidth(shown)).toBeLessThanOrEqual(columns);
        if (displayWidth(printable(text)) <= columns) expect(shown).toBe(printable(text));
      },
    ),
  );
  expect(fit('日本日本', 6)).toBe('日本…');
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [1_234_567.4, '1,234,567'],
  [9_007_199_254_740_991, '9,007,199,254,740,991'],
])('%d is written %s', (count, text) => {
  expect(grouped(count)).toBe(text);
});

test('an excerpt of bytes is short and printable', () => {
  expect(excerpt(Buffer.from([0x61, 0xff, 0x1b]), 10)).toBe('a\ufffd\\u{1b}');
  expect(excerpt(Buffer.from('abcdef'), 3)).toBe('abc…');
});

test('a terminal that does not know its size has the usual one', () => {
  expect(terminalSize({ columns: 0, rows: 0 })).toEqual({ columns: 80, rows: 24 });
  expect(terminalSize({ columns: 120, rows: 50 })).toEqual({ columns: 120, rows: 50 });
});
