import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ApiError, ERRORS, type ErrorCode, EVENT_REJECTIONS, problemType } from '../src/errors.ts';

const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
const codes = Object.keys(ERRORS) as ErrorCode[];

/** First and second cells of the rows of one table. */
function rowsUnder(heading: string): string[][] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '));
}

describe('the catalogue of errors', () => {
  test('is documented: the same codes with the same status, in the same order', () => {
    const documented = rowsUnder('Problems').map(([code, status]) => [code, status]);
    expect(documented).toEqual(codes.map((code) => [`\`${code}\``, `${ERRORS[code].status}`]));
  });

  test('the documentation says of each code what the catalogue says', () => {
    for (const [code = '', , meaning] of rowsUnder('Problems')) {
      const { title, description } = ERRORS[code.replaceAll('`', '') as ErrorCode];
      expect(meaning).toBe(`${title}. ${description}`);
    }
  });

  test('reasons for leaving out single events are documented', () => {
    const expected = Object.entries(EVENT_REJECTIONS).map(([code, text]) => [`\`${code}\``, text]);
    expect(rowsUnder('Rejected events')).toEqual(expected);
  });

  test('codes are words in lower case and types follow from them', () => {
    for (const code of codes) expect(code).toMatch(/^[a-z][a-z0-9_]+$/);
    expect(problemType('key_reused')).toBe('urn:tally:problem:key_reused');
  });

  test('every 503 says when to come back, and nothing else does', () => {
    for (const code of codes) {
      const { status, retryAfterSeconds } = new ApiError(code, 'detail');
      expect([code, retryAfterSeconds !== undefined]).toEqual([code, status === 503]);
    }
  });
});
