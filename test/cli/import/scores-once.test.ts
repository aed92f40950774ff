import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BadLine, InputError } from '../../../src/cli/import/parsed-line.ts';
import { ScoreSender } from '../../../src/cli/import/score-sender.ts';
import type { ScoreIncrement } from '../../../src/client/board-types.ts';
import { TallyClient } from '../../../src/client/tally-client.ts';
import { TallyError } from '../../../src/client/tally-error.ts';
import { HastyClock } from '../cli-here.ts';

/** A board of whole numbers that knows keys as the API does, and loses answers when told. */
class ModelBoard {
  readonly counted = new Map<string, number>();
  readonly #bodies = new Map<string, string>();
  losesAnswer: () => boolean = () => false;
  requestCount = 0;

  readonly fetch = (_url: unknown, init?: RequestInit): Promise<Response> => {
    this.requestCount += 1;
    const body = init?.body as string;
    const key = new Headers(init?.headers).get('idempotency-key')!;
    const increments = JSON.parse(body) as ScoreIncrement[];
    const index = increments.findIndex(({ by }) => !Number.isInteger(by));
    if (index !== -1) return answer(400, { code: 'invalid_score', detail: 'no whole', index });
    const known = this.#bodies.get(key);
    if (known !== undefined && known !== body) return answer(422, { code: 'key_reused' });
    this.#bodies.set(key, body);
    for (const { member } of known === undefined ? increments : []) {
      this.counted.set(member, (this.counted.get(member) ?? 0) + 1);
    }
    if (this.losesAnswer()) return Promise.reject(new TypeError('lost'));
    const isKnown = known !== undefined;
    const results = increments.map(({ member }) => ({
      member,
      ...(isKnown && { duplicate: true }),
    }));
    return answer(200, { results });
  };
}

function answer(status: number, body: object): Promise<Response> {
  return Promise.resolve(Response.json(body, { status }));
}

interface Run {
  /** Lines that the input has by then. */
  readonly length: number;
  /** After so many lines a pause: what has arrived is sent. */
  readonly pauses?: readonly number[];
  /** With the input, or by Ctrl-C: the rest of a pipe is sent, the rest of a file is left. */
  readonly end?: 'input' | 'stopped pipe' | 'stopped file';
  readonly label?: string;
}

/** Some lines have what the board refuses. */
function lineOf(index: number): ScoreIncrement {
  return { member: `m${index}`, by: index % 97 === 6 ? 0.5 : index };
}

async function importOnce(board: ModelBoard, run: Run) {
  const { length, pauses = [], end = 'input', label = '' } = run;
  const client = new TallyClient({
    ...{ url: 'http://model', fetch: board.fetch as typeof fetch, clock: new HastyClock() },
  });
  const badLines: BadLine[] = [];
  const sender = new ScoreSender(client.board('b'), label, {
    signal: new AbortController().signal,
    onBadLine: (line) => badLines.push(line),
  });
  for (let index = 0; index < length; index += 1) {
    await sender.add({ line: index + 1, increment: lineOf(index) });
    if (pauses.includes(index)) await sender.sendUnfinished();
  }
  if (end === 'input') await sender.end();
  if (end === 'stopped pipe') await sender.sendUnfinished();
  return { sender, badLines };
}

function expectOnce(board: ModelBoard, length: number): void {
  const lines = Array.from({ length }, (_, index) => lineOf(index));
  const good = lines.filter(({ by }) => Number.isInteger(by));
  expect([...board.counted.values()].every((count) => count === 1)).toBe(true);
  expect([...board.counted.keys()].sort()).toEqual(good.map(({ member }) => member).sort());
}

test('whatever the stops, growth, pauses and lost answers, each line counts once', async () => {
  const runs = fc.array(
    fc.record({
      length: fc.nat(1_300),
      pauses: fc.array(fc.nat(1_299), { maxLength: 5 }),
      end: fc.constantFrom('input', 'stopped pipe', 'stopped file' as const),
    }),
    { maxLength: 4 },
  );
  const lost = fc.infiniteStream(fc.integer({ min: 0, max: 4 }));
  await fc.assert(
    fc.asyncProperty(runs, lost, async (some, losses) => {
      const board = new ModelBoard();
      board.losesAnswer = () => losses.next().value === 0;
      // An input grows; and a run that gives up on a server is one more way to be stopped.
      for (const run of [...some].sort((a, b) => a.length - b.length)) {
        await importOnce(board, run).catch((error: unknown) => {
          expect(error).toBeInstanceOf(TallyError);
        });
      }
      board.losesAnswer = () => false;
      const { sender } = await importOnce(board, { length: 1_300 });
      expectOnce(board, 1_300);
      expect(sender.waitingCount).toBe(0);
      expect(sender.totals.applied + sender.totals.duplicate).toBe(board.counted.size);
    }),
    { numRuns: 40 },
  );
});

test('a line that the board refuses is told by its number, and the others are sent', async () => {
  const board = new ModelBoard();
  const { badLines, sender } = await importOnce(board, { length: 105 });
  expect(badLines).toEqual([
    { line: 7, problem: 'no whole', excerpt: '{"member":"m6","by":0.5}' },
    { line: 104, problem: 'no whole', excerpt: '{"member":"m103","by":0.5}' },
  ]);
  expect(sender.totals).toEqual({ applied: 103, duplicate: 0, outOfRange: 0 });
});

test('a pipe that comes again leaves what an earlier, larger batch may hold', async () => {
  const board = new ModelBoard();
  await importOnce(board, { length: 500 });
  const { sender } = await importOnce(board, { length: 3, end: 'stopped pipe' });
  expect(sender.waitingCount).toBe(3);
  expectOnce(board, 500);
});

test('another file that begins like one that was imported is refused, or has its label', async () => {
  const board = new ModelBoard();
  await importOnce(board, { length: 500 });
  await expect(importOnce(board, { length: 3 })).rejects.toThrow(InputError);
  expectOnce(board, 500);
  await importOnce(board, { length: 3, label: 'other' });
  expect(board.counted.get('m1')).toBe(2);
});

test('a file that was imported is known by as many requests as it took', async () => {
  const board = new ModelBoard();
  await importOnce(board, { length: 1_300 });
  const { requestCount } = board;
  await importOnce(board, { length: 1_300 });
  expect(board.requestCount).toBe(2 * requestCount);
});
