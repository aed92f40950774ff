import { expect, test } from 'vitest';
import {
  cricketNight,
  NIGHT_STREAMS,
  TICK_MS,
  type Tick,
} from '../../src/cli/demo/cricket-night.ts';
import type { TallyEvent } from '../../src/client/types.ts';

const MINUTE_MS = 60_000;
const LENGTH_MS = 10 * MINUTE_MS;
const PEAK = 200;

function night(seed: number): Tick[] {
  return [...cricketNight(seed, LENGTH_MS, PEAK)];
}

function topOf(events: readonly TallyEvent[], stream: string): string | undefined {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.stream !== stream) continue;
    counts.set(event.item, (counts.get(event.item) ?? 0) + (event.count ?? 1));
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

test('the same seed makes the same night, another seed another one', () => {
  const [first, same, other] = [1, 1, 2].map((seed) => JSON.stringify(night(seed)));
  expect(first === same).toBe(true);
  expect(first === other).toBe(false);
});

test('the busiest minute has the rate that was asked for, and no second has more', () => {
  const ticks = night(3);
  const ticksPerSecond = 1000 / TICK_MS;
  const perSecond = Array.from({ length: ticks.length / ticksPerSecond }, (_, second) =>
    ticks
      .slice(second * ticksPerSecond, (second + 1) * ticksPerSecond)
      .reduce((sum, { events }) => sum + events.length, 0),
  );
  expect(Math.max(...perSecond)).toBe(PEAK);
  const perMinute = Array.from({ length: 10 }, (_, minute) =>
    perSecond.slice(minute * 60, minute * 60 + 60).reduce((sum, count) => sum + count, 0),
  );
  expect(Math.max(...perMinute)).toBe(60 * PEAK);
  expect(perMinute[9]).toBeLessThan(0.5 * 60 * PEAK);
});

test("the captain's photo goes viral when it is posted, and not before", () => {
  const ticks = night(4);
  const posted = ticks.findIndex(({ newPhase }) => newPhase?.includes('post 42') === true);
  const before = ticks.slice(0, posted).flatMap(({ events }) => events);
  const after = ticks.slice(posted).flatMap(({ events }) => events);
  expect(before.some(({ item }) => item === 'post:42')).toBe(false);
  expect(topOf(after, 'likes')).toBe('post:42');
  expect(topOf(after, 'views')).toBe('post:42');
});

test('what people talk about changes, and every stream that is announced gets events', () => {
  const ticks = night(5);
  const early = ticks.slice(0, ticks.length / 4).flatMap(({ events }) => events);
  const late = ticks.slice((ticks.length * 3) / 4).flatMap(({ events }) => events);
  expect(topOf(early, 'hashtags')).toBe('#CricketFinal');
  expect(topOf(late, 'hashtags')).not.toBe('#CricketFinal');
  const streams = new Set([...early, ...late].map(({ stream }) => stream));
  expect(streams).toEqual(new Set(NIGHT_STREAMS.map(({ name }) => name)));
});
