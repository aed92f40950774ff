/** Cursors of pages: a place in the order of a season, which stays while scores move. */
import { BoardRefusedError } from './board-errors.ts';
import type { Position } from './store-port.ts';

export interface Cursor {
  /** Whether the page comes after the place or before it. */
  readonly direction: 'after' | 'before';
  readonly view: string;
  readonly season: string;
  readonly at: Position;
}

const VERSION = 1;

export function encodeCursor({ direction, view, season, at }: Cursor): string {
  const element = Buffer.from(at.element, 'latin1').toString('base64url');
  const fields = [VERSION, direction, view, season, at.key, element];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** Throws BoardRefusedError `invalid_cursor`. */
export function parseCursor(text: string): Cursor {
  const fields = parseJson(Buffer.from(text, 'base64url').toString());
  const [version, direction, view, season, key, element] = fields;
  const isWhole =
    version === VERSION &&
    (direction === 'after' || direction === 'before') &&
    typeof view === 'string' &&
    typeof season === 'string' &&
    Number.isSafeInteger(key) &&
    typeof element === 'string';
  if (!isWhole) {
    const message = 'no cursor of an earlier page';
    throw new BoardRefusedError('invalid_cursor', message, { parameter: 'cursor' });
  }
  const at = { key: key as number, element: Buffer.from(element, 'base64url').toString('latin1') };
  return { direction, view, season, at };
}

function parseJson(text: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
