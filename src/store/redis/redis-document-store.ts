import { cryptoTags, type Tag, type TagSource } from '../../lib/random-tag.ts';
import { OutcomeUnknownError } from '../../lib/store-errors.ts';
import type {
  DocumentPut,
  PutOutcome,
  DocumentStore,
  StoredDocument,
} from '../../lib/document-store.ts';
import type { RedisConnection } from './connection.ts';
import type { DocumentKeys } from './keys.ts';
import { type AckPolicy, fenceArg, loadScript, runScript } from './lua-script.ts';
import { arrayOf, pairsOf } from './replies.ts';
import { putOutcome } from './script-codes.ts';
import { decodeDocument } from './stored-formats.ts';

/** All documents of a kind in one slot. */
export class RedisDocumentStore implements DocumentStore {
  readonly #connection: RedisConnection;
  readonly #keys: DocumentKeys;
  readonly #ack: AckPolicy | null;
  readonly #tags: TagSource;
  readonly #script = loadScript('put-documents');

  constructor(
    connection: RedisConnection,
    keys: DocumentKeys,
    ack: AckPolicy | null,
    tags: TagSource = cryptoTags,
  ) {
    this.#connection = connection;
    this.#keys = keys;
    this.#ack = ack;
    this.#tags = tags;
  }

  async readRevision(): Promise<string> {
    const { slot, revision } = this.#keys;
    return (await this.#connection.reads.send(slot, (node) => node.get(revision))) ?? '';
  }

  async readTags(): Promise<ReadonlyMap<string, Tag>> {
    const { slot, tags } = this.#keys;
    // Not as an object: a name may be `__proto__`.
    const found = await this.#connection.reads.send(slot, (node) => node.call('HGETALL', tags));
    const pairs = pairsOf(arrayOf(found, 'hgetall'));
    return new Map(pairs.map(([name, tag]) => [String(name), String(tag)]));
  }

  async readDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]> {
    if (names.length === 0) return [];
    const { slot, documents } = this.#keys;
    const found = await this.#connection.reads.send(slot, (node) =>
      node.hmget(documents, ...names),
    );
    return found.map(decodeDocument);
  }

  async readDurableDocuments(names: readonly string[]): Promise<(StoredDocument | null)[]> {
    const ack = this.#ack;
    if (ack === null || names.length === 0) return this.readDocuments(names);
    const { slot, documents, fence } = this.#keys;
    const found = await this.#connection.writes.send(slot, async (node) => {
      // On one connection and in this order: the replicas have what was read once they have the
      // fence, which was written after it.
      const pipeline = node
        .pipeline()
        .hmget(documents, ...names)
        .set(fence, this.#tags());
      const replies = (await pipeline.wait(ack.replicas, ack.timeoutMs).exec()) ?? [];
      for (const [error] of replies) if (error !== null) throw error;
      const replicas = Number(replies[2]?.[1]);
      if (replicas < ack.replicas) {
        throw new OutcomeUnknownError(`only ${replicas} of ${ack.replicas} replicas in time`);
      }
      return replies[0]?.[1] as (string | null)[];
    });
    return found.map(decodeDocument);
  }

  async putDocuments(puts: readonly DocumentPut[], maxDocuments: number): Promise<PutOutcome[]> {
    if (puts.length === 0) return [];
    const { slot, revision, tags, documents, fence } = this.#keys;
    const putArgs = puts.flatMap((put) => [
      ...[put.name, put.expectedTag ?? '', put.tag, put.text ?? ''],
    ]);
    const call = {
      script: this.#script,
      keys: [revision, tags, documents, fence],
      args: [fenceArg(this.#ack), this.#tags(), maxDocuments, ...putArgs],
    };
    const reply = await this.#connection.writes.sendWrite(slot, (node) =>
      runScript(node, call, this.#ack),
    );
    const codes = arrayOf(reply, 'put-documents');
    return puts.map((_, index) => putOutcome(codes[index]));
  }
}
