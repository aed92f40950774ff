import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { shareKeyOf, shareOf } from '../../src/streams/shares.ts';

/** Texts in which the characters that keys are made with are frequent. */
const awkward = fc
  .array(fc.constantFrom('a', 'b', '0', '1', '\x1d', '\x1e', '\x1f', ' ', 'é'), { minLength: 1 })
  .map((units) => units.join(''));
const segment = fc.option(fc.record({ dimension: awkward, value: awkward }));

describe('the key of a share', () => {
  test('is the name for a whole stream, and readable for a segment', () => {
    expect(shareKeyOf('views of кино', null)).toBe('views of кино');
    const key = shareKeyOf('views', { dimension: 'country', value: 'IN' });
    expect(key).toBe('views\x1fcountry\x1fIN');
  });

  test('says which share it is, whatever the names', () => {
    const property = fc.property(awkward, segment, (stream, part) => {
      expect(shareOf(shareKeyOf(stream, part))).toEqual({ stream, segment: part });
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  test('orders whole streams as their names do', () => {
    const property = fc.property(awkward, awkward, (a, b) => {
      const byName = Math.sign(compareUtf8(a, b));
      expect(Math.sign(compareUtf8(shareKeyOf(a, null), shareKeyOf(b, null)))).toBe(byName);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
