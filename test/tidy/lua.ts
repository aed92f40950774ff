import type { SourceFile } from './repository.ts';

const HEADER_WORDS = ['Purpose', 'KEYS', 'ARGV', 'Returns', 'Atomic because', 'Bound'];
/** Redis commands that a script may call and that name no key. */
const KEYLESS_COMMANDS = new Set(['TIME']);

/** What a script's header lacks: it is the script's contract, read before the script is. */
export function missingHeaderWords(file: SourceFile): string[] {
  const header = /^--\[\[([\s\S]*?)\]\]/.exec(file.text)?.[1] ?? '';
  return HEADER_WORDS.filter((word) => !new RegExp(`^\\s*${word}\\b`, 'm').test(header)).map(
    (word) => `the header lacks "${word}"`,
  );
}

/**
 * Calls whose key does not come from KEYS. A cluster routes a script by its declared keys only,
 * so a key that is made inside works in a test and fails, or worse, in a cluster.
 */
export function undeclaredKeys(file: SourceFile): string[] {
  const code = withoutComments(file.text);
  const declared = namesBoundToKeys(code);
  const reasons: string[] = [];
  const lines = code.split('\n');
  for (const [index, line] of lines.entries()) {
    for (const call of line.matchAll(/redis\.p?call\(\s*(['"]\w+['"]|\w+)\s*,?\s*([^,)]*)/g)) {
      const [, quotedCommand = '', key = ''] = call;
      const command = quotedCommand.replace(/['"]/g, '').toUpperCase();
      const isDeclared = /^KEYS\[[^\]]+\]$/.test(key.trim()) || declared.has(key.trim());
      if (!KEYLESS_COMMANDS.has(command) && !isDeclared) {
        reasons.push(`${index + 1}: ${command} gets the key ${key.trim()}, not one of KEYS`);
      }
    }
  }
  return reasons;
}

function withoutComments(text: string): string {
  const blank = (match: string): string => match.replace(/[^\n]/g, ' ');
  return text.replace(/--\[\[[\s\S]*?\]\]/g, blank).replace(/--[^\n]*/g, blank);
}

/**
 * Names that hold a key: `local log = KEYS[1]`, `local log, state = KEYS[1], KEYS[2]`, and the
 * parameters of local functions whose name says so (`key`, `logKey`), which get one from a caller.
 */
function namesBoundToKeys(code: string): Set<string> {
  const names = new Set<string>();
  for (const [, left = '', right = ''] of code.matchAll(/local\s+([\w, ]+?)\s*=\s*([^\n]+)/g)) {
    const values = right.split(/,(?![^[]*\])/).map((value) => value.trim());
    for (const [index, name] of left.split(',').entries()) {
      if (/^KEYS\[[^\]]+\]$/.test(values[index] ?? '')) {
        names.add(name.trim());
      }
    }
  }
  for (const [, parameters = ''] of code.matchAll(/local\s+function\s+\w+\(([^)]*)\)/g)) {
    for (const name of parameters.split(',').map((parameter) => parameter.trim())) {
      if (/(^k|K)ey$/.test(name)) {
        names.add(name);
      }
    }
  }
  return names;
}
