/** The raw events in SQLite, by its own shell: the full scan that summaries spare. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { actorName, type CountedItem, itemName } from './load-events.ts';
import type { History } from './windows-history.ts';

const LINES_PER_WRITE = 10_000;
/** The file and what is computed stay in memory; the map is larger than the file. */
const PRAGMAS = [
  ...['PRAGMA temp_store = memory;', 'PRAGMA cache_size = -2000000;'],
  ...['PRAGMA mmap_size = 8000000000;'],
];

export interface ScanReply {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly items: readonly CountedItem[];
}

export class EventsInSqlite {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /**
   * A table of all events in the order of their times, and an index that holds what is asked; null
   * where there is no SQLite.
   */
  static async fill(dir: string, history: History): Promise<EventsInSqlite | null> {
    if (spawnSync('sqlite3', ['-version']).error !== undefined) return null;
    const file = join(dir, 'events.db');
    const shell = spawn(
      'sqlite3',
      [
        ...['-bail', '-csv', file, 'PRAGMA journal_mode = off', 'PRAGMA synchronous = off'],
        'CREATE TABLE events (at INTEGER NOT NULL, item TEXT NOT NULL, actor TEXT NOT NULL)',
        ...['.import |cat events', 'PRAGMA cache_size = -2000000'],
        'CREATE INDEX events_by_time ON events (at, item)',
      ],
      { stdio: ['pipe', 'ignore', 'inherit'] },
    );
    const ended = once(shell, 'close');
    const eventCount = history.items.length;
    for (let start = 0; start < eventCount; start += LINES_PER_WRITE) {
      const length = Math.min(LINES_PER_WRITE, eventCount - start);
      const lines = Array.from({ length }, (_, index) => lineOf(history, start + index));
      if (!shell.stdin.write(lines.join(''))) await once(shell.stdin, 'drain');
    }
    shell.stdin.end();
    const [code] = await ended;
    if (code !== 0) throw new Error(`sqlite3 ended with ${code}`);
    return new EventsInSqlite(file);
  }

  /** By SQLite's own clock, in a process that has just started; the file is in the page cache. */
  async top(fromMs: number, toMs: number, k: number, indexed: boolean): Promise<ScanReply> {
    const source = `events ${indexed ? 'INDEXED BY events_by_time' : 'NOT INDEXED'}`;
    const output = await this.#run([
      ...[...PRAGMAS, '.timer on'],
      `SELECT item, count(*) AS events FROM ${source} WHERE at >= ${fromMs} AND at < ${toMs}`,
      `GROUP BY item ORDER BY events DESC, item LIMIT ${k};`,
    ]);
    const time = /real ([\d.]+) user ([\d.]+) sys ([\d.]+)/.exec(output)!.slice(1).map(Number);
    const [real = 0, user = 0, system = 0] = time;
    const items = [...output.matchAll(/^(item-\d+)\|(\d+)$/gm)].map(([, item, count]) => ({
      item: item!,
      count: Number(count),
    }));
    return { wallMs: real * 1_000, cpuMs: (user + system) * 1_000, items };
  }

  #run(lines: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const shell = execFile('sqlite3', ['-bail', this.#file], (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`sqlite3: ${stderr}`, { cause: error }));
      });
      shell.stdin!.end(lines.join('\n'));
    });
  }
}

function lineOf(history: History, event: number): string {
  const item = itemName(history.items[event]!);
  return `${history.timeMsOf(event)},${item},${actorName(history.actors[event]!)}\n`;
}
