/** Making exact parts: as few as possible, none larger than a part may be. */
import type { TagSource } from '../lib/random-tag.ts';
import { Summary, type SummaryContext } from '../sketches/summary.ts';
import { encodeSummaryUnordered } from '../sketches/summary-codec.ts';
import { BYTES_PER_HASH } from '../sketches/viewer-set.ts';
import type { Bucket } from './buckets.ts';
import { PART_BYTES_MAX } from './limits.ts';
import type { NewPart } from './store-port.ts';

/** Bytes of an item's row in the encoding, beside the item's own and those of its actors. */
const ROW_BYTES_MAX = 13;

/** Merges exact summaries into as few exact ones as a part's limits allow. */
export function mergeExactly(summaries: readonly Summary[], context: SummaryContext): Summary[] {
  const merged: Summary[] = [];
  let last: Summary | null = null;
  for (const summary of summaries) {
    if (last === null || !fitsInto(last, summary)) {
      last = new Summary(context);
      merged.push(last);
    }
    last.merge(summary);
  }
  return merged;
}

export function partsOf(
  summaries: readonly Summary[],
  bucket: Bucket,
  foldedAtMs: number,
  tags: TagSource,
): NewPart[] {
  return summaries.map((summary) => {
    const blob = encodeSummaryUnordered(summary);
    return { tag: tags(), bucket, bytes: blob.length, foldedAtMs, blob };
  });
}

/**
 * A part without pairs, from before these were kept, stays apart from those that have them: it
 * would take them away.
 */
function fitsInto(target: Summary, added: Summary): boolean {
  if (target.pairsExact !== added.pairsExact) return false;
  const { exactItems, exactPairs } = target.context.shape;
  const itemCount = target.itemCount + added.itemCount;
  const pairCount = target.pairCount + added.pairCount;
  const itemBytes = target.itemBytes + added.itemBytes;
  const bytes = itemBytes + itemCount * ROW_BYTES_MAX + pairCount * BYTES_PER_HASH;
  return itemCount <= exactItems && pairCount <= exactPairs && bytes <= PART_BYTES_MAX;
}
