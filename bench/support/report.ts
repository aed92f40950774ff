/** What every bench does with its figures: a table to read, a hash, and a line to keep. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

const RESULTS = new URL('../results/', import.meta.url);

/** A table in Markdown, its columns as wide as they need: the first left, all others right. */
export function tableOf(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header, column) =>
    Math.max(header.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? '';
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(headers), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

/** The same figures give the same hash, on any machine: a change shows at a glance. */
export function hashOf(figures: unknown): string {
  return createHash('sha256').update(JSON.stringify(figures)).digest('hex').slice(0, 16);
}

/** Appends one line to bench/results/<bench>.jsonl. */
export function record(bench: string, parameters: unknown, figures: unknown): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: new URL('..', RESULTS),
    encoding: 'utf8',
  }).trim();
  const [cpu] = cpus();
  const entry = {
    commit,
    date: new Date().toISOString(),
    node: process.version,
    machine: `${cpus().length} x ${cpu?.model ?? 'unknown'}`,
    load: loadavg()[0],
    parameters,
    figures,
  };
  mkdirSync(RESULTS, { recursive: true });
  appendFileSync(new URL(`${bench}.jsonl`, RESULTS), `${JSON.stringify(entry)}\n`);
}
