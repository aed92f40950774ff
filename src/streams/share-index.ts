/** What one partition holds of one share. */
import { BrokenStreamError } from '../lib/store-errors.ts';
import type { Bucket } from './buckets.ts';
import type { ShareIndex, StreamStore } from './store-port.ts';

/** Rejects with BrokenStreamError, and as the store does. */
export async function readShareIndex(
  store: StreamStore,
  partition: number,
  share: string,
  buckets: readonly Bucket[],
): Promise<ShareIndex> {
  const { shares } = await store.readIndex(partition, [{ share, buckets }]);
  const index = shares[0] ?? null;
  if (index === null) {
    throw new BrokenStreamError(`keys of the stream ${JSON.stringify(share)} are damaged`);
  }
  return index;
}
