import type { RateReport } from '../../shards/growth.ts';
import type { RateKind, RateStore } from '../../shards/rate-port.ts';
import type { RedisConnection } from './connection.ts';
import { ratesKey } from './keys.ts';
import { arrayOf, pairsOf, textOf } from './replies.ts';

/** A hash with one field for each process. Lost reports are made anew within seconds. */
export class RedisRateStore implements RateStore {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async report(kind: RateKind, report: RateReport): Promise<void> {
    const { slot, key } = ratesKey(kind);
    const text = JSON.stringify(report);
    await this.#connection.writes.send(slot, (node) => node.hset(key, report.process, text));
  }

  async readReports(kind: RateKind, olderThanMs: number): Promise<RateReport[]> {
    const { slot, key } = ratesKey(kind);
    const found = await this.#connection.reads.send(slot, (node) =>
      node.callBuffer('HGETALL', key),
    );
    const reports: RateReport[] = [];
    const over: string[] = [];
    for (const [process, text] of pairsOf(arrayOf(found, 'hgetall'))) {
      const report = parseReport(textOf(text));
      if (report !== null && report.atMs >= olderThanMs) reports.push(report);
      else over.push(textOf(process));
    }
    if (over.length > 0) {
      await this.#connection.writes.send(slot, (node) => node.hdel(key, ...over));
    }
    return reports;
  }
}

/** Null for what no process of this version wrote: it is forgotten like an old one. */
function parseReport(text: string): RateReport | null {
  try {
    const report = JSON.parse(text) as RateReport;
    return typeof report.atMs === 'number' && Array.isArray(report.rates) ? report : null;
  } catch {
    return null;
  }
}
