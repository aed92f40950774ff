/**
 * The documents of boards, as this process knows them. A copy may be old: parts refuse an older
 * epoch, so all that an old copy costs is reading it again. A change reads one document, makes a
 * new one, and puts it in its place only if the old one still is there.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { DocumentStore, StoredDocument } from '../lib/document-store.ts';
import type { Tag, TagSource } from '../lib/random-tag.ts';
import { BrokenStreamError, StoreUnavailableError } from '../lib/store-errors.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import { type BoardDocument, encodeDocument, parseDocument } from './board-document.ts';
import { BoardRefusedError } from './board-errors.ts';
import { SeasonCalendar } from './seasons.ts';

/** A copy that is younger is used as it is. */
const FRESH_MS = 500;
const COPIES_MAX = 10_000;
const CHANGE_ATTEMPTS_MAX = 20;
const LIST_SLICE = 500;

export interface KnownBoard {
  readonly name: string;
  readonly tag: Tag;
  readonly document: BoardDocument;
  readonly calendar: SeasonCalendar;
}

export interface BoardRegistryOptions {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly maxBoards: number;
}

interface Copy {
  readonly board: KnownBoard | null;
  readonly readAtMs: number;
}

export class BoardRegistry {
  readonly #options: BoardRegistryOptions;
  readonly #copies = new LRUCache<string, Copy>({ max: COPIES_MAX });
  readonly #refreshing = new Set<string>();

  constructor(options: BoardRegistryOptions) {
    this.#options = options;
  }

  /**
   * Null: there is none. Those that are being deleted are found too. A copy may be of any age, also
   * while the documents cannot be reached; one that is not fresh is looked after in the background.
   */
  async find(name: string): Promise<KnownBoard | null> {
    const copy = this.#copies.get(name);
    if (copy === undefined || copy.board === null) return this.reread(name);
    const ageMs = Math.abs(this.#options.clock.nowMs() - copy.readAtMs);
    if (ageMs >= FRESH_MS) this.#refresh(name);
    return copy.board;
  }

  #refresh(name: string): void {
    if (this.#refreshing.has(name)) return;
    this.#refreshing.add(name);
    // What cannot be read now is read again by the next one who asks.
    void this.reread(name)
      .catch(() => undefined)
      .finally(() => this.#refreshing.delete(name));
  }

  /** What is acted on must not vanish in a failover: it is on the replicas when this resolves. */
  async reread(name: string): Promise<KnownBoard | null> {
    const [stored = null] = await this.#options.documents.readDurableDocuments([name]);
    return this.#keep(name, stored);
  }

  /**
   * `next` gives the new document, null to remove it, or what it was given to leave it as it is;
   * it may be called again. Answers what is there afterwards.
   */
  async change(
    name: string,
    next: (before: BoardDocument | null) => BoardDocument | null,
  ): Promise<KnownBoard | null> {
    const { documents, tags, maxBoards } = this.#options;
    for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
      const before = await this.reread(name);
      const document = next(before?.document ?? null);
      if (document === (before?.document ?? null)) return before;
      const text = document === null ? null : encodeDocument(document);
      const put = { name, expectedTag: before?.tag ?? null, tag: tags(), text };
      const [outcome] = await documents.putDocuments([put], maxBoards);
      if (outcome === 'applied') {
        return this.#keep(name, text === null ? null : { tag: put.tag, text });
      }
      if (outcome === 'full') {
        throw new BoardRefusedError('too_many_boards', `there are ${maxBoards} boards already`);
      }
    }
    throw new StoreUnavailableError(`the board ${JSON.stringify(name)} changes all the time`);
  }

  /** All names in the order of their bytes, those of boards that are being deleted too. */
  async names(): Promise<string[]> {
    const tags = await this.#options.documents.readTags();
    return [...tags.keys()].sort(compareUtf8);
  }

  /**
   * For a look at many: in the order asked for; null where there is none, or a damaged one. Nobody
   * may act on what it answers without reading it again.
   */
  async readAll(names: readonly string[]): Promise<(KnownBoard | null)[]> {
    const boards: (KnownBoard | null)[] = [];
    for (let start = 0; start < names.length; start += LIST_SLICE) {
      const slice = names.slice(start, start + LIST_SLICE);
      const stored = await this.#options.documents.readDocuments(slice);
      boards.push(...slice.map((name, index) => readable(name, stored[index] ?? null)));
    }
    return boards;
  }

  #keep(name: string, stored: StoredDocument | null): KnownBoard | null {
    const readAtMs = this.#options.clock.nowMs();
    const copy = this.#copies.get(name)?.board ?? null;
    let board: KnownBoard | null = null;
    if (stored !== null) {
      board = copy?.tag === stored.tag ? copy : openBoard(name, stored);
    }
    this.#copies.set(name, { board, readAtMs });
    return board;
  }
}

function readable(name: string, stored: StoredDocument | null): KnownBoard | null {
  try {
    return stored === null ? null : openBoard(name, stored);
  } catch (error) {
    if (error instanceof BrokenStreamError) return null;
    throw error;
  }
}

function openBoard(name: string, { tag, text }: StoredDocument): KnownBoard {
  const document = parseDocument(name, text);
  const { views, tz } = document.settings;
  return { name, tag, document, calendar: new SeasonCalendar(views, tz) };
}
