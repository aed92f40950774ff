import { TallyClient } from '../client/tally-client.ts';
import { MINUTE_MS } from '../streams/buckets.ts';
import { type Command, type CommandContext, EXIT_OK } from './command.ts';
import { cricketNight, NIGHT_STREAMS } from './demo/cricket-night.ts';
import { grouped } from './terminal.ts';
import { expectNoPositionals, parseCommand, wholeNumber } from './usage.ts';

/** One tick is one request, and 5,000 events are well inside the server's limit. */
const RATE_MAX = 20_000;
const MINUTES_MAX = 24 * 60;
const SEED_MAX = 2 ** 32 - 1;

const OPTIONS = {
  rate: { type: 'string', default: '500' },
  minutes: { type: 'string', default: '15' },
  seed: { type: 'string', default: '42' },
  url: { type: 'string' },
} as const;

const HELP = `Usage: tally demo [options]

Sends the night of a cricket final: likes, views, hashtags and quiz points, and one photo that
goes viral. The same seed, rate and length send the same events.

  --rate N     events a second in the busiest minute, at most ${grouped(RATE_MAX)} (default: 500)
  --minutes M  how long the night is (default: 15)
  --seed S     (default: 42)
  --url URL    the server (default: TALLY_URL, else http://127.0.0.1:8080)`;

export const demoCommand: Command = {
  summary: 'send the night of a cricket final, to have something to look at',
  help: HELP,
  async run(args, context) {
    const { values, positionals } = parseCommand(args, OPTIONS);
    expectNoPositionals(positionals);
    const url = values.url ?? context.defaultUrl();
    const client = new TallyClient({ url, clock: context.clock });
    const night = {
      seed: wholeNumber('seed', values.seed, 0, SEED_MAX),
      lengthMs: wholeNumber('minutes', values.minutes, 1, MINUTES_MAX) * MINUTE_MS,
      eventsPerSecond: wholeNumber('rate', values.rate, 1, RATE_MAX),
    };
    // Says whether the server is there before anything is announced.
    await client.stream('likes', { attempts: 1, signal: context.stop });
    context.stdout.write(introduction(night, url));
    await send(night, client, context);
    return EXIT_OK;
  },
};

interface Night {
  readonly seed: number;
  readonly lengthMs: number;
  readonly eventsPerSecond: number;
}

function introduction({ seed, lengthMs, eventsPerSecond }: Night, url: string): string {
  const minutes = grouped(lengthMs / MINUTE_MS);
  const rows = NIGHT_STREAMS.map(
    ({ name, about }) => `  ${`tally top --stream ${name} --watch`.padEnd(36)} ${about}\n`,
  );
  return (
    `The night of the cricket final: ${minutes} min, ${grouped(eventsPerSecond)} events a second ` +
    `at its height, seed ${seed}. Ctrl-C ends it.\n\nLook at it from another terminal:\n` +
    `${rows.join('')}  ${url}/top?stream=hashtags&window=5m\n` +
    `  ${url}/v1/streams/likes/distinct?window=15m\n\n`
  );
}

async function send(night: Night, client: TallyClient, context: CommandContext): Promise<void> {
  const { stdout, clock, stop } = context;
  const { seed, lengthMs, eventsPerSecond } = night;
  const startMs = clock.nowMs();
  let eventCount = 0;
  for (const tick of cricketNight(seed, lengthMs, eventsPerSecond)) {
    await clock.sleep(startMs + tick.startMs - clock.nowMs(), stop);
    if (stop.aborted) break;
    if (tick.newPhase !== null) stdout.write(`${timeOf(tick.startMs)}  ${tick.newPhase}\n`);
    if (tick.events.length === 0) continue;
    // Not stopped halfway: a request is done within its tick, and then all that was told is sent.
    const { accepted, duplicate } = await client.sendEvents(tick.events);
    eventCount += accepted + duplicate;
  }
  stdout.write(`${timeOf(clock.nowMs() - startMs)}  ${grouped(eventCount)} events sent\n`);
}

/** Minutes and seconds of the night. */
function timeOf(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  const rest = String(seconds % 60).padStart(2, '0');
  return `${String(Math.floor(seconds / 60)).padStart(2)}:${rest}`;
}
