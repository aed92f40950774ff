import { describe, expect, test } from 'vitest';
import type { DocumentPut, DocumentStore } from '../../src/lib/document-store.ts';
import { newTag } from './harness.ts';

/** Gives each test a registry that is empty and of its own. */
export interface RegistryStoreHarness {
  open(): Promise<DocumentStore>;
}

const ROOM = 1_000;

function putOf(fields: Partial<DocumentPut> & { readonly name: string }): DocumentPut {
  return { expectedTag: null, tag: newTag(), text: '{"a":1}', ...fields };
}

/** What every implementation of the registry's port must do. */
export function describeRegistryStore(harness: RegistryStoreHarness): void {
  describe('documents of the registry', () => {
    test('there are none at first', async () => {
      const store = await harness.open();
      expect(await store.readTags()).toEqual(new Map());
      expect(await store.readDocuments(['a'])).toEqual([null]);
      expect(await store.readDocuments([])).toEqual([]);
      expect(await store.putDocuments([], ROOM)).toEqual([]);
      expect(await store.readRevision()).toBe('');
    });

    test('a put is read back with its tag, whatever the name and the text', async () => {
      const store = await harness.open();
      const names = ['a', '__proto__', 'ключ:{x}\x1f', '7'];
      const puts = names.map((name) => putOf({ name, text: `{"\u{1f600}":"${name}\\u0000"}` }));
      expect(await store.putDocuments(puts, ROOM)).toEqual(names.map(() => 'applied'));
      const documents = puts.map(({ tag, text }) => ({ tag, text }));
      expect(await store.readDocuments([...names, 'b'])).toEqual([...documents, null]);
      expect(await store.readTags()).toEqual(new Map(puts.map(({ name, tag }) => [name, tag])));
    });

    test('every put that is applied changes the revision, and no other does', async () => {
      const store = await harness.open();
      const revisions = [await store.readRevision()];
      const put = async (given: DocumentPut): Promise<string> => {
        const [outcome] = await store.putDocuments([given], 1);
        revisions.push(await store.readRevision());
        return outcome!;
      };
      const first = putOf({ name: 'a' });
      expect(await put(first)).toBe('applied');
      expect(await put(putOf({ name: 'a' }))).toBe('conflict');
      expect(await put(putOf({ name: 'b' }))).toBe('full');
      expect(await put(first)).toBe('applied');
      expect(await put(putOf({ name: 'a', expectedTag: first.tag }))).toBe('applied');
      const [none, created, conflicted, refused, repeated, replaced] = revisions;
      expect(new Set([none, created, replaced]).size).toBe(3);
      expect([conflicted, refused, repeated]).toEqual([created, created, created]);
    });

    test('a document is replaced and removed only where the one that was read still is', async () => {
      const store = await harness.open();
      const first = putOf({ name: 'a', text: '1' });
      const second = putOf({ name: 'a', expectedTag: first.tag, text: '2' });
      const late = putOf({ name: 'a', expectedTag: first.tag, text: '3' });
      const lateRemoval = { ...late, text: null };
      const removal = putOf({ name: 'a', expectedTag: second.tag, text: null });
      const [unread] = await store.putDocuments([late], ROOM);
      expect(unread).toBe('conflict');
      const outcomes = [];
      for (const put of [first, second, late, lateRemoval, removal, removal]) {
        outcomes.push(...(await store.putDocuments([put], ROOM)));
      }
      expect(outcomes).toEqual([
        ...['applied', 'applied', 'conflict', 'conflict'],
        ...['applied', 'applied'],
      ]);
      expect(await store.readDocuments(['a'])).toEqual([null]);
      expect(await store.readTags()).toEqual(new Map());
    });

    test('puts of one call are decided each by itself', async () => {
      const store = await harness.open();
      const a = putOf({ name: 'a' });
      await store.putDocuments([a], ROOM);
      const outcomes = await store.putDocuments(
        [putOf({ name: 'a' }), putOf({ name: 'b' }), putOf({ name: 'a', expectedTag: a.tag })],
        ROOM,
      );
      expect(outcomes).toEqual(['conflict', 'applied', 'applied']);
    });

    test('there are as many documents as there may be, and not one more', async () => {
      const store = await harness.open();
      const puts = ['a', 'b', 'c', 'd'].map((name) => putOf({ name }));
      expect(await store.putDocuments(puts.slice(0, 3), 2)).toEqual(['applied', 'applied', 'full']);
      const [a] = puts;
      const changed = putOf({ name: 'a', expectedTag: a!.tag });
      // A change needs no room; a removal makes some, also for a put of the same call.
      expect(await store.putDocuments([changed], 2)).toEqual(['applied']);
      const removed = putOf({ name: 'a', expectedTag: changed.tag, text: null });
      expect(await store.putDocuments([removed, ...puts.slice(2)], 2)).toEqual([
        ...['applied', 'applied', 'full'],
      ]);
      expect([...(await store.readTags()).keys()].sort()).toEqual(['b', 'c']);
    });

    test('of puts that race for one document exactly one is applied', async () => {
      const store = await harness.open();
      const puts = Array.from({ length: 20 }, () => putOf({ name: 'a' }));
      const outcomes = await Promise.all(puts.map((put) => store.putDocuments([put], ROOM)));
      expect(outcomes.flat().filter((outcome) => outcome === 'applied')).toHaveLength(1);
    });
  });
}
