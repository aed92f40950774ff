import { expect, test } from 'vitest';
import { readRepository } from './repository.ts';
import { RULES } from './rules.ts';

const repository = readRepository();

test.each(RULES)('the repository keeps the rule: $name', ({ appliesTo, check }) => {
  const violations = repository
    .filter(({ path }) => appliesTo(path))
    .flatMap((file) => check(file).map((reason) => `${file.path}:${reason}`));
  expect(violations).toEqual([]);
});

test.each(RULES)('a planted violation is caught by the rule: $name', (rule) => {
  expect(rule.appliesTo(rule.planted.path)).toBe(true);
  expect(rule.check(rule.planted)).not.toEqual([]);
});

test('the walk finds the files that the rules are about', () => {
  const paths = repository.map(({ path }) => path);
  expect(paths).toContain('src/lib/clock.ts');
  expect(paths).toContain('test/tidy/tidy.test.ts');
  expect(paths).toContain('package-lock.json');
  expect(paths.filter((path) => path.startsWith('node_modules/'))).toEqual([]);
});
