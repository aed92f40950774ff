import { expect, it } from 'vitest';
import { newCounts } from '../../src/lib/counts.ts';

it.each([1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER])('counts hold up to %i', (max) => {
  const counts = newCounts(3, max);
  expect([...counts]).toEqual([0, 0, 0]);
  counts[1] = max;
  expect([...counts]).toEqual([0, max, 0]);
});

it('small counts take half of the room', () => {
  expect(newCounts(10, 2 ** 32 - 1).byteLength).toBe(40);
});
