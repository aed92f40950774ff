/**
 * Whether increments are plainly right, without the schema: most are, and the schema takes longer
 * over them than all the rest of a request. Whatever is not plain is left to the schema, which also
 * says what is wrong with it.
 */
import { ENTRIES_MAX } from '../boards/limits.ts';
import type { ScoreEntry } from '../boards/boards.ts';
import { ITEM_BYTES_MAX, isWellFormed } from './text-schemas.ts';

/** A text of so many UTF-16 units never has more bytes than are allowed. */
const PLAIN_UNITS_MAX = Math.floor(ITEM_BYTES_MAX / 3);

export function arePlainEntries(list: unknown): list is ScoreEntry[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > ENTRIES_MAX) return false;
  for (const entry of list) if (!isPlainEntry(entry)) return false;
  return true;
}

function isPlainEntry(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false;
  let hasMember = false;
  let numbers = 0;
  for (const name of Object.keys(entry)) {
    const value = (entry as Record<string, unknown>)[name];
    switch (name) {
      case 'member':
        if (!isPlainText(value)) return false;
        hasMember = true;
        break;
      case 'id':
        if (!isPlainText(value)) return false;
        break;
      case 'by':
      case 'score':
        if (typeof value !== 'number' || !Number.isFinite(value)) return false;
        numbers += 1;
        break;
      default:
        return false;
    }
  }
  return hasMember && numbers === 1;
}

function isPlainText(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= PLAIN_UNITS_MAX &&
    isWellFormed(value)
  );
}
