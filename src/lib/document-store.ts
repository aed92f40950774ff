/**
 * The port of documents: one small document for each name, all in one atomic place. A document
 * is replaced only where it is still the one that was read (its tag says so), so that no change is
 * lost and no two processes decide differently.
 *
 * Every method may reject with StoreUnavailableError; `putDocuments` also with OutcomeUnknownError.
 */
import type { Tag } from '../lib/random-tag.ts';

export interface StoredDocument {
  readonly tag: Tag;
  readonly text: string;
}

export interface DocumentPut {
  readonly name: string;
  /** Of the document that must be there now; null: there must be none. */
  readonly expectedTag: Tag | null;
  /** New and random: it tells a repetition of this very put from everything else. */
  readonly tag: Tag;
  /** Null: the document goes. */
  readonly text: string | null;
}

export type PutOutcome =
  /** Now, or since an earlier repetition of the same put. */
  | 'applied'
  /** Another document is there, or none; nothing was done. */
  | 'conflict'
  /** There are too many documents for one more; nothing was done. */
  | 'full';

export interface DocumentStore {
  /** Changes with every put that is applied, and whenever the store goes back to an older state. */
  readRevision(): Promise<string>;
  /** Of every document. */
  readTags(): Promise<ReadonlyMap<string, Tag>>;
  /** In the order asked for; null where there is none. */
  readDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]>;
  /**
   * The same, but what it answers is on as many replicas as writes wait for: whoever acts on a
   * document in another place must not see it vanish in a failover.
   */
  readDurableDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]>;
  /** Applies each or not, all in one step; of different names. */
  putDocuments(puts: readonly DocumentPut[], maxDocuments: number): Promise<PutOutcome[]>;
}
