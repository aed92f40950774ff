/**
 * What a question takes, described once for both places where it can be put: as text in a query
 * string, and as a field of JSON. Names, limits, defaults and faults are the same in both.
 */
import { z } from 'zod';

interface Parameter<
  Query extends z.ZodType = z.ZodType,
  Json extends z.ZodType<z.output<Query>> = z.ZodType<z.output<Query>>,
> {
  /** From the text of a query string. */
  readonly query: Query;
  /** From a value of JSON. */
  readonly json: Json;
}

export type Parameters = Readonly<Record<string, Parameter>>;

type QueryShape<Of extends Parameters> = { readonly [Name in keyof Of]: Of[Name]['query'] };
type JsonShape<Of extends Parameters> = { readonly [Name in keyof Of]: Of[Name]['json'] };

/** What the parameters say once they are checked; the same from either form. */
export type Checked<Of extends Parameters> = z.output<z.ZodObject<QueryShape<Of>>>;

export function queryShape<Of extends Parameters>(parameters: Of): QueryShape<Of> {
  const entries = Object.entries(parameters).map(([name, { query }]) => [name, query]);
  return Object.fromEntries(entries) as QueryShape<Of>;
}

export function jsonShape<Of extends Parameters>(parameters: Of): JsonShape<Of> {
  const entries = Object.entries(parameters).map(([name, { json }]) => [name, json]);
  return Object.fromEntries(entries) as JsonShape<Of>;
}

/** A text is the same in both forms. */
export function textParameter<Schema extends z.ZodType>(schema: Schema) {
  return { query: schema, json: schema };
}

/** `true` or `false`; default false. */
export function flag(description: string) {
  const expected = 'expected true or false';
  const query = z
    .enum(['true', 'false'], expected)
    .transform((value) => value === 'true')
    .default(false)
    .meta({ description, override: { type: 'boolean', enum: undefined, default: false } });
  return { query, json: z.boolean(expected).default(false).meta({ description }) };
}

export function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  fallback: Values[number],
  description: string,
) {
  const expected = `expected one of ${values.join(', ')}`;
  const schema = z.enum(values, expected).default(fallback as z.util.NoUndefined<Values[number]>);
  return textParameter(schema.meta({ description: `${description} Default \`${fallback}\`.` }));
}

export function wholeNumber(min: number, max: number, fallback: number, description: string) {
  const expected = `expected a whole number from ${min} to ${max}`;
  const meta = { description: `${description} Default ${fallback}.` };
  const query = wholeNumberText(min, max, expected)
    .default(fallback)
    .meta({
      ...meta,
      override: {
        type: 'integer',
        minimum: min,
        maximum: max,
        default: fallback,
        pattern: undefined,
      },
    });
  const json = z.int(expected).min(min, expected).max(max, expected).default(fallback).meta(meta);
  return { query, json };
}

/** In decimal digits, without sign or leading zero. */
function wholeNumberText(min: number, max: number, expected: string) {
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,14})$/, expected)
    .transform(Number)
    .refine((value) => value >= min && value <= max, expected);
}
