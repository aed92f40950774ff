/**
 * Keeps documents and events in step, now and then: a stream whose events have all expired needs no
 * document that says nothing, and one with events needs one, also where a failover lost it.
 */
import type { Tag } from '../lib/random-tag.ts';
import type { StreamRegistry } from './registry.ts';
import { shareOf } from './shares.ts';
import type { ListedShare, StreamStore } from './store-port.ts';
import type { NewValues } from './stream-document.ts';

const NAMES_PER_READ = 1_000;
const NO_VALUES: NewValues = new Map();

export class RegistryUpkeep {
  readonly #store: StreamStore;
  readonly #registry: StreamRegistry;
  /** Documents without events at the last visit: events of a new stream are folded by the next. */
  #suspects: ReadonlyMap<string, Tag> = new Map();

  constructor(store: StreamStore, registry: StreamRegistry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** Rejects with StoreUnavailableError: nothing is known of events in a partition that is gone. */
  async run(): Promise<void> {
    const listed = await this.#listAll();
    const documents = await this.#registry.documents();
    const idle = documents.filter(({ stream, isBlank }) => isBlank && !listed.has(stream));
    await this.#registry.forget(
      idle.filter(({ stream, tag }) => this.#suspects.get(stream) === tag),
    );
    this.#suspects = new Map(idle.map(({ stream, tag }) => [stream, tag]));
    // Where there is no room for them they are tried again at the next visit.
    await this.#registry.admit(new Map([...listed].map((stream) => [stream, NO_VALUES])));
  }

  async #listAll(): Promise<Set<string>> {
    const names = new Set<string>();
    for (let partition = 0; partition < this.#store.partitionCount; partition += 1) {
      let after: string | null = null;
      do {
        const listed: readonly ListedShare[] = await this.#store.listShares(
          partition,
          after,
          NAMES_PER_READ,
        );
        for (const { share } of listed) names.add(shareOf(share).stream);
        after = listed.length < NAMES_PER_READ ? null : listed.at(-1)!.share;
      } while (after !== null);
    }
    return names;
  }
}
