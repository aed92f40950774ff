/** Exact answers about a log, read in a simpler way than the importer does. */
import { expect } from 'vitest';
import type { TallyClient } from '../../src/client/tally-client.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';

export interface Hit {
  readonly item: string;
  readonly actor: string;
  readonly atMs: number;
}

const HIT = /^(\S+) .*\[(\d+)\/(\w+)\/(\d+):(\S+) (\S+)\] "[A-Z]+ (.+?)(?: HTTP\/[\d.]+)?" \d{3} /;
/** Lines of the fixture that look like hits to this reading, and are none. */
const NO_HIT = /31\/Feb|\ufffd|cut off$/;
/** An item may have so many bytes; the importer shows longer ones as bad lines. */
const ITEM_BYTES_MAX = 512;
const K = 20;

export function hitsOf(log: string): Hit[] {
  const hits: Hit[] = [];
  for (const line of log.split('\n')) {
    const match = NO_HIT.test(line) ? null : HIT.exec(line);
    if (match === null) continue;
    const [, actor = '', day, month, year, time, offset, url = ''] = match;
    const atMs = Date.parse(`${day} ${month} ${year} ${time} ${offset}`);
    const item = url.split('?')[0] ?? '';
    if (Buffer.byteLength(item) <= ITEM_BYTES_MAX) hits.push({ item, actor, atMs });
  }
  return hits;
}

/** Like `sort | uniq -c | LC_ALL=C sort -k1,1nr -k2 | head -20`. */
function topOf(hits: readonly Hit[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { item } of hits) counts.set(item, (counts.get(item) ?? 0) + 1);
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [...counts].sort(([a, m], [b, n]) => n - m || byBytes(a, b)).slice(0, K);
}

export async function shownTop(
  client: TallyClient,
  stream: string,
  window: string,
  untilMs?: number,
): Promise<[string, number][]> {
  const end = untilMs === undefined ? {} : { until: untilMs };
  const answer = await client.top({ stream, window, k: K, ...end });
  expect(answer.exact).toBe(true);
  return answer.items.map(({ item, count }) => [item, count]);
}

/**
 * Holds three days, and each whole hour up to now that has any of it, against the log; the number
 * of hours.
 */
export async function expectExactly(
  client: TallyClient,
  stream: string,
  hits: readonly Hit[],
  shiftMs: number,
): Promise<number> {
  const top = await client.top({ stream, window: '3d', k: K });
  expect(top).toMatchObject({ total: hits.length, exact: true });
  expect(await shownTop(client, stream, '3d')).toEqual(topOf(hits));
  const distinct = await client.distinct({ stream, window: '3d' });
  const actors = new Set(hits.map(({ actor }) => actor));
  expect(distinct).toMatchObject({ estimate: actors.size, exact: true });
  const byHour = new Map<number, Hit[]>();
  for (const hit of hits) {
    const endMs = (Math.floor((hit.atMs + shiftMs) / HOUR_MS) + 1) * HOUR_MS;
    if (endMs > Date.parse(top.to)) continue;
    byHour.set(endMs, [...(byHour.get(endMs) ?? []), hit]);
  }
  for (const [endMs, hitsOfHour] of byHour) {
    expect(await shownTop(client, stream, '1h', endMs)).toEqual(topOf(hitsOfHour));
  }
  return byHour.size;
}

/** One number of the summary that `tally import` prints. */
export function told(stdout: string, name: string): number {
  const match = new RegExp(`^ +${name} +(?:shifted by )?([+-]?[\\d,]+)`, 'm').exec(stdout);
  return Number((match?.[1] ?? 'NaN').replaceAll(',', ''));
}
