/**
 * Which items a stream shows. Pure: lists, changes of them, and who made which change when. Whoever
 * answers leaves hidden items out; what is counted never depends on it.
 */
import { utf8Length } from '../lib/utf8.ts';
import {
  LIST_BYTES_MAX,
  LISTED_ITEMS_MAX,
  LISTED_PREFIXES_MAX,
  MODERATION_AUDIT_MAX,
} from './limits.ts';
import { RegistryRefusedError } from './registry-errors.ts';

export interface ItemList {
  /** Exact items. */
  readonly items: readonly string[];
  /** All items that begin with one of these; never empty. */
  readonly prefixes: readonly string[];
}

export interface ModerationLists {
  readonly blocked: ItemList;
  readonly allowed: ItemList;
}

export type ModerationAction = 'block' | 'unblock' | 'allow' | 'disallow';

/** Of one item, or of one prefix. */
export type ModerationChange = { readonly action: ModerationAction } & (
  | { readonly item: string }
  | { readonly prefix: string }
);

/** Who changed what, and when. */
export interface AuditEntry {
  readonly atMs: number;
  readonly by: string;
  /** `import`: all lists were replaced. */
  readonly action: ModerationAction | 'import';
  readonly item?: string | undefined;
  readonly prefix?: string | undefined;
  readonly reason?: string | undefined;
}

export interface Moderation extends ModerationLists {
  /** Oldest first; only the last MODERATION_AUDIT_MAX. */
  readonly audit: readonly AuditEntry[];
}

/** What is shown when nobody has decided. */
export const MODES = ['open', 'review', 'allowlist'] as const;
export type Mode = (typeof MODES)[number];

/** Who makes a change, and why. */
export interface Moderator {
  readonly atMs: number;
  readonly by: string;
  readonly reason?: string | undefined;
}

const EMPTY_LIST: ItemList = { items: [], prefixes: [] };
export const NO_MODERATION: Moderation = { blocked: EMPTY_LIST, allowed: EMPTY_LIST, audit: [] };

/**
 * Applies changes in their order. One that changes nothing leaves no trace, so that a repeated
 * request is harmless. Throws RegistryRefusedError `moderation_full`.
 */
export function changeModeration(
  before: Moderation,
  changes: readonly ModerationChange[],
  { atMs, by, reason }: Moderator,
): Moderation {
  const lists = {
    blocked: new EditedList(before.blocked),
    allowed: new EditedList(before.allowed),
  };
  const audit = [...before.audit];
  for (const change of changes) {
    const list = LIST_OF[change.action];
    if (!lists[list].apply(change)) continue;
    audit.push({ atMs, by, ...change, reason });
  }
  const after = { blocked: lists.blocked.list(), allowed: lists.allowed.list() };
  checkRoom(after);
  return { ...after, audit: audit.slice(-MODERATION_AUDIT_MAX) };
}

/** Replaces all lists. Throws RegistryRefusedError `moderation_full`. */
export function importModeration(
  before: Moderation,
  lists: ModerationLists,
  { atMs, by, reason }: Moderator,
): Moderation {
  const after = { blocked: withoutRepeats(lists.blocked), allowed: withoutRepeats(lists.allowed) };
  checkRoom(after);
  const entry: AuditEntry = { atMs, by, action: 'import', reason };
  return { ...after, audit: [...before.audit, entry].slice(-MODERATION_AUDIT_MAX) };
}

/** Whether an item is hidden under these lists and this mode: what is blocked is never shown. */
export function hiddenItems(
  { blocked, allowed }: ModerationLists,
  mode: Mode,
): (item: string) => boolean {
  const isBlocked = matcherOf(blocked);
  if (mode === 'open') return isBlocked;
  const isAllowed = matcherOf(allowed);
  return (item) => isBlocked(item) || !isAllowed(item);
}

/** Whether a list names an item. */
export function matcherOf({ items, prefixes }: ItemList): (item: string) => boolean {
  if (items.length === 0 && prefixes.length === 0) return () => false;
  const exact = new Set(items);
  const byLength = new Map<number, Set<string>>();
  for (const prefix of prefixes) {
    const known = byLength.get(prefix.length);
    if (known === undefined) byLength.set(prefix.length, new Set([prefix]));
    else known.add(prefix);
  }
  const lengths = [...byLength];
  return (item) =>
    exact.has(item) || lengths.some(([length, known]) => known.has(item.slice(0, length)));
}

const LIST_OF: Readonly<Record<ModerationAction, keyof ModerationLists>> = {
  block: 'blocked',
  unblock: 'blocked',
  allow: 'allowed',
  disallow: 'allowed',
};

class EditedList {
  readonly #items: Set<string>;
  readonly #prefixes: Set<string>;

  constructor({ items, prefixes }: ItemList) {
    this.#items = new Set(items);
    this.#prefixes = new Set(prefixes);
  }

  /** False when it was so before. */
  apply(change: ModerationChange): boolean {
    const [set, text] =
      'item' in change ? [this.#items, change.item] : [this.#prefixes, change.prefix];
    const isAdded = change.action === 'block' || change.action === 'allow';
    if (!isAdded) return set.delete(text);
    if (set.has(text)) return false;
    set.add(text);
    return true;
  }

  list(): ItemList {
    return { items: [...this.#items], prefixes: [...this.#prefixes] };
  }
}

function withoutRepeats({ items, prefixes }: ItemList): ItemList {
  return { items: [...new Set(items)], prefixes: [...new Set(prefixes)] };
}

function checkRoom(lists: ModerationLists): void {
  for (const [name, { items, prefixes }] of Object.entries(lists) as [string, ItemList][]) {
    const refuse = (limit: string): never => {
      throw new RegistryRefusedError('moderation_full', `${name}: a list holds at most ${limit}`);
    };
    if (items.length > LISTED_ITEMS_MAX) refuse(`${LISTED_ITEMS_MAX} items`);
    if (prefixes.length > LISTED_PREFIXES_MAX) refuse(`${LISTED_PREFIXES_MAX} prefixes`);
    const bytes = [...items, ...prefixes].reduce((sum, text) => sum + utf8Length(text), 0);
    if (bytes > LIST_BYTES_MAX) refuse(`${LIST_BYTES_MAX} bytes`);
  }
}
