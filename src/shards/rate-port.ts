/**
 * The port through which the processes of a deployment tell each other what is hot. A report
 * replaces the same process's last one; what is lost of them is told anew with the next.
 *
 * Every method may reject with StoreUnavailableError.
 */
import type { RateReport } from './growth.ts';

/** What kind of thing the keys of a report are names of. */
export type RateKind = 'boards';

export interface RateStore {
  report(kind: RateKind, report: RateReport): Promise<void>;
  /** Those of all processes; what is older than `olderThanMs` may be forgotten. */
  readReports(kind: RateKind, olderThanMs: number): Promise<RateReport[]>;
}
