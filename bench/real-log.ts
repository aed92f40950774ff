/**
 * `npm run bench:real-log -- access.log[.gz]`: imports a combined log with `tally import --now` into a
 * server of its own, and compares its answers with those of awk, sort and uniq over the same file:
 * the top 20 of three days and of each whole hour, and the number of different addresses. Ends with
 * an error where they differ. Meant for logs in UTC of at most three days.
 */
import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { TallyClient } from '../src/client/tally-client.ts';
import { readConfig } from '../src/config.ts';
import { startTally } from '../src/main.ts';
import { HOUR_MS } from '../src/streams/buckets.ts';
import { tableOf } from './support/report.ts';

const K = 20;
const TALLY = fileURLToPath(new URL('../bin/tally.mjs', import.meta.url));
const OUTPUT_BYTES_MAX = 2 ** 28;
const RANKED = `sort | uniq -c | LC_ALL=C sort -k1,1nr -k2 | head -${K}`;
/** Prints the hour, as `17-May-2015 10:00`, and the path of each line. */
const HOUR_AND_PATH = `awk '{ split(substr($4, 2), t, "[:/]"); print t[1] "-" t[2] "-" t[3] " " t[4] ":00", $7 }' | sed 's/?.*//'`;

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: npm run bench:real-log -- access.log[.gz]\n');
  process.exit(2);
}

const read = file.endsWith('.gz') ? `gzip -dc '${file}'` : `cat '${file}'`;
const server = await startTally(readConfig({ TALLY_PORT: '0', TALLY_LOG_LEVEL: 'error' }));
try {
  await compare(server.url);
} finally {
  await server.close();
}

async function compare(url: string): Promise<void> {
  const args = [TALLY, 'import', file!, '--format', 'combined', '--now', '--url', url];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  process.stdout.write(stdout);
  const shiftMs =
    Number(/shifted by ([+-][\d,]+) h/.exec(stdout)![1]!.replaceAll(',', '')) * HOUR_MS;
  const client = new TallyClient({ url });
  await untilFolded(client);
  const rows: string[][] = [];
  const whole = shell(`${read} | awk '{ print $7 }' | sed 's/?.*//' | ${RANKED}`);
  rows.push(['top 20 of 3 days', verdict(whole, await topOf(client, '3d'))]);
  const addresses = shell(`${read} | awk '{ print $1 }' | sort -u | wc -l`).trim();
  const distinct = await client.distinct({ window: '3d' });
  const found = `${distinct.estimate}${distinct.exact ? '' : ' (not exact)'}`;
  rows.push([`${addresses} different addresses`, verdict(addresses, found)]);
  const hours = shell(`${read} | ${HOUR_AND_PATH} | cut -d' ' -f1,2 | sort -u`).trim().split('\n');
  let equal = 0;
  let compared = 0;
  for (const hour of hours) {
    const endMs = Date.parse(`${hour.replaceAll('-', ' ')} UTC`) + HOUR_MS + shiftMs;
    if (endMs > Date.now()) continue;
    compared += 1;
    const paths = `grep '^${hour} ' | cut -d' ' -f3-`;
    const expected = shell(`${read} | ${HOUR_AND_PATH} | ${paths} | ${RANKED}`);
    if (expected === (await topOf(client, '1h', endMs))) equal += 1;
    else process.stdout.write(`differs: ${hour}\n`);
  }
  rows.push([`top 20 of ${compared} single hours`, verdict(compared, equal)]);
  process.stdout.write(`${tableOf(['by sort | uniq -c', 'Tally'], rows)}\n`);
  if (rows.some(([, result]) => result !== 'equal')) process.exitCode = 1;
}

/** In the form that `uniq -c` prints. */
async function topOf(client: TallyClient, window: string, until?: number): Promise<string> {
  const end = until === undefined ? {} : { until };
  const { items, exact } = await client.top({ window, k: K, ...end });
  if (!exact) return 'not exact';
  return items.map(({ item, count }) => `${String(count).padStart(7)} ${item}\n`).join('');
}

/** Everything acknowledged is counted once `asOf` is later than the import. */
async function untilFolded(client: TallyClient): Promise<void> {
  const importedMs = Date.now();
  while (Date.parse((await client.top({ window: '1m' })).asOf) < importedMs);
}

function verdict(expected: unknown, found: unknown): string {
  return String(expected) === String(found) ? 'equal' : `differs: ${String(found)}`;
}

function shell(command: string): string {
  return execFileSync('bash', ['-c', command], { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
}
