import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scoreEntries } from '../../src/api/board-schemas.ts';
import { arePlainEntries } from '../../src/api/plain-entries.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', 'x'.repeat(170), 'x'.repeat(171), 'x'.repeat(513), '\ud800', 'é'.repeat(200)),
);
const numbers = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, null, '1', -0),
);
const entries = fc.record(
  { member: texts, by: numbers, score: numbers, id: texts, other: fc.constant(1) },
  { requiredKeys: [] },
);
const plain = fc.record(
  { member: fc.string({ minLength: 1, maxLength: 20 }), by: fc.integer(), id: texts },
  { requiredKeys: ['member', 'by'] },
);

test('what is plain is right by the schema too, and comes out of it the same', () => {
  let plainCount = 0;
  fc.assert(
    fc.property(fc.array(fc.oneof(plain, entries, plain, plain), { maxLength: 3 }), (list) => {
      if (!arePlainEntries(list)) return;
      plainCount += 1;
      expect(scoreEntries.parse(list)).toEqual(list);
    }),
    { numRuns: 2_000 },
  );
  expect(plainCount).toBeGreaterThan(100);
});

test.each([null, 7, {}, 'x', [[]], [null], Array(1_001).fill({ member: 'a', by: 1 })])(
  '%j is not plain',
  (body) => {
    expect(arePlainEntries(body)).toBe(false);
  },
);
