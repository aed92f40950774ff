/**
 * Path elements and query parameters, checked strictly before anything else happens: what is
 * misspelt, repeated or malformed is refused by name, never ignored.
 */
import type { z } from 'zod';
import { ApiError } from '../errors.ts';

const QUOTED_CHARACTERS_MAX = 200;

/** @throws ApiError invalid_path, with the element's name as `parameter` */
export function parsePath<Schema extends z.ZodObject>(
  schema: Schema,
  elements: Readonly<Record<string, unknown>>,
): z.output<Schema> {
  const result = schema.safeParse(elements);
  if (result.success) return result.data;
  const { parameter, message } = firstIssue(result.error);
  throw new ApiError('invalid_path', `${parameter}: ${message}`, { parameter });
}

/**
 * Reads the query of a request target (`/path?name=value&...`).
 *
 * @throws ApiError unknown_parameter, repeated_parameter or invalid_parameter
 */
export function parseQuery<Schema extends z.ZodObject>(
  schema: Schema,
  target: string,
): z.output<Schema> {
  const values: Record<string, string> = {};
  for (const [name, value] of queryPairs(target)) {
    if (!Object.hasOwn(schema.shape, name)) {
      const parameter = quotable(name);
      throw new ApiError('unknown_parameter', `there is no parameter ${parameter}`, { parameter });
    }
    if (Object.hasOwn(values, name)) {
      throw new ApiError('repeated_parameter', `${name} occurs twice`, { parameter: name });
    }
    values[name] = value;
  }
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const { parameter, message } = firstIssue(result.error);
  throw new ApiError('invalid_parameter', `${parameter}: ${message}`, { parameter });
}

/** Where and what the first fault is; the place is a path such as `items.3`. */
export function firstIssue(error: z.ZodError): { parameter: string; message: string } {
  const issue = error.issues[0];
  return {
    parameter: issue?.path.join('.') ?? '',
    message: quotable(issue?.message ?? 'malformed'),
  };
}

function* queryPairs(target: string): Generator<[name: string, value: string]> {
  const start = target.indexOf('?');
  if (start < 0) return;
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const middle = pair.indexOf('=');
    const name = decodeQueryText(middle < 0 ? pair : pair.slice(0, middle), pair);
    const value = middle < 0 ? '' : decodeQueryText(pair.slice(middle + 1), name);
    yield [name, value];
  }
}

/** As forms encode it: `+` is a space. Anything but valid UTF-8 is refused. */
function decodeQueryText(text: string, parameterName: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    const parameter = quotable(parameterName);
    throw new ApiError(
      'invalid_parameter',
      `${parameter}: not the percent-encoding of valid UTF-8`,
      { parameter },
    );
  }
}

/** A caller's own text may be long; it comes back to him shortened. */
export function quotable(text: string): string {
  return text.length <= QUOTED_CHARACTERS_MAX ? text : `${text.slice(0, QUOTED_CHARACTERS_MAX)}...`;
}
