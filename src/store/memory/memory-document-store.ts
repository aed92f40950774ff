import type { Tag, TagSource } from '../../lib/random-tag.ts';
import type {
  DocumentPut,
  PutOutcome,
  DocumentStore,
  StoredDocument,
} from '../../lib/document-store.ts';

/** Documents in this process's memory; each method is one turn of the event loop. */
export class MemoryDocumentStore implements DocumentStore {
  readonly #tags: TagSource;
  readonly #documents = new Map<string, StoredDocument>();
  #revision: Tag | '' = '';

  constructor(tags: TagSource) {
    this.#tags = tags;
  }

  async readRevision(): Promise<string> {
    return this.#revision;
  }

  async readTags(): Promise<ReadonlyMap<string, Tag>> {
    return new Map([...this.#documents].map(([name, { tag }]) => [name, tag]));
  }

  async readDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]> {
    return names.map((name) => this.#documents.get(name) ?? null);
  }

  readDurableDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]> {
    return this.readDocuments(names);
  }

  async putDocuments(puts: readonly DocumentPut[], maxDocuments: number): Promise<PutOutcome[]> {
    return puts.map((put) => this.#put(put, maxDocuments));
  }

  #put({ name, expectedTag, tag, text }: DocumentPut, maxDocuments: number): PutOutcome {
    const tagNow = this.#documents.get(name)?.tag ?? null;
    if (tagNow === (text === null ? null : tag)) return 'applied';
    if (tagNow !== expectedTag) return 'conflict';
    if (tagNow === null && this.#documents.size >= maxDocuments) return 'full';
    if (text === null) this.#documents.delete(name);
    else this.#documents.set(name, { tag, text });
    this.#revision = this.#tags();
    return 'applied';
  }
}
