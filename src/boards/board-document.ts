/** What is kept of a board beside its parts: one small document. Pure. */
import type { Tag } from '../lib/random-tag.ts';
import { BrokenStreamError } from '../lib/store-errors.ts';
import type { Layout } from '../shards/layout.ts';
import type { BoardSettings } from './settings.ts';

const VERSION = 1;

export interface BoardDocument {
  /** Of this board of the name: one that is deleted and made again is another one. */
  readonly generation: Tag;
  readonly createdAtMs: number;
  readonly settings: BoardSettings;
  readonly layout: Layout;
  /** Its parts are being dropped; then the document goes too. */
  readonly isDeleted: boolean;
}

export function encodeDocument(document: BoardDocument): string {
  return JSON.stringify({ version: VERSION, ...document });
}

/** Throws BrokenStreamError. */
export function parseDocument(board: string, text: string): BoardDocument {
  const { version, ...document } = parseJson(text);
  const { layout, settings } = document;
  if (version !== VERSION || !Array.isArray(layout?.parts) || settings?.mode === undefined) {
    throw new BrokenStreamError(`the document of the board ${JSON.stringify(board)} is damaged`);
  }
  return document as BoardDocument;
}

function parseJson(text: string): { version?: unknown } & Partial<BoardDocument> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}
