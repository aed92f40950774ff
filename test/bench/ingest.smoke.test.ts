import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bodyOf, type EventsOptions, generateEvents } from '../../bench/support/load-events.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Parameters {
  readonly events: EventsOptions;
  readonly batches: readonly { batchSize: number; requestCount: number; passes: number }[];
  readonly rounds: number;
}

/** What was sent, counted from the bodies themselves: first to last by count. */
function sentCounts({ events, batches, rounds }: Parameters): number[] {
  const generated = generateEvents(events);
  const counts = new Map<string, number>();
  for (const { batchSize, requestCount, passes } of batches) {
    const body = JSON.parse(bodyOf(generated, 0, batchSize * requestCount)) as { item: string }[];
    // The round that warms up counts too.
    const times = passes * (rounds + 1);
    for (const { item } of body) counts.set(item, (counts.get(item) ?? 0) + times);
  }
  return [...counts.values()].sort((a, b) => b - a);
}

test('bench:ingest runs at a small size: right answers, and every row of its table', async () => {
  const args = ['--import', 'tsx', 'bench/ingest.ts', '--smoke'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const lineOf = (start: string): string =>
    stdout.split('\n').find((line) => line.startsWith(start)) ?? '';
  const parameters = JSON.parse(lineOf('parameters ').slice('parameters '.length)) as Parameters;
  const answer = JSON.parse(lineOf('answer ').slice('answer '.length)) as { count: number }[];
  expect(answer.map(({ count }) => count)).toEqual(sentCounts(parameters).slice(0, 10));

  const rows = parameters.batches.flatMap(({ batchSize }) => [
    `| Tally, batches of ${batchSize} `,
    `| only parsed, batches of ${batchSize} `,
  ]);
  rows.push('| recipe, pipelines of 100, 1 at a time', '| recipe, pipelines of 100, 4 at a time');
  for (const row of rows) {
    expect(lineOf(row)).toMatch(/\| +[\d,]+ \[[\d,]+\.\.[\d,]+\] \|/);
  }
  expect(lineOf('result ')).toMatch(/^result [0-9a-f]{16}$/);
}, 60_000);
