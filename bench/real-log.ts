/**
 * `npm run bench:real-log -- access.log[.gz]`: shifts the days of a combined log so that its last
 * one is yesterday, imports it with `tally import` into a server of its own on a Redis of its own,
 * and compares the answers with those of awk over the same file: the top 20, the different
 * addresses and the series of every whole hour, every UTC day and every local day. Once right after
 * the import and once when all of it is compacted. Ends with an error where something differs.
 * Meant for logs in UTC of at most six days.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TallyClient, type WindowChoice } from '../src/client/tally-client.ts';
import { DAY_MS, HOUR_MS } from '../src/streams/buckets.ts';
import { tableOf } from './support/report.ts';
import { withServers } from './support/servers.ts';

const K = 20;
/** Of full hours: the hours of their days are kept also when the minutes are gone. */
const ZONES = ['America/New_York', 'Europe/Paris', 'Asia/Tokyo'];
const DAYS_MAX = 6;
const COMPACTED_WITHIN_MS = 240_000;
const ASK_AGAIN_MS = 5_000;
const TALLY = fileURLToPath(new URL('../bin/tally.mjs', import.meta.url));
const OUTPUT_BYTES_MAX = 2 ** 28;

/**
 * Of each line its time (`2026-11-30T10:05:03`), path and address, with tabs in between. The bytes
 * of a path beyond what an item may have make a bad line.
 */
const FIELDS = `LC_ALL=C awk '
  BEGIN { split("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", names, " ")
          for (i in names) month[names[i]] = sprintf("%02d", i) }
  { split(substr($4, 2), t, "[:/]"); path = $7; sub(/[?].*/, "", path)
    if (length(path) <= 512)
      print t[3] "-" month[t[2]] "-" t[1] "T" t[4] ":" t[5] ":" t[6] "\\t" path "\\t" $1 }'`;

/** Of lines \`key, path, address\`: events and addresses of each key, and its paths, ranked. */
const COUNTS = `LC_ALL=C awk -F'\\t' -v OFS='\\t' '
  { events[$1]++; paths[$1 OFS $2]++; if (!seen[$1, $3]++) addresses[$1]++ }
  END { for (key in events) print key, "all", events[key], addresses[key]
        for (pair in paths) { split(pair, p, OFS); print p[1], "path", paths[pair], p[2] } }
  ' | LC_ALL=C sort -t$'\\t' -k1,1 -k2,2 -k3,3nr -k4,4`;

/** What awk says of one hour or day. */
interface Truth {
  readonly events: number;
  readonly addresses: number;
  readonly top: readonly string[];
}

/** Hours or days by what their key stands for. */
interface Calendar {
  readonly name: string;
  readonly truths: ReadonlyMap<string, Truth>;
  readonly step: '1h' | '1d';
  readonly tz: string;
  windowOf(key: string): WindowChoice;
}

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: npm run bench:real-log -- access.log[.gz]\n');
  process.exit(2);
}
const directory = mkdtempSync(join(tmpdir(), 'tally-real-log-'));
try {
  const shifted = shiftDays(file, join(directory, 'access.log'));
  const calendars = calendarsOf(shifted);
  await withServers(async (servers) => {
    const redis = await servers.redis();
    const server = await servers.tally({ REDIS_URL: redis.url });
    const args = [TALLY, 'import', shifted, '--format', 'combined', '--url', server.url];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    process.stdout.write(stdout.replace(shifted, file));
    const client = new TallyClient({ url: server.url });
    await untilFolded(client);
    await report('right after the import', client, calendars);
    await untilCompacted(client);
    await report('compacted', client, calendars);
  });
} finally {
  rmSync(directory, { recursive: true });
}

/** A copy in which the last day is yesterday, and the others keep their distance from it. */
function shiftDays(source: string, target: string): string {
  const read = source.endsWith('.gz') ? `gzip -dc '${source}'` : `cat '${source}'`;
  const dates = lines(`${read} | awk '{ print substr($4, 2, 11) }' | sort -u`);
  const dayOf = (date: string): number => Date.parse(`${date.replaceAll('/', ' ')} UTC`);
  const lastMs = Math.max(...dates.map(dayOf));
  const yesterdayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
  if (lastMs - Math.min(...dates.map(dayOf)) >= DAYS_MAX * DAY_MS) {
    throw new Error(`the log is of more than ${DAYS_MAX} days`);
  }
  const replacements = dates.map((date) => {
    const [, day, month, year] = new Date(dayOf(date) - lastMs + yesterdayMs)
      .toUTCString()
      .split(/[ ,]+/);
    return `-e 's#\\[${date}:#[${day}/${month}/${year}:#'`;
  });
  shell(`${read} | sed ${replacements.join(' ')} > '${target}'`);
  return target;
}

function calendarsOf(log: string): Calendar[] {
  const fields = `${FIELDS} '${log}'`;
  const from = (time: string, lengthMs: number): WindowChoice => {
    const fromMs = Date.parse(time);
    return { from: fromMs, to: fromMs + lengthMs };
  };
  return [
    {
      name: 'hours',
      truths: truthsOf(`${fields} | sed -E 's/^(.{13})[^\\t]*/\\1/'`),
      step: '1h',
      tz: 'UTC',
      windowOf: (hour) => from(`${hour}:00Z`, HOUR_MS),
    },
    {
      name: 'UTC days',
      truths: truthsOf(`${fields} | sed -E 's/^(.{10})[^\\t]*/\\1/'`),
      step: '1d',
      tz: 'UTC',
      windowOf: (day) => from(`${day}T00:00Z`, DAY_MS),
    },
    ...ZONES.map((tz): Calendar => {
      const days = `TZ=${tz} date -f <(${fields} | sed -E 's/^([^\\t]*).*/\\1Z/') +%F`;
      return {
        name: `days in ${tz}`,
        truths: truthsOf(`paste <(${days}) <(${fields} | cut -f2-)`),
        step: '1d',
        tz,
        windowOf: (period) => ({ period, tz }),
      };
    }),
  ];
}

/** By awk, sort and date alone. */
function truthsOf(keyed: string): Map<string, Truth> {
  const truths = new Map<string, Truth>();
  const ranked = new Map<string, string[]>();
  for (const line of lines(`${keyed} | ${COUNTS}`)) {
    const [key = '', kind, count = '', last = ''] = line.split('\t');
    const top = ranked.get(key) ?? [];
    ranked.set(key, top);
    if (kind === 'all') truths.set(key, { events: Number(count), addresses: Number(last), top });
    else if (top.length < K) top.push(`${count} ${last}`);
  }
  return truths;
}

async function report(
  when: string,
  client: TallyClient,
  calendars: readonly Calendar[],
): Promise<void> {
  const rows: string[][] = [];
  for (const calendar of calendars) {
    rows.push([`${calendar.truths.size} ${calendar.name}`, ...(await compare(client, calendar))]);
  }
  process.stdout.write(`\n${tableOf([when, `top ${K}`, 'distinct', 'series'], rows)}\n`);
  if (rows.flat().some((cell) => cell.startsWith('differs'))) process.exitCode = 1;
}

/** Says of top, distinct and series whether all keys have the same answer. */
async function compare(client: TallyClient, calendar: Calendar): Promise<string[]> {
  const differing: [string[], string[], string[]] = [[], [], []];
  const points = await pointsOf(client, calendar);
  for (const [key, truth] of calendar.truths) {
    const window = calendar.windowOf(key);
    const top = await client.top({ ...window, k: K });
    const distinct = await client.distinct(window);
    const rows = top.items.map(({ item, count }) => `${count} ${item}`);
    const hasSameTop = rows.join('\n') === truth.top.join('\n') && top.total === truth.events;
    if (!hasSameTop || !top.exact || top.widened === true) differing[0].push(key);
    if (distinct.estimate !== truth.addresses || !distinct.exact) differing[1].push(key);
    if (points.get(Date.parse(top.from)) !== `${truth.events} ${truth.addresses}`) {
      differing[2].push(key);
    }
  }
  return differing.map((keys) => (keys.length === 0 ? 'equal' : `differs: ${keys.join(', ')}`));
}

/** Events and addresses of each point of one series over the whole log, by its start. */
async function pointsOf(client: TallyClient, calendar: Calendar): Promise<Map<number, string>> {
  const { step, tz } = calendar;
  const series = await client.series({ window: `${DAYS_MAX + 2}d`, step, tz });
  return new Map(
    series.points.map(({ from, count, distinct }) => [
      Date.parse(from),
      distinct?.exact === true ? `${count} ${distinct.estimate}` : 'not exact',
    ]),
  );
}

/** Everything acknowledged is counted once `asOf` is later than the import. */
async function untilFolded(client: TallyClient): Promise<void> {
  const importedMs = Date.now();
  while (Date.parse((await client.top({ window: '1m' })).asOf) < importedMs);
}

/** No part is open any more: everything is read from summaries of minutes, hours and days. */
async function untilCompacted(client: TallyClient): Promise<void> {
  const window = { window: `${DAYS_MAX + 2}d`, explain: true };
  for (let waitedMs = 0; waitedMs < COMPACTED_WITHIN_MS; waitedMs += ASK_AGAIN_MS) {
    const { explain } = await client.top(window);
    const summaries = explain?.summaries ?? [];
    if (summaries.every(({ source }) => source !== 'part')) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
  throw new Error('the import is not compacted after some minutes');
}

function lines(command: string): string[] {
  return shell(command)
    .split('\n')
    .filter((line) => line !== '');
}

function shell(command: string): string {
  return execFileSync('bash', ['-c', `set -o pipefail; ${command}`], {
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  });
}
