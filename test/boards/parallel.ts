/** A command of many things at once: posts and reads by two processes, while both move members. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { PageAnswer } from '../../src/boards/answers.ts';
import { type BoardCommand, commandOf, inUnit, move, send, settleTies } from './commands.ts';
import { ALL_TIME_START, type BoardModel, type ModelPost } from './model.ts';
import { boardsOf, type RealBoard } from './real-board.ts';

const SHARDS_MAX = 8;
/** So far from the ends of the safe integers that no sum of a test leads there. */
const FAR_INSIDE = 2 ** 50;
const READS = 6;

const posts = fc.array(
  fc.array(
    fc.record({
      member: fc.nat(60),
      value: fc.integer({ min: 1, max: 5 }),
      id: fc.constant(undefined),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  { minLength: 3, maxLength: 8 },
);

/** Rows that are in order, of each member one, with the ranks that their scores have. */
function expectWhole({ entries, of }: PageAnswer, model: BoardModel): void {
  const { order, ties, decimals } = model.settings;
  expect(entries.length).toBe(of);
  expect(new Set(entries.map(({ member }) => member)).size).toBe(of);
  const sign = order === 'ascending' ? 1 : -1;
  const sorted = entries.map(({ score }) => score).sort((a, b) => sign * (a - b));
  expect(entries.map(({ score }) => score)).toEqual(sorted);
  // Of scores of decimals that are so large different ones may be the same number.
  const areTold = decimals === 0 || sorted.every((score) => Math.abs(score) < FAR_INSIDE / 100);
  if (!areTold) return;
  const levels = [...new Set(sorted)];
  const ranks = {
    earliest: (index: number) => index + 1,
    competition: (index: number) => sorted.indexOf(sorted[index]!) + 1,
    dense: (index: number) => levels.indexOf(sorted[index]!) + 1,
  };
  expect(entries.map(({ rank }) => rank)).toEqual(sorted.map((_, index) => ranks[ties](index)));
}

async function readWhole(model: BoardModel, real: RealBoard, room: number): Promise<number> {
  const asked = { view: 'all', season: null, offset: 0, k: 1_000, cursor: null };
  const page = await boardsOf(real, room).page(real.name, asked);
  expectWhole(page, model);
  return page.of;
}

/** Reads one after the other: nobody leaves, so they become more and never fewer. */
async function readOn(model: BoardModel, real: RealBoard, room: number): Promise<number[]> {
  const sizes: number[] = [];
  for (let read = 0; read < READS; read += 1) sizes.push(await readWhole(model, real, room));
  return sizes;
}

/** Begins a move, or carries one on, with nobody waiting for it. */
function moves(model: BoardModel, real: RealBoard, isGrowing: boolean): Promise<unknown>[] {
  const [first, second] = real.rooms;
  const target = isGrowing ? 2 * model.shards : model.shards / 2;
  if (model.movingTo !== null) return [first.mover.run(real.name), second.mover.run(real.name)];
  if (target < 1 || target > SHARDS_MAX) return [];
  model.movingTo = target;
  model.hasMoved = true;
  const begun = first.boards.setShards(real.name, target);
  return [begun, begun.then(() => second.mover.run(real.name))];
}

export const inParallel: fc.Arbitrary<BoardCommand> = commandOf(
  'in parallel',
  fc.record({ posts, isGrowing: fc.boolean() }),
  async (model, real, { posts: lists, isGrowing }) => {
    const sent: ModelPost[] = lists.map((list) => {
      const near = list.map((one) => ({ ...one, member: `crowd ${one.member}` }));
      const few = near.filter(({ member }) => {
        return Math.abs(model.rowOf(ALL_TIME_START, member)?.scaled ?? 0) < FAR_INSIDE;
      });
      return { entries: inUnit(model, few), key: null };
    });
    const before = model.rows(ALL_TIME_START).length;
    const running = moves(model, real, isGrowing);
    const reads = Promise.all([readOn(model, real, 0), readOn(model, real, 1)]);
    const writes = sent.map((post, index) => send(model, real, post, index, false));
    const [seen] = await Promise.all([reads, ...running, ...writes]);
    model.applyTogether(sent, real.clock.nowMs());
    const after = model.rows(ALL_TIME_START).length;
    for (const sizes of seen) {
      expect([before, ...sizes, after]).toEqual(
        [before, ...sizes, after].toSorted((a, b) => a - b),
      );
    }
    await real.rooms[0].registry.reread(real.name);
    if (model.movingTo !== null) await move(model, real, { steps: null, isAnswerLost: false });
    await settleTies(model, real, model.readableSeasons(real.clock.nowMs()).slice(0, 2));
  },
  // Whose score was the last one cannot be said.
  (model) => model.settings.mode !== 'last',
);
