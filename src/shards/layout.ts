/**
 * The closed set of parts of a thing that splits while it is written and read, as its document
 * keeps it, and the steps from one set to the next. Pure.
 *
 * A set of N parts (a power of two) gives a name with hash h to part h mod N. It grows to 2N by
 * moving from each part j what belongs to j + N, and shrinks back the same way. A move is announced
 * first, so that whoever meets parts of a newer epoch finds in the document what is being done, and
 * can carry it on.
 */
import { assert } from '../lib/assert.ts';
import type { Tag } from '../lib/random-tag.ts';

export const PARTS_MAX = 256;

export interface Move {
  /**
   * `announced`: parts are opened, and epochs raised, one after the other; the old set holds.
   * `moving`: all of them have the epoch, and members go from the sources to the targets.
   */
  readonly stage: 'announced' | 'moving';
  readonly epoch: Tag;
  /** The set after the move: twice as many, or the first half. */
  readonly parts: readonly Tag[];
}

/** A set that was: its parts may still remember ids of its time. */
export interface PastSet {
  readonly parts: readonly Tag[];
  readonly endedAtMs: number;
}

export interface Layout {
  /** Of the parts, unless a move is announced, which raises it one part at a time. */
  readonly epoch: Tag;
  /** Until a move has ended, the set before it. Empty: nothing is open yet. */
  readonly parts: readonly Tag[];
  readonly move: Move | null;
  readonly past: readonly PastSet[];
}

/** Where a name is, or will be. */
export interface Route {
  /** Where it belongs, and where it is made if it is nowhere. */
  readonly home: Tag;
  /** While members move: the part that may still hold it and must be asked first. */
  readonly source: Tag | null;
}

export interface MovePair {
  readonly source: Tag;
  readonly target: Tag;
}

export function isPartCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && count <= PARTS_MAX && (count & (count - 1)) === 0;
}

/** The document's layout before anything is open: the first parts are announced like later ones. */
export function firstLayout(epoch: Tag, parts: readonly Tag[]): Layout {
  return { epoch, parts: [], move: { stage: 'announced', epoch, parts }, past: [] };
}

export function announced(layout: Layout, epoch: Tag, parts: readonly Tag[]): Layout {
  const before = layout.parts.length;
  assert(layout.move === null, 'one move at a time');
  assert(isPartCount(parts.length), 'a power of two parts');
  assert(parts.length === 2 * before || 2 * parts.length === before, 'twice or half as many');
  return { ...layout, move: { stage: 'announced', epoch, parts } };
}

/** All parts have the new epoch. The first parts of all have nothing to move. */
export function begun(layout: Layout): Layout {
  const { move, parts } = layout;
  assert(move?.stage === 'announced', 'announced before it begins');
  if (parts.length === 0) return { ...layout, parts: move.parts, epoch: move.epoch, move: null };
  return { ...layout, epoch: move.epoch, move: { ...move, stage: 'moving' } };
}

/** All sources are empty. */
export function finished(layout: Layout, nowMs: number): Layout {
  const { move, parts, past } = layout;
  assert(move?.stage === 'moving', 'begun before it ends');
  return {
    epoch: layout.epoch,
    parts: move.parts,
    move: null,
    past: [...past, { parts, endedAtMs: nowMs }],
  };
}

/** `hash` is an unsigned 32-bit number. */
export function routeOf({ parts, move }: Layout, hash: number): Route {
  if (move?.stage !== 'moving') return { home: partOf(parts, hash), source: null };
  const home = partOf(move.parts, hash);
  const source = partOf(parts, hash);
  return { home, source: source === home ? null : source };
}

/**
 * The parts to which a set that ended after `sinceMs` gave the name, without the one that is asked
 * anyway. The target of a move may be among them: it was the name's part before it grew.
 */
export function pastPartsOf(layout: Layout, hash: number, sinceMs: number, asked: Tag): Tag[] {
  const past = layout.past
    .filter(({ endedAtMs }) => endedAtMs > sinceMs)
    .map(({ parts }) => partOf(parts, hash));
  return [...new Set(past)].filter((part) => part !== asked);
}

/** From where to where members move; empty while none do. */
export function movePairs({ parts, move }: Layout): MovePair[] {
  if (move?.stage !== 'moving') return [];
  const after = move.parts;
  return after.length > parts.length
    ? parts.map((source, index) => ({ source, target: after[index + parts.length]! }))
    : after.map((target, index) => ({ source: parts[index + after.length]!, target }));
}

/** Every part that may hold members. */
export function livingParts({ parts, move }: Layout): Tag[] {
  return move?.stage === 'moving' ? [...new Set([...parts, ...move.parts])] : [...parts];
}

/** Every part that was ever opened and is known of. */
export function knownParts(layout: Layout): Tag[] {
  const { parts, move, past } = layout;
  return [
    ...new Set([...parts, ...(move?.parts ?? []), ...past.flatMap((earlier) => earlier.parts)]),
  ];
}

/** Parts that hold nothing, and remember nothing of what came after `sinceMs`. */
export function droppableParts(layout: Layout, sinceMs: number): Tag[] {
  const needed = new Set(knownParts(withoutPast(layout, sinceMs)));
  return knownParts(layout).filter((part) => !needed.has(part));
}

/** Without the sets that ended at `sinceMs` or before. */
export function withoutPast(layout: Layout, sinceMs: number): Layout {
  return { ...layout, past: layout.past.filter(({ endedAtMs }) => endedAtMs > sinceMs) };
}

function partOf(parts: readonly Tag[], hash: number): Tag {
  const part = parts[hash % parts.length];
  assert(part !== undefined, 'a set that holds something has parts');
  return part;
}
