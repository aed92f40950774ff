/** The order of rows over all parts, and the merge of what parts return. Pure. */
import { type PartRow, type Position, TIME_BYTES, type TieRule } from './store-port.ts';

/** Ascending by (key, element); elements are texts of bytes, so their order is that of bytes. */
export function comparePositions(a: Position, b: Position): number {
  if (a.key !== b.key) return a.key - b.key;
  if (a.element === b.element) return 0;
  return a.element < b.element ? -1 : 1;
}

/** All rows in order; each part's own are in order already. */
export function mergedRows(parts: readonly (readonly PartRow[])[]): PartRow[] {
  if (parts.length === 1) return [...parts[0]!];
  return parts.flat().sort(comparePositions);
}

/** The place just behind a row. */
export function after({ key, element }: Position): Position {
  return { key, element: `${element}\0` };
}

/** Before all ties of a key. */
export function beforeTies(key: number): Position {
  return { key, element: '' };
}

/** Behind all ties of a key. */
export function afterTies(key: number): Position {
  return { key: key + 1, element: '' };
}

export function memberOf(element: string, ties: TieRule): string {
  const bytes = Buffer.from(element, 'latin1');
  return bytes.toString('utf8', ties === 'earliest' ? TIME_BYTES : 0);
}
