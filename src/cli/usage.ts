import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The command was called in a way it does not know: exit code 2, one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Work that could not be done, in one sentence for the user: exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * Node's parseArgs with every fault as a UsageError. A repeated option is a fault too: of two
 * values one would be dropped silently.
 */
export function parseCommand<const T extends Options>(args: readonly string[], options: T) {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
    const seen = new Set<string>();
    for (const token of tokens) {
      if (token.kind !== 'option') continue;
      if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice`);
      seen.add(token.name);
    }
    return { values, positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(firstSentence(error));
  }
}

export function expectNoPositionals(positionals: readonly string[]): void {
  const [first] = positionals;
  if (first !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(first)}`);
}

/** A whole number from an option's text. */
export function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new UsageError(`--${option} takes a whole number from ${min} to ${max}`);
  }
  return value;
}

/** parseArgs explains at length how to escape; the first sentence says what is wrong. */
function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/[\n.](?=\s|$)/)[0] ?? message;
}
