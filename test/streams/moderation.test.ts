import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  LIST_BYTES_MAX,
  LISTED_ITEMS_MAX,
  LISTED_PREFIXES_MAX,
  MODERATION_AUDIT_MAX,
} from '../../src/streams/limits.ts';
import {
  changeModeration,
  hiddenItems,
  importModeration,
  type Mode,
  type Moderation,
  type ModerationChange,
  NO_MODERATION,
} from '../../src/streams/moderation.ts';

const ALICE = { atMs: 1, by: 'alice' };

function changed(changes: readonly ModerationChange[], before = NO_MODERATION): Moderation {
  return changeModeration(before, changes, ALICE);
}

function hiddenOf(items: readonly string[], moderation: Moderation, mode: Mode): string[] {
  return items.filter(hiddenItems(moderation, mode));
}

describe('what is hidden', () => {
  const items = ['spam', 'spam/1', 'news', 'news/1', 'other'];
  const lists = changed([
    { action: 'block', item: 'spam' },
    { action: 'block', prefix: 'news/' },
    { action: 'allow', prefix: 'news' },
    { action: 'allow', item: 'spam' },
  ]);

  test('is what is blocked by itself or by a prefix, where everything is shown', () => {
    expect(hiddenOf(items, lists, 'open')).toEqual(['spam', 'news/1']);
    expect(hiddenOf(items, NO_MODERATION, 'open')).toEqual([]);
  });

  test.each(['review', 'allowlist'] as const)(
    'is also what nobody has allowed, in mode %s; blocked wins over allowed',
    (mode) => {
      expect(hiddenOf(items, lists, mode)).toEqual(['spam', 'spam/1', 'news/1', 'other']);
      expect(hiddenOf(items, NO_MODERATION, mode)).toEqual(items);
    },
  );

  test('follows prefixes of any characters, also where one is a prefix of another', () => {
    const block = changed([
      { action: 'block', prefix: '\u{1f600}' },
      { action: 'block', prefix: 'ab' },
      { action: 'block', prefix: 'a' },
    ]);
    const some = ['\u{1f600}x', '\u{1f601}', 'a', 'abc', 'b'];
    expect(hiddenOf(some, block, 'open')).toEqual(['\u{1f600}x', 'a', 'abc']);
    const unblocked = changed([{ action: 'unblock', prefix: 'a' }], block);
    expect(hiddenOf(some, unblocked, 'open')).toEqual(['\u{1f600}x', 'abc']);
  });

  test('agrees with reading the lists one by one, after any changes', () => {
    const name = fc.constantFrom('a', 'ab', 'abc', 'b', 'ba', 'é', 'éa');
    const action = fc.constantFrom('block', 'unblock', 'allow', 'disallow');
    const change = fc.oneof(
      fc.record({ action, item: name }),
      fc.record({ action, prefix: name }),
    ) as fc.Arbitrary<ModerationChange>;
    const property = fc.property(
      fc.array(change, { maxLength: 30 }),
      fc.constantFrom<Mode>('open', 'review', 'allowlist'),
      name,
      (changes, mode, item) => {
        const isNamed = (add: string, remove: string): boolean => {
          const names = new Set<string>();
          for (const { action: done, ...of } of changes) {
            const key = JSON.stringify(of);
            if (done === add) names.add(key);
            if (done === remove) names.delete(key);
          }
          return [...names].some((key) => {
            const of = JSON.parse(key) as { item?: string; prefix?: string };
            return of.item === item || (of.prefix !== undefined && item.startsWith(of.prefix));
          });
        };
        const isAllowed = mode === 'open' || isNamed('allow', 'disallow');
        const expected = isNamed('block', 'unblock') || !isAllowed;
        expect(hiddenItems(changed(changes), mode)(item)).toBe(expected);
      },
    );
    fc.assert(property, { numRuns: 1_000 });
  });
});

describe('the audit', () => {
  test('says who changed what, when and why, in order', () => {
    const first = changeModeration(NO_MODERATION, [{ action: 'block', item: 'a' }], {
      ...ALICE,
      reason: 'spam',
    });
    const lists = { blocked: first.blocked, allowed: { items: ['b', 'b'], prefixes: [] } };
    const second = importModeration(first, lists, { atMs: 2, by: 'bob' });
    expect(second.allowed).toEqual({ items: ['b'], prefixes: [] });
    expect(second.audit).toEqual([
      { atMs: 1, by: 'alice', action: 'block', item: 'a', reason: 'spam' },
      { atMs: 2, by: 'bob', action: 'import' },
    ]);
  });

  test('leaves out what changed nothing, so that a repeated request leaves no trace', () => {
    const changes: ModerationChange[] = [
      { action: 'block', item: 'a' },
      { action: 'allow', prefix: 'b' },
    ];
    const once = changed(changes);
    expect(changed(changes, once)).toEqual(once);
    expect(changed([{ action: 'unblock', item: 'c' }], once)).toEqual(once);
    // Lists do not change each other.
    expect(changed([{ action: 'disallow', item: 'a' }], once)).toEqual(once);
  });

  test(`keeps the last ${MODERATION_AUDIT_MAX}`, () => {
    const blocks = Array.from({ length: MODERATION_AUDIT_MAX + 1 }, (_, index) => ({
      action: 'block' as const,
      item: `${index}`,
    }));
    const { audit } = changed(blocks);
    expect(audit).toHaveLength(MODERATION_AUDIT_MAX);
    expect(audit[0]).toMatchObject({ item: '1' });
    const imported = importModeration(changed(blocks), NO_MODERATION, ALICE);
    expect(imported.audit).toHaveLength(MODERATION_AUDIT_MAX);
  });
});

describe('limits of a list', () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`);

  test.each([
    ['item', LISTED_ITEMS_MAX],
    ['prefix', LISTED_PREFIXES_MAX],
  ] as const)('so many of kind %s fit, and not one more: %i', (kind, max) => {
    const lists = {
      blocked: NO_MODERATION.blocked,
      allowed: { items: [], prefixes: [], [kind === 'item' ? 'items' : 'prefixes']: many(max) },
    };
    const full = importModeration(NO_MODERATION, lists, ALICE);
    const one = kind === 'item' ? { item: 'one more' } : { prefix: 'one more' };
    // The other list has room of its own, and a repetition needs none.
    changed([{ action: 'block', ...one }], full);
    changed([{ action: 'allow', ...(kind === 'item' ? { item: '0' } : { prefix: '0' }) }], full);
    const refused = { code: 'moderation_full' };
    expect(() => changed([{ action: 'allow', ...one }], full)).toThrow(
      expect.objectContaining(refused),
    );
  });

  test('all texts of a list together have a limit in bytes', () => {
    const text = 'é'.repeat(LIST_BYTES_MAX / 2);
    changed([{ action: 'block', item: text }]);
    const one: ModerationChange[] = [
      { action: 'block', item: text },
      { action: 'block', prefix: 'x' },
    ];
    expect(() => changed(one)).toThrow(expect.objectContaining({ code: 'moderation_full' }));
  });
});
