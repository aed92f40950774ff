/**
 * What goes on behind the boards: moves and deletions that somebody began are ended, and parts that
 * are over are dropped. Safe to run twice at once, late, or anywhere.
 */
import type { DocumentStore } from '../lib/document-store.ts';
import type { BoardMover } from './board-mover.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';

export interface BoardUpkeepOptions {
  readonly documents: DocumentStore;
  readonly registry: BoardRegistry;
  readonly mover: BoardMover;
}

export class BoardUpkeep {
  readonly #options: BoardUpkeepOptions;
  #revision: string | null = null;
  /** Boards with something to end, as of that revision. */
  #open = new Set<string>();

  constructor(options: BoardUpkeepOptions) {
    this.#options = options;
  }

  /** Rejects with the first thing that went wrong, after all boards had their turn. */
  async run(): Promise<void> {
    const { registry, mover } = this.#options;
    await this.#look();
    const faults: unknown[] = [];
    for (const name of this.#open) {
      try {
        const board = await registry.reread(name);
        if (board !== null && hasWork(board)) await mover.upkeep(board);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  }

  /** Documents are read only when one of them has changed. */
  async #look(): Promise<void> {
    const { documents, registry } = this.#options;
    const revision = await documents.readRevision();
    if (revision === this.#revision) return;
    const boards = await registry.readAll(await registry.names());
    const open = boards.filter((board) => board !== null && hasWork(board)) as KnownBoard[];
    this.#open = new Set(open.map(({ name }) => name));
    this.#revision = revision;
  }
}

function hasWork({ document }: KnownBoard): boolean {
  const { layout, isDeleted } = document;
  return isDeleted || layout.move !== null || layout.past.length > 0;
}
