import { posix } from 'node:path';
import { readFile, type SourceFile } from './repository.ts';

const HEADER_WORDS = ['Purpose', 'KEYS', 'ARGV', 'Returns', 'Atomic +because', 'Bound'];
/** Redis commands that a script may call and that name no key. */
const KEYLESS_COMMANDS = new Set(['TIME']);

/** What a script's header lacks: it is the script's contract, read before the script is. */
export function missingHeaderWords(file: SourceFile): string[] {
  const header = /^(?:#!lua[^\n]*\n)?--\[\[([\s\S]*?)\]\]/.exec(file.text)?.[1] ?? '';
  return HEADER_WORDS.filter((word) => !new RegExp(`^\\s*${word}\\b`, 'm').test(header)).map(
    (word) => `the header lacks "${word.replace(' +', ' ')}"`,
  );
}

/**
 * Calls whose key does not come from KEYS. A cluster routes a script by its declared keys only,
 * so a key that is made inside works in a test and fails, or worse, in a cluster.
 */
export function undeclaredKeys(file: SourceFile): string[] {
  const code = withoutComments(file.text);
  const declared = namesBoundToKeys(withoutComments(beginningOf(file)) + code);
  const reasons: string[] = [];
  const lines = code.split('\n');
  for (const [index, line] of lines.entries()) {
    for (const call of line.matchAll(/redis\.p?call\(\s*(['"]\w+['"]|\w+)\s*,?\s*([^,)]*)/g)) {
      const [, quotedCommand = '', key = ''] = call;
      const command = quotedCommand.replace(/['"]/g, '').toUpperCase();
      const field = /^\w+\.(\w+)$/.exec(key.trim())?.[1] ?? key.trim();
      const isDeclared = isDeclaredKey(field) || declared.has(field);
      if (!KEYLESS_COMMANDS.has(command) && !isDeclared) {
        reasons.push(`${index + 1}: ${command} gets the key ${key.trim()}, not one of KEYS`);
      }
    }
  }
  return reasons;
}

/** The script that is put in front of this one, which says so: `KEYS  as in <name>.lua`. */
function beginningOf({ path, text }: SourceFile): string {
  const name = /^\s*KEYS\s+as in ([\w-]+\.lua)/m.exec(text)?.[1];
  if (name === undefined) return '';
  return readFile(posix.join(posix.dirname(path), name));
}

function withoutComments(text: string): string {
  const blank = (match: string): string => match.replace(/[^\n]/g, ' ');
  return text.replace(/--\[\[[\s\S]*?\]\]/g, blank).replace(/--[^\n]*/g, blank);
}

/**
 * Names and fields that hold a key: `local a, b = KEYS[1], KEYS[2]`, `{ record = KEYS[i] }`, and
 * what is called `key` or `..._key`: the parameters and loop variables of a script's helpers,
 * which get theirs from such names.
 */
function namesBoundToKeys(code: string): Set<string> {
  const names = new Set<string>();
  for (const [, left = '', right = ''] of code.matchAll(/local\s+([\w, ]+?)\s*=\s*([^\n]+)/g)) {
    const values = right.split(/,(?![^[]*\])/).map((value) => value.trim());
    for (const [index, name] of left.split(',').entries()) {
      if (isDeclaredKey(values[index] ?? '')) {
        names.add(name.trim());
      }
    }
  }
  const withoutLocals = code.replace(/local\s+[\w, ]+=/g, '');
  for (const [, name = ''] of withoutLocals.matchAll(
    /\b(\w+)\s*=\s*KEYS\[[^\]]+\]\s*(?=[,;}\n])/g,
  )) {
    names.add(name);
  }
  for (const [name] of code.matchAll(/\b(\w+_)?key\b/g)) {
    names.add(name);
  }
  for (const [, name = ''] of code.matchAll(/local\s+(\w*key)\s*=[^\n]*(?:ARGV|\.\.)/g)) {
    names.delete(name);
  }
  return names;
}

function isDeclaredKey(expression: string): boolean {
  return /^KEYS\[[^\]]+\]$/.test(expression);
}
