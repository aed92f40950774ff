import { describeAppend } from './append.contract.ts';
import { describeColumns } from './columns.contract.ts';
import { describeCommits } from './commits.contract.ts';
import type { StreamStoreHarness } from './harness.ts';
import { describeStreams } from './streams.contract.ts';

/** What every implementation of the streams port must do; `harness` is ready in beforeAll. */
export function describeStreamStore(harness: StreamStoreHarness): void {
  describeAppend(harness);
  describeCommits(harness);
  describeStreams(harness);
  describeColumns(harness);
}
