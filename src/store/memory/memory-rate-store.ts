import type { RateReport } from '../../shards/growth.ts';
import type { RateKind, RateStore } from '../../shards/rate-port.ts';

/** The reports of the only process there is. */
export class MemoryRateStore implements RateStore {
  readonly #reports = new Map<string, RateReport>();

  async report(kind: RateKind, report: RateReport): Promise<void> {
    this.#reports.set(`${kind} ${report.process}`, report);
  }

  async readReports(kind: RateKind, olderThanMs: number): Promise<RateReport[]> {
    for (const [name, { atMs }] of this.#reports) {
      if (atMs < olderThanMs) this.#reports.delete(name);
    }
    return [...this.#reports]
      .filter(([name]) => name.startsWith(`${kind} `))
      .map(([, report]) => report);
  }
}
