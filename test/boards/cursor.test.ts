import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoardRefusedError } from '../../src/boards/board-errors.ts';
import { type Cursor, encodeCursor, parseCursor } from '../../src/boards/cursor.ts';

const cursors: fc.Arbitrary<Cursor> = fc.record({
  direction: fc.constantFrom('after' as const, 'before' as const),
  view: fc.string({ unit: 'binary' }),
  season: fc.string({ unit: 'binary' }),
  at: fc.record({
    key: fc.maxSafeInteger(),
    element: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('latin1')),
  }),
});

const WHOLE: Cursor = {
  ...{ direction: 'after', view: 'all', season: 'all' },
  at: { key: 5, element: 'ann' },
};

/** Whether it is refused as no cursor; any other error is a bug. */
function isRefused(text: string): boolean {
  try {
    parseCursor(text);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(BoardRefusedError);
    expect(error).toMatchObject({ code: 'invalid_cursor', parameter: 'cursor' });
    return true;
  }
}

function encoded(fields: unknown): string {
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

describe('cursors', () => {
  test('come back as they were, whatever the bytes of the member', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(parseCursor(encodeCursor(cursor))).toEqual(cursor);
      }),
    );
  });

  test('are texts that need no escaping in an address', () => {
    fc.assert(
      fc.property(cursors, (cursor) => {
        expect(encodeCursor(cursor)).toMatch(/^[\w-]+$/);
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['a word', 'next'],
    ['no base64', '%%%\0'],
    ['no JSON', Buffer.from('[1,"after"').toString('base64url')],
    ['an object', encoded({ 0: 1, length: 6 })],
    ['null', encoded(null)],
    ['an empty list', encoded([])],
    ['another version', encoded([2, 'after', 'all', 'all', 5, 'YQ'])],
    ['another direction', encoded([1, 'aside', 'all', 'all', 5, 'YQ'])],
    ['a view that is no text', encoded([1, 'after', 7, 'all', 5, 'YQ'])],
    ['a season that is no text', encoded([1, 'after', 'all', null, 5, 'YQ'])],
    ['a key that is no number', encoded([1, 'after', 'all', 'all', '5', 'YQ'])],
    ['a key of decimals', encoded([1, 'after', 'all', 'all', 0.5, 'YQ'])],
    ['a key beyond the safe integers', encoded([1, 'after', 'all', 'all', 2 ** 53, 'YQ'])],
    ['no element', encoded([1, 'after', 'all', 'all', 5])],
    ['an element that is no text', encoded([1, 'after', 'all', 'all', 5, ['YQ']])],
  ])('%s is refused', (_, text) => {
    expect(isRefused(text)).toBe(true);
  });

  test('one that was cut short is refused, wherever it was cut', () => {
    const text = encodeCursor(WHOLE);
    for (let length = 0; length < text.length - 2; length += 1) {
      expect(isRefused(text.slice(0, length)), `cut to ${length} characters`).toBe(true);
    }
  });

  test('garbage is refused or is a whole cursor, and never anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.json(), (garbage, json) => {
        expect(isRefused(garbage)).toBe(true);
        expect(isRefused(Buffer.from(json).toString('base64url'))).toBe(true);
      }),
    );
  });
});
