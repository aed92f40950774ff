/** All that Prometheus may ask for, in one place. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ScoreResult } from '../boards/answers.ts';
import type { Clock } from '../lib/clock.ts';
import type { PartitionStats } from '../streams/store-port.ts';
import type { CacheResult } from './answer-cache.ts';

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const JOB_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
const MS_PER_SECOND = 1000;

/** What only a process that answers queries has. */
export interface ApiState {
  readonly answerCacheBytes: number;
  readonly bodyBytesInFlight: number;
  readonly summaryCacheBytes: number;
}

export interface EventCounts {
  readonly accepted: number;
  readonly duplicate: number;
  readonly rejectedCount: number;
}

export class ApiMetrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #events: Counter<'outcome'>;
  readonly #scores: Counter<'outcome'>;
  readonly #answers: Counter<'result'>;
  readonly #jobs: Histogram<'job' | 'outcome'>;
  readonly #folded: Counter<'outcome'>;
  readonly #observers: (() => void | Promise<void>)[] = [];

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Histogram({
      name: 'tally_http_request_seconds',
      help: 'Requests by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#events = new Counter({
      name: 'tally_events_total',
      help: 'Events by outcome: accepted, rejected, duplicate.',
      labelNames: ['outcome'],
      registers,
    });
    this.#scores = new Counter({
      name: 'tally_scores_total',
      help: 'Entries of boards by outcome: applied, duplicate, out_of_range.',
      labelNames: ['outcome'],
      registers,
    });
    this.#answers = new Counter({
      name: 'tally_answer_cache_total',
      help: 'Answers by result: hit, miss, stale.',
      labelNames: ['result'],
      registers,
    });
    this.#jobs = new Histogram({
      name: 'tally_job_seconds',
      help: 'Runs of the background jobs by job and outcome.',
      labelNames: ['job', 'outcome'],
      buckets: JOB_SECONDS,
      registers,
    });
    this.#folded = new Counter({
      name: 'tally_folded_entries_total',
      help: 'Log entries folded by this process, and entries or shares of them set aside.',
      labelNames: ['outcome'],
      registers,
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  countRequest(method: string, route: string, status: number, durationMs: number): void {
    this.#requests.observe({ method, route, status }, durationMs / MS_PER_SECOND);
  }

  countEvents({ accepted, duplicate, rejectedCount }: EventCounts): void {
    this.#events.inc({ outcome: 'accepted' }, accepted);
    this.#events.inc({ outcome: 'duplicate' }, duplicate);
    this.#events.inc({ outcome: 'rejected' }, rejectedCount);
  }

  countScores(results: readonly ScoreResult[]): void {
    const duplicates = results.filter(({ isDuplicate }) => isDuplicate).length;
    const outOfRange = results.filter(({ isOutOfRange }) => isOutOfRange).length;
    this.#scores.inc({ outcome: 'applied' }, results.length - duplicates - outOfRange);
    this.#scores.inc({ outcome: 'duplicate' }, duplicates);
    this.#scores.inc({ outcome: 'out_of_range' }, outOfRange);
  }

  countAnswer(result: CacheResult): void {
    this.#answers.inc({ result });
  }

  countJob(job: string, outcome: 'done' | 'failed', durationMs: number): void {
    this.#jobs.observe({ job, outcome }, durationMs / MS_PER_SECOND);
  }

  countFolded(entryCount: number, asideCount: number): void {
    this.#folded.inc({ outcome: 'folded' }, entryCount);
    this.#folded.inc({ outcome: 'aside' }, asideCount);
  }

  /** The text of a scrape: counters as they stand, and gauges read anew. */
  async text(): Promise<string> {
    for (const observe of this.#observers) await observe();
    return this.#registry.metrics();
  }

  /** Adds the gauges of a process that answers queries. */
  watch(state: () => ApiState): void {
    const registers = [this.#registry];
    const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
    const answers = gauge('tally_answer_cache_bytes', 'Size of the ready answers.');
    const bodies = gauge('tally_body_bytes_in_flight', 'Size of the bodies being worked on.');
    const summaries = gauge('tally_summary_cache_bytes', 'Size of the decoded summaries.');
    this.#observers.push(() => {
      const { answerCacheBytes, bodyBytesInFlight, summaryCacheBytes } = state();
      answers.set(answerCacheBytes);
      bodies.set(bodyBytesInFlight);
      summaries.set(summaryCacheBytes);
    });
  }

  /** Adds the gauges of the store; `stats` gives null while it cannot be read. */
  watchStore(stats: () => Promise<readonly PartitionStats[] | null>, clock: Clock): void {
    const registers = [this.#registry];
    const labelNames = ['partition'] as const;
    const gauge = (name: string, help: string): Gauge<'partition'> =>
      new Gauge({ name, help, labelNames, registers });
    const help = '1 while the store can be read.';
    const up = new Gauge({ name: 'tally_store_up', help, registers });
    const entries = gauge('tally_backlog_entries', 'Log entries that wait to be folded.');
    const bytes = gauge('tally_backlog_bytes', 'Bytes that wait to be folded.');
    const age = gauge('tally_backlog_age_seconds', 'Age of the oldest waiting entry.');
    const damaged = gauge('tally_damaged_entries', 'Entries set aside as unusable.');
    this.#observers.push(async () => {
      const partitions = await stats();
      up.set(partitions === null ? 0 : 1);
      for (const [partition, state] of (partitions ?? []).entries()) {
        const ageMs = state.oldestWaitingMs === null ? 0 : clock.nowMs() - state.oldestWaitingMs;
        entries.set({ partition }, state.waitingEntries);
        bytes.set({ partition }, state.waitingBytes);
        age.set({ partition }, Math.max(ageMs, 0) / MS_PER_SECOND);
        damaged.set({ partition }, state.damagedEntries);
      }
    });
  }
}
