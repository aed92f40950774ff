import { expect } from 'vitest';
import type { DistinctAnswer, TopAnswer } from '../../src/client/types.ts';
import type { Ledger } from './ledger.ts';
import { until } from './until.ts';

/** The largest k there is: more than the items of a load. */
const ALL_ITEMS = 500;
const WINDOW = '24h';
/** Even where a part of the store is gone, a query waits a short while for it and no longer. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Until all is folded, also after a kill that took the job queue's schedule with it. */
const FOLDED_DEADLINE_MS = 40_000;

/** Reads an answer of the default stream; throws when it is no 200. */
export async function read<Answer>(url: string, path: string): Promise<Answer> {
  const response = await fetch(url + path, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  const text = await response.text();
  if (response.status !== 200) {
    throw new Error(`${path} answered ${response.status}: ${text}`);
  }
  return JSON.parse(text) as Answer;
}

/**
 * Waits until everything acknowledged so far is folded, and then expects the ledger's exact counts
 * in one answer for all items, the total and the distinct actors, and that nothing was set aside.
 */
export async function expectExactCounts(url: string, ledger: Ledger): Promise<void> {
  const nowMs = Date.now();
  const top = await readSince<TopAnswer>(nowMs, url, `/top?window=${WINDOW}&k=${ALL_ITEMS}`);
  expect(top.items.map(({ item, count }) => ({ item, count }))).toEqual(ledger.counts.ranking());
  expect(top).toMatchObject({ total: ledger.counts.total, exact: true, maxUnlisted: 0 });
  const path = `/v1/streams/default/distinct?window=${WINDOW}`;
  const distinct = await readSince<DistinctAnswer>(nowMs, url, path);
  expect(distinct).toMatchObject({ estimate: ledger.distinctActors, exact: true });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const gauges = metrics.matchAll(/^tally_(backlog|damaged)_entries\{.*\} (\d+)$/gm);
  const values = [...gauges].map(([, , value]) => Number(value));
  expect(values.length).toBeGreaterThan(0);
  expect(values.every((value) => value === 0)).toBe(true);
}

/** An answer that counts everything acknowledged before `sinceMs`, complete and not an old one. */
async function readSince<Answer extends TopAnswer | DistinctAnswer>(
  sinceMs: number,
  url: string,
  path: string,
): Promise<Answer> {
  let answer: Answer | null = null;
  const isRead = async (): Promise<boolean> => {
    answer = await read<Answer>(url, path).catch(() => null);
    if (answer === null || answer.partial === true || answer.stale === true) return false;
    return Date.parse(answer.asOf) >= sinceMs;
  };
  await until(`${path} counts all that was acknowledged`, isRead, FOLDED_DEADLINE_MS);
  return answer as unknown as Answer;
}
