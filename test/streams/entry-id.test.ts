import { describe, expect, test } from 'vitest';
import { compareEntryIds, entryTimeMs } from '../../src/streams/entry-id.ts';

describe('ids of log entries', () => {
  test('are ordered by time, then by number, both as numbers', () => {
    const ordered = ['0-0', '9-10', '10-9', '10-10', '1796042096789-0', '1796042096789-12'];
    for (const [a, first] of ordered.entries()) {
      for (const [b, second] of ordered.entries()) {
        expect(Math.sign(compareEntryIds(first, second))).toBe(Math.sign(a - b));
      }
    }
  });

  test('tell the time they were given at', () => {
    expect(entryTimeMs('1796042096789-3')).toBe(1_796_042_096_789);
  });
});
