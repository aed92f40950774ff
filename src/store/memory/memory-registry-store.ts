import type { Tag, TagSource } from '../../lib/random-tag.ts';
import type {
  DocumentPut,
  PutOutcome,
  RegistryStore,
  StoredDocument,
} from '../../streams/registry-port.ts';

/** The registry's port in this process's memory; each method is one turn of the event loop. */
export class MemoryRegistryStore implements RegistryStore {
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
    return new Map([...this.#documents].map(([stream, { tag }]) => [stream, tag]));
  }

  async readDocuments(streams: readonly string[]): Promise<(StoredDocument | null)[]> {
    return streams.map((stream) => this.#documents.get(stream) ?? null);
  }

  async putDocuments(puts: readonly DocumentPut[], maxDocuments: number): Promise<PutOutcome[]> {
    return puts.map((put) => this.#put(put, maxDocuments));
  }

  #put({ stream, expectedTag, tag, text }: DocumentPut, maxDocuments: number): PutOutcome {
    const tagNow = this.#documents.get(stream)?.tag ?? null;
    if (tagNow === (text === null ? null : tag)) return 'applied';
    if (tagNow !== expectedTag) return 'conflict';
    if (tagNow === null && this.#documents.size >= maxDocuments) return 'full';
    if (text === null) this.#documents.delete(stream);
    else this.#documents.set(stream, { tag, text });
    this.#revision = this.#tags();
    return 'applied';
  }
}
