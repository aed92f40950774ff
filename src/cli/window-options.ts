import { type RequestOptions, TallyClient, type WindowQuery } from '../client/tally-client.ts';
import type { RankedBy } from '../client/types.ts';
import type { CommandContext } from './command.ts';
import { UsageError } from './usage.ts';

/** Options of every command that asks about a window. */
export const WINDOW_OPTIONS = {
  stream: { type: 'string', default: 'default' },
  window: { type: 'string' },
  until: { type: 'string' },
  period: { type: 'string' },
  tz: { type: 'string' },
  where: { type: 'string' },
  by: { type: 'string', default: 'events' },
  watch: { type: 'boolean', default: false },
  url: { type: 'string' },
} as const;

export const WINDOW_HELP = `  --stream S   (default: default)
  --window W   90m, 24h, 31d, ... (default: 1h)
  --until T    end of the window in the past: epoch ms or ISO 8601 (default: now)
  --period P   in place of --window: today, yesterday, this_week, last_month, 2026-11, ...
  --tz Z       IANA name of the zone by whose clock days begin (default: UTC)
  --where D:V  only events with the value V of the dimension D, such as country:IN
  --by B       events or actors (default: events)`;

export const COMMON_HELP = `  --watch      refresh every second until Ctrl-C
  --url URL    the server (default: TALLY_URL, else http://127.0.0.1:8080)`;

interface WindowValues {
  readonly stream: string;
  readonly window?: string | undefined;
  readonly until?: string | undefined;
  readonly period?: string | undefined;
  readonly tz?: string | undefined;
  readonly where?: string | undefined;
}

/** What was given; the server knows the defaults, and what does not go together. */
export function windowQueryOf(
  { stream, window, until, period, tz, where }: WindowValues,
  { stop }: CommandContext,
): WindowQuery & RequestOptions {
  return {
    stream,
    ...(window === undefined ? {} : { window }),
    ...(until === undefined ? {} : { until }),
    ...(period === undefined ? {} : { period }),
    ...(tz === undefined ? {} : { tz }),
    ...(where === undefined ? {} : { where }),
    signal: stop,
    attempts: 1,
  };
}

export function rankedBy(text: string): RankedBy {
  if (text === 'events' || text === 'actors') return text;
  throw new UsageError('--by takes events or actors');
}

export function clientOf(url: string | undefined, context: CommandContext): TallyClient {
  return new TallyClient({ url: url ?? context.defaultUrl(), clock: context.clock });
}
