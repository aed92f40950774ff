/**
 * Writers and readers of one board over HTTP, through any of several servers that may die. Every
 * request is sent again, the same, until somebody acknowledges it; the ledger has what was. Some
 * are sent once more long after that, when their members may lie in other parts.
 */
import type { PageAnswer } from '../../src/boards/answers.ts';
import { Prng } from '../../src/lib/prng.ts';
import { BoardAuditor } from '../simulation/boards/board-auditor.ts';

const MEMBERS = 300;
const ENTRIES_MAX = 12;
const BALLAST_BATCH = 1_000;
const LATE_RETRY_CHANCE = 0.15;
const RETRY_PAUSE_MS = 20;
const REQUEST_TIMEOUT_MS = 30_000;

export interface BoardLoadOptions {
  readonly urls: readonly string[];
  readonly board: string;
  readonly writers: number;
  readonly readers: number;
  /** Members at the end of the board, which nobody writes to: they make moves long. */
  readonly ballast: number;
  readonly seed: number;
}

export interface BoardLoad {
  /** Requests that were acknowledged, entries that were found to be applied before. */
  readonly acknowledged: number;
  readonly duplicates: number;
  /** Requests that were sent again after they had been acknowledged. */
  readonly lateRetries: number;
  readonly reads: number;
  /** What was wrong with what was read while others wrote. */
  readonly faults: readonly string[];
  /** What is wrong with the board now that all is acknowledged; null: nothing. */
  faultAtEnd(url: string): Promise<string | null>;
  report(): Record<string, number>;
  stop(): Promise<void>;
}

export async function startBoardLoad(options: BoardLoadOptions): Promise<BoardLoad> {
  const { urls, board, ballast } = options;
  for (let first = 0; first < ballast; first += BALLAST_BATCH) {
    const length = Math.min(BALLAST_BATCH, ballast - first);
    const entries = Array.from({ length }, (_, index) => ({
      member: `ballast-${first + index}`,
      by: -1,
    }));
    const answer = await fetch(`${urls[0]}/v1/boards/${board}/scores`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(entries),
    });
    if (!answer.ok) throw new Error(`the ballast was answered ${answer.status}`);
  }
  return new Load(options);
}

interface Result {
  readonly duplicate?: true;
}

interface Sent {
  readonly body: string;
  readonly headers: Record<string, string>;
}

class Load implements BoardLoad {
  acknowledged = 0;
  duplicates = 0;
  lateRetries = 0;
  reads = 0;
  readonly faults: string[] = [];
  readonly #options: BoardLoadOptions;
  readonly #auditor = new BoardAuditor();
  readonly #tasks: Promise<void>[];
  #retries = 0;
  #entries = 0;
  #isStopped = false;

  constructor(options: BoardLoadOptions) {
    this.#options = options;
    this.#tasks = [
      ...Array.from({ length: options.writers }, (_, index) => this.#write(index)),
      ...Array.from({ length: options.readers }, (_, index) => this.#read(index)),
    ];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#tasks);
  }

  report(): Record<string, number> {
    const { acknowledged, duplicates, lateRetries, reads } = this;
    const [entries, retries] = [this.#entries, this.#retries];
    return { acknowledged, entries, retries, duplicates, lateRetries, reads };
  }

  async faultAtEnd(url: string): Promise<string | null> {
    const page = await this.#page(url);
    return page === null ? 'the board cannot be read' : this.#auditor.faultAtEnd(page);
  }

  async #write(writer: number): Promise<void> {
    const prng = new Prng(this.#options.seed * 1_000 + writer);
    const done: Sent[] = [];
    for (let batch = 0; !this.#isStopped; batch += 1) {
      const hasKey = prng.chance(0.5);
      const entries = Array.from({ length: 1 + prng.nextInt(ENTRIES_MAX) }, (_, index) => ({
        member: `member-${prng.nextInt(MEMBERS)}`,
        by: 1 + prng.nextInt(9),
        ...(hasKey ? {} : { id: `${writer}-${batch}-${index}` }),
      }));
      const posted = this.#auditor.post(entries);
      const headers: Sent['headers'] = hasKey ? { 'idempotency-key': `${writer}-${batch}` } : {};
      const sent = { body: JSON.stringify(entries), headers };
      const results = await this.#untilAcknowledged(prng, sent);
      // Nobody knows what became of it: a fault is noted, and so nothing is certain of it.
      if (results === null) continue;
      posted.isAcknowledged = true;
      this.acknowledged += 1;
      this.#entries += entries.length;
      this.duplicates += results.filter(({ duplicate }) => duplicate === true).length;
      done.push(sent);
      if (prng.chance(LATE_RETRY_CHANCE)) await this.#sendAgain(prng, done);
    }
  }

  /** Any of what was acknowledged, however long ago: nothing of it may be applied once more. */
  async #sendAgain(prng: Prng, done: readonly Sent[]): Promise<void> {
    const sent = done[prng.nextInt(done.length)]!;
    const results = await this.#untilAcknowledged(prng, sent);
    this.lateRetries += 1;
    if (results?.some(({ duplicate }) => duplicate !== true)) {
      this.faults.push(`applied once more: ${sent.body}: ${JSON.stringify(results)}`);
    }
  }

  /** Null: it was refused for good, which is a fault. */
  async #untilAcknowledged(prng: Prng, { body, headers }: Sent): Promise<Result[] | null> {
    for (;;) {
      const answer = await fetch(`${this.#url(prng)}/v1/boards/${this.#options.board}/scores`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      }).catch(() => null);
      const json = (await answer?.json().catch(() => null)) as { results?: Result[] } | null;
      if (answer?.status === 200 && json?.results !== undefined) return json.results;
      if (answer !== null && answer.status !== 503 && json !== null) {
        this.faults.push(`a post was answered ${answer.status}: ${JSON.stringify(json)}`);
        return null;
      }
      this.#retries += 1;
      await pause();
    }
  }

  async #read(reader: number): Promise<void> {
    const prng = new Prng(this.#options.seed * 2_000 + reader);
    while (!this.#isStopped) {
      const certain = this.#auditor.sums('acknowledged');
      const page = await this.#page(this.#url(prng));
      if (page === null || page.missing.length > 0) {
        await pause();
        continue;
      }
      this.reads += 1;
      const fault = this.#auditor.faultIn(page, certain);
      if (fault !== null) this.faults.push(fault);
    }
  }

  /** All members in one page; null while nobody answers. */
  async #page(url: string): Promise<PageAnswer | null> {
    const path = `/v1/boards/${this.#options.board}/top?fresh=true&k=${MEMBERS + 1}`;
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const answer = await fetch(url + path, { signal }).catch(() => null);
    if (answer?.status !== 200) return null;
    const page = (await answer.json().catch(() => null)) as Partial<PageAnswer> | null;
    if (page?.entries === undefined) return null;
    const entries = page.entries.filter(({ score }) => score > 0);
    return {
      missing: [],
      ...page,
      entries,
      of: page.of! - this.#options.ballast,
    } as unknown as PageAnswer;
  }

  #url(prng: Prng): string {
    const { urls } = this.#options;
    return urls[prng.nextInt(urls.length)]!;
  }
}

/** Between tries of somebody who was refused, so that a dead server is not asked all the time. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, RETRY_PAUSE_MS);
  });
}
