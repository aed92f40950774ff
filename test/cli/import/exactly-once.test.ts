import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CELL_EVENTS, StreamChain } from '../../../src/cli/import/chain.ts';
import type { ImportEvent } from '../../../src/cli/import/parsed-line.ts';
import { CellSender } from '../../../src/cli/import/sender.ts';
import { TallyClient } from '../../../src/client/tally-client.ts';
import { Prng } from '../../../src/lib/prng.ts';
import { compareUtf8 } from '../../../src/lib/utf8.ts';
import { HOUR_MS } from '../../../src/streams/buckets.ts';
import { HastyClock } from '../cli-here.ts';
import { ModelServer } from './model-server.ts';

interface Run {
  /** How much of the input this run sees. */
  readonly length: number;
  /** After so many events a pause: what has arrived is sent. */
  readonly pauses?: readonly number[];
  /**
   * How it ends: with the input, or by Ctrl-C, after which the rest of a pipe is sent and the rest
   * of a file is left.
   */
  readonly end?: 'input' | 'stopped pipe' | 'stopped file';
  readonly eventsPerSecond?: number | null;
  readonly shiftMs?: number | null;
  readonly label?: string;
}

/** One run of an import of these events, cells one after the other. */
async function importOnce(
  server: ModelServer,
  input: readonly ImportEvent[],
  run: Run,
): Promise<CellSender> {
  const clock = new HastyClock();
  const client = new TallyClient({
    url: 'http://model',
    fetch: server.fetch,
    clock,
    attempts: 5,
  });
  const { length, pauses = [], end = 'input', shiftMs = null, label = '' } = run;
  const never = new AbortController().signal;
  const sender = new CellSender(client, {
    shiftMs,
    eventsPerSecond: run.eventsPerSecond ?? null,
    clock,
    stop: never,
    cutOff: never,
  });
  const { generation } = await client.stream('s');
  const identity = {
    format: 'combined',
    fields: { item: null, actor: null },
    isShifted: shiftMs !== null,
    label,
  } as const;
  const chain = new StreamChain('s', generation, identity);
  const sendUnfinished = async (): Promise<void> => {
    if (chain.waitingCount > 0) chain.drop(await sender.sendUnfinished(chain.waitingCell()));
  };
  for (let index = 0; index < length; index += 1) {
    const cell = chain.add(input[index] as ImportEvent);
    if (cell !== null) await sender.send(cell);
    if (pauses.includes(index)) await sendUnfinished();
  }
  if (end === 'stopped pipe') await sendUnfinished();
  if (end === 'input' && chain.waitingCount > 0) await sender.send(chain.takeWaiting());
  return sender;
}

function timed(count: number, from = 0): ImportEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    item: `/${(from + index) % 7}`,
    actor: `a${from + index}`,
    ...(index % 3 === 0 ? { dims: { n: `${index}` } } : {}),
    atMs: 1_000_000 + (from + index) * 10,
  }));
}

function untimed(count: number): ImportEvent[] {
  return Array.from({ length: count }, (_, index) => ({ item: `/${index}` }));
}

/** Which of the input's events were counted how often, by their actor. */
function actorsOf(server: ModelServer): string[] {
  return server.counted.map(({ actor }) => String(actor));
}

function expectOnce(server: ModelServer, input: readonly ImportEvent[]): void {
  const expected = input.map(({ actor }) => actor);
  expect([...actorsOf(server)].sort(compareUtf8)).toEqual(expected.map(String).sort(compareUtf8));
}

describe('the same input again', () => {
  test('adds nothing, and says so', async () => {
    const server = new ModelServer();
    const input = timed(3_000);
    const first = await importOnce(server, input, { length: 3_000 });
    const second = await importOnce(server, input, { length: 3_000 });
    expectOnce(server, input);
    expect(first.totals).toMatchObject({ accepted: 3_000, duplicate: 0 });
    expect(second.totals).toMatchObject({ accepted: 0, duplicate: 3_000 });
  });

  test('goes in few and large requests', async () => {
    const server = new ModelServer();
    await importOnce(server, timed(3_073), { length: 3_073 });
    expect(server.batchSizes).toEqual([1, 1_024, 1_024, 1_024]);
  });

  test('after a stop at any event goes on there', async () => {
    const input = timed(2_100);
    for (const length of [0, 1, 2, 1_000, 1_024, 1_025, 1_026, 2_049, 2_050]) {
      const server = new ModelServer();
      await importOnce(server, input, { length, end: 'stopped file' });
      const second = await importOnce(server, input, { length: 2_100 });
      expectOnce(server, input);
      expect(second.totals.accepted + second.totals.duplicate).toBe(2_100);
    }
  });

  test('counts again under another label, and after the stream was deleted', async () => {
    const server = new ModelServer();
    const input = timed(10);
    await importOnce(server, input, { length: 10 });
    await importOnce(server, input, { length: 10, label: 'again' });
    server.generations.set('s', '0123456789abcdef');
    await importOnce(server, input, { length: 10 });
    await importOnce(server, input, { length: 10 });
    expect(server.counted).toHaveLength(30);
  });
});

test('whatever the stops, growth, pauses, rates and lost answers, each event counts once', async () => {
  const runs = fc.array(
    fc.record({
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      pauses: fc.array(fc.nat(399), { maxLength: 5 }),
      end: fc.constantFrom('input', 'stopped pipe', 'stopped file'),
      eventsPerSecond: fc.constantFrom(1, 20, 300, null),
    }),
    { minLength: 1, maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 400 }),
      runs,
      fc.nat(),
      async (size, plans, seed) => {
        const server = new ModelServer();
        const prng = new Prng(seed);
        const input = timed(size);
        server.losesAnswer = () => prng.chance(0.2);
        let seenCount = 0;
        for (const { share, ...run } of plans) {
          const length = Math.floor(share * size);
          // An input only grows: what ends before where an earlier run was is a stop.
          const end = run.end === 'input' && length < seenCount ? 'stopped pipe' : run.end;
          seenCount = Math.max(seenCount, length);
          // A run that gives up after five lost answers is one more way to be stopped.
          await importOnce(server, input, { ...run, end, length }).catch(() => null);
        }
        server.losesAnswer = () => false;
        await importOnce(server, input, { length: size });
        expectOnce(server, input);
      },
    ),
    { numRuns: 200 },
  );
});

describe('another input', () => {
  test('that begins alike and goes on differently is counted from its difference', async () => {
    const server = new ModelServer();
    const input = timed(5_000);
    const other = [...input.slice(0, 3_000), ...timed(2_000, 10_000)];
    await importOnce(server, input, { length: 5_000 });
    await importOnce(server, other, { length: 5_000 });
    const counted = new Set(actorsOf(server));
    for (const { actor } of [...input, ...other]) expect(counted.has(String(actor))).toBe(true);
    // The cell in which they part holds events of both, and only it is counted twice.
    const differing = 2_000 + (3_000 - (2 * CELL_EVENTS + 1));
    expect(server.counted).toHaveLength(5_000 + differing);
  });

  test('without times is told apart by its whole content', async () => {
    const server = new ModelServer();
    await importOnce(server, untimed(2), { length: 2 });
    await importOnce(server, untimed(2), { length: 2 });
    expect(server.counted).toHaveLength(2);
    await importOnce(server, [{ item: '/0' }, { item: '/other' }], { length: 2 });
    expect(server.counted.map(({ item }) => item)).toEqual(['/0', '/1', '/other']);
  });

  test('is one that differs in nothing but a dimension', async () => {
    const server = new ModelServer();
    for (const country of ['IN', 'FR', 'IN']) {
      await importOnce(server, [{ item: '/0', dims: { country } }], { length: 1 });
    }
    expect(server.counted.map(({ dims }) => dims)).toEqual([{ country: 'IN' }, { country: 'FR' }]);
  });
});

describe('--now', () => {
  const input = timed(2_500);

  test('sends every time shifted', async () => {
    const server = new ModelServer();
    await importOnce(server, input, { length: 2_500, shiftMs: 7 * HOUR_MS });
    expect(server.counted[0]?.at).toBe(1_000_000 + 7 * HOUR_MS);
    expectOnce(server, input);
  });

  test.each([1, 5, -2])(
    'goes on under the shift it was begun with, %d hours ago',
    async (hours) => {
      const server = new ModelServer();
      await importOnce(server, input, {
        length: 1_500,
        end: 'stopped file',
        shiftMs: 50 * HOUR_MS,
      });
      const shiftMs = (50 + hours) * HOUR_MS;
      const second = await importOnce(server, input, { length: 2_500, shiftMs });
      expectOnce(server, input);
      expect([...second.foundShiftMs]).toEqual([['s', 50 * HOUR_MS]]);
      const shifts = server.counted.map(({ at, actor }) => {
        return Number(at) - (1_000_000 + Number(actor?.slice(1)) * 10);
      });
      expect(new Set(shifts)).toEqual(new Set([50 * HOUR_MS]));
    },
  );

  test('refuses to guess when the clock of the first run cannot be found', async () => {
    const server = new ModelServer();
    await importOnce(server, input, { length: 10, shiftMs: 0 });
    await expect(importOnce(server, input, { length: 10, shiftMs: 100 * HOUR_MS })).rejects.toThrow(
      /--label/,
    );
    expect(server.counted).toHaveLength(10);
  });
});

test('batches that are too large for the server are sent in smaller ones', async () => {
  const server = new ModelServer();
  server.maxEventsPerRequest = 100;
  const input = timed(1_500);
  await importOnce(server, input, { length: 1_500 });
  await importOnce(server, input, { length: 1_500 });
  expectOnce(server, input);
  expect(Math.max(...server.batchSizes)).toBe(64);
});
