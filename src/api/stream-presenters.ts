/** From what is kept about streams to the API's JSON. */
import type { z } from 'zod';
import type { StreamList } from '../streams/answers.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../streams/buckets.ts';
import type { ItemList } from '../streams/moderation.ts';
import type { StreamProfile } from '../streams/registry.ts';
import { isoTime, presentMissing } from './presenters.ts';
import type {
  moderationAudit,
  moderationLists,
  moderationSizes,
  streamInfo,
  streamList,
} from './stream-schemas.ts';

export function presentStreamList(list: StreamList): z.input<typeof streamList> {
  return {
    streams: list.streams.map(({ stream }) => ({ stream })),
    next: list.next,
    ...presentMissing(list.missing),
  };
}

export function presentStream(
  stream: string,
  generation: string,
  profile: StreamProfile,
): z.input<typeof streamInfo> {
  const { dimensions, retention, ...settings } = profile.settings;
  return {
    stream,
    generation,
    settings: {
      ...settings,
      dimensions: dimensions.map(({ name, values, maxValues }) => ({
        name,
        values: values === null ? null : [...values],
        maxValues,
      })),
      retention: {
        minute: durationText(retention.minute),
        hour: durationText(retention.hour),
        day: durationText(retention.day),
      },
    },
    dimensions: dimensions.map(({ name }) => {
      const sinceMs = profile.sinceMs(name);
      const since = sinceMs === null ? null : isoTime(sinceMs);
      return { name, since, values: profile.valuesOf(name) };
    }),
  };
}

export function presentLists(
  stream: string,
  { settings: { mode }, moderation: { blocked, allowed } }: StreamProfile,
): z.input<typeof moderationLists> {
  return { stream, mode, blocked: copied(blocked), allowed: copied(allowed) };
}

export function presentSizes(
  stream: string,
  { settings: { mode }, moderation: { blocked, allowed } }: StreamProfile,
): z.input<typeof moderationSizes> {
  return { stream, mode, blocked: sizesOf(blocked), allowed: sizesOf(allowed) };
}

/** The newest entries, and of those the newest first. */
export function presentAudit(
  stream: string,
  { moderation: { audit } }: StreamProfile,
  limit: number,
): z.input<typeof moderationAudit> {
  const newest = audit.slice(-limit).toReversed();
  return {
    stream,
    entries: newest.map(({ atMs, by, action, item, prefix, reason }) => ({
      at: isoTime(atMs),
      by,
      action,
      ...(item === undefined ? {} : { item }),
      ...(prefix === undefined ? {} : { prefix }),
      ...(reason === undefined ? {} : { reason }),
    })),
  };
}

function copied({ items, prefixes }: ItemList) {
  return { items: [...items], prefixes: [...prefixes] };
}

function sizesOf({ items, prefixes }: ItemList) {
  return { items: items.length, prefixes: prefixes.length };
}

/** In the largest unit that gives a whole number, hours up to two days: `25h`, `32d`. */
function durationText(ms: number): string {
  if (ms % DAY_MS === 0 && ms > 2 * DAY_MS) return `${ms / DAY_MS}d`;
  return ms % HOUR_MS === 0 ? `${ms / HOUR_MS}h` : `${ms / MINUTE_MS}m`;
}
