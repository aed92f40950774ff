import { cryptoTags, type Tag, type TagSource } from '../../lib/random-tag.ts';
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
