import { expect, test } from 'vitest';
import { AssertionFailure, assert } from '../../src/lib/assert.ts';

test('an assertion that holds does nothing, one that fails says what should hold', () => {
  assert(true, 'never read');
  expect(() => assert(false, 'one is one')).toThrow(AssertionFailure);
  expect(() => assert(false, 'one is one')).toThrow('one is one');
});
