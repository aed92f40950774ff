/** What a model of a board and a real one are told, and asked, side by side. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { StoreUnavailableError, OutcomeUnknownError } from '../../src/lib/store-errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { MEMBERS } from './members.ts';
import { ALL_TIME_START, type BoardModel, type ModelEntry, type ModelPost } from './model.ts';
import { boardsOf, type RealBoard, refusalOf } from './real-board.ts';
import { type Asked, checkDescription, SeasonReading } from './reads.ts';

export type BoardCommand = fc.AsyncCommand<BoardModel, RealBoard>;

const { MAX_SAFE_INTEGER } = Number;
const SHARDS_MAX = 8;
const AT_ONCE_MAX = 5;

/** A command of one kind; its text is what fast-check prints of a counterexample. */
export function commandOf<Fields>(
  name: string,
  fields: fc.Arbitrary<Fields>,
  run: (model: BoardModel, real: RealBoard, fields: Fields) => Promise<void>,
  check: (model: Readonly<BoardModel>, fields: Fields) => boolean = () => true,
): fc.Arbitrary<BoardCommand> {
  return fields.map((chosen) => ({
    check: (model) => check(model, chosen),
    run: async (model, real) => {
      real.counts.commands += 1;
      await run(model, real, chosen);
    },
    toString: () => `${name}(${JSON.stringify(chosen)})`,
  }));
}

const room = fc.nat(1);
const member = fc.constantFrom(...MEMBERS);
/** Some names are met again and again. */
const someMember = fc.oneof(fc.constantFrom(...MEMBERS.slice(0, 8)), member);
const id = fc.option(
  fc.nat(20).map((number) => `id ${number}`),
  { nil: undefined },
);
const extremes = [0, 1, 2, 2 ** 52].flatMap((less) => [
  MAX_SAFE_INTEGER - less,
  less - MAX_SAFE_INTEGER,
]);
/** Scaled scores. */
const value = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -3, max: 6 }) },
  { weight: 3, arbitrary: fc.integer({ min: -1_000, max: 1_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(...extremes) },
);
const entry = fc.record({ member: someMember, value, id });
const entries = fc.oneof(
  fc.array(entry, { minLength: 1, maxLength: 20 }),
  fc.array(entry, { minLength: 1, maxLength: 2 }),
);
const body = fc.nat(99_999).map((number) => `body ${number}`.padEnd(22, '-'));
const batchKey = fc.option(
  fc.record({ key: fc.nat(99_999).map((number) => `key ${number} {}%`), fingerprint: body }),
  { freq: 2, nil: null },
);

const asked: fc.Arbitrary<Asked> = fc.record({
  back: fc.oneof(fc.constant(0), fc.nat(6)),
  isById: fc.boolean(),
  room,
});

/** There every post has one order. The second process may not know yet that a move is over. */
function isOnePart({ shards, movingTo, hasMoved }: BoardModel, at: number): boolean {
  return shards === 1 && movingTo === null && (!hasMoved || at % 2 === 0);
}

/** Entries with scores in the unit of the board. */
export function inUnit(model: BoardModel, list: readonly ModelEntry[]): ModelEntry[] {
  return list.map((one) => ({ ...one, value: model.scoreOf(one.value) }));
}

export function send(
  model: BoardModel,
  real: RealBoard,
  post: ModelPost,
  at: number,
  withRanks: boolean,
) {
  const field = model.settings.mode === 'increment' ? 'by' : 'score';
  return boardsOf(real, at).post(real.name, {
    ...{ key: post.key, withRanks },
    entries: post.entries.map(({ member: name, value: score, id: ofEntry }) => {
      return { member: name, [field]: score, id: ofEntry };
    }),
  });
}

/**
 * Whether a post with an entry out of range may be refused as a whole, and whether that entry alone
 * may be left out. A move that is announced and has not begun has changed nothing yet; all entries
 * of a post over several parts may be of one of them; and parts of the past may have known some.
 */
function waysOut(model: BoardModel, { key }: ModelPost, at: number, areSomeKnown: boolean) {
  const isMoving = model.movingTo !== null;
  const mayBeWhole = key === null || !model.hasMoved || isMoving;
  const mayBeSplit = !isOnePart(model, at) || !mayBeWhole || (model.hasMoved && areSomeKnown);
  return { mayBeWhole, mayBeSplit };
}

/** Posts, and compares what became of every entry. */
async function runPost(
  model: BoardModel,
  real: RealBoard,
  post: ModelPost,
  { at, withRanks }: { at: number; withRanks: boolean },
): Promise<void> {
  const plan = model.plan(post, real.clock.nowMs());
  const sent = send(model, real, post, at, withRanks);
  const wholeRefusal = `out_of_range ${plan.fates.indexOf('out_of_range')}`;
  if (plan.refusal !== null) {
    const { code, index } = plan.refusal;
    expect(await refusalOf(sent)).toBe(index === null ? code : `${code} ${index}`);
    return;
  }
  if (plan.fates.includes('out_of_range')) {
    const { mayBeWhole, mayBeSplit } = waysOut(model, post, at, plan.fates.includes('duplicate'));
    const refusal = await refusalOf(sent);
    const expected = [mayBeWhole ? wholeRefusal : [], mayBeSplit ? 'not refused' : []].flat();
    expect(expected).toContain(refusal);
    if (refusal !== 'not refused') return;
  }
  const { results } = await sent;
  plan.apply();
  if (!isOnePart(model, at)) {
    await settleTies(model, real, model.readableSeasons(real.clock.nowMs()).slice(0, 2));
  }
  expect(results).toEqual(
    post.entries.map(({ member: name }, index) => {
      const row = model.rowOf(ALL_TIME_START, name);
      return {
        ...{ member: name, score: row === null ? null : model.scoreOf(row.scaled) },
        ...{ isDuplicate: plan.fates[index] === 'duplicate' },
        isOutOfRange: plan.fates[index] === 'out_of_range',
        ...(withRanks ? { rank: model.rankOf(ALL_TIME_START, name) } : {}),
      };
    }),
  );
}

/** Learns which entries came first, where nobody could say before. */
export async function settleTies(
  model: BoardModel,
  real: RealBoard,
  starts: readonly number[],
): Promise<void> {
  if (model.settings.ties !== 'earliest') return;
  const readable = model.readableSeasons(real.clock.nowMs());
  for (const start of starts) {
    const back = readable.indexOf(start);
    const reading = new SeasonReading(model, real, { back, isById: false, room: 0 });
    const page = await reading.page({ offset: 0, k: model.members.size + 1 });
    const seen = page.entries.map((row) => row.member);
    model.adoptTies(start, seen);
    expect(seen).toEqual(model.rows(start).map((row) => row.member));
  }
}

const posting = commandOf(
  'post',
  fc.record({ entries, key: batchKey, room, withRanks: fc.boolean() }),
  async (model, real, { entries: list, key, room: at, withRanks }) => {
    const post = { entries: inUnit(model, list), key };
    model.posts.push(post);
    await runPost(model, real, post, { at, withRanks });
  },
);

/** Many members, so that places have to be looked for. */
const crowd = commandOf(
  'crowd',
  fc.record({
    count: fc.oneof(fc.integer({ min: 5, max: 30 }), fc.integer({ min: 50, max: 250 })),
    levels: fc.integer({ min: 1, max: 90 }),
  }),
  async (model, real, { count, levels }) => {
    const list = Array.from({ length: count }, (_, index) => {
      return { member: `crowd ${index}`, value: (index * 37) % levels, id: undefined };
    });
    await runPost(
      model,
      real,
      { entries: inUnit(model, list), key: null },
      {
        ...{ at: 0, withRanks: false },
      },
    );
  },
);

/** Whatever has an id, or a place in a batch of a key, was applied once and is not again. */
const retry = commandOf(
  'retry',
  fc.record({
    // From the last one back.
    which: fc.oneof(fc.nat(3), fc.nat(99)),
    ...{ room, isOtherBody: fc.nat(3).map((number) => number === 0) },
  }),
  async (model, real, { which, room: at, isOtherBody }) => {
    const post = model.posts.at(-1 - (which % model.posts.length))!;
    const fingerprint = 'another body'.padEnd(22, '-');
    const isReused = isOtherBody && post.key !== null;
    // A body of members whose parts may not have seen the key yet.
    const { entries: others } = model.posts[(which + 1) % model.posts.length]!;
    const again = isReused ? { entries: others, key: { ...post.key, fingerprint } } : post;
    await runPost(model, real, again, { at, withRanks: false });
  },
  (model) => model.posts.length > 0,
);

/** What waits travels together: requests of one call, of which each holds or does not. */
const atOnce = commandOf(
  'at once',
  fc.array(fc.array(entry, { minLength: 1, maxLength: 4 }), {
    minLength: 3,
    maxLength: AT_ONCE_MAX,
  }),
  async (model, real, lists) => {
    const posts = lists.map((list) => {
      const raised = list.map((one) => ({ ...one, value: Math.abs(one.value) }));
      return { entries: inUnit(model, raised), key: null };
    });
    const sent = posts.map((post) => send(model, real, post, 0, false));
    const answers = await Promise.allSettled(sent);
    for (const [index, post] of posts.entries()) {
      const plan = model.plan(post, real.clock.nowMs());
      const answer = answers[index]!;
      if (plan.refusal !== null || plan.fates.includes('out_of_range')) {
        expect(answer.status).toBe('rejected');
        continue;
      }
      plan.apply();
      if (answer.status === 'rejected') throw answer.reason;
      const duplicates = plan.fates.map((fate) => fate === 'duplicate');
      expect(answer.value.results.map(({ isDuplicate }) => isDuplicate)).toEqual(duplicates);
    }
  },
  // A score that goes and comes back within one call is as if it had never gone.
  (model) => model.isSingle && model.settings.mode !== 'last',
);

const change = commandOf(
  'change',
  fc.record({
    ...{ member: someMember, room },
    isHidden: fc.option(fc.boolean(), { nil: undefined }),
    meta: fc.option(fc.option(fc.json({ maxDepth: 1 }), { nil: null }), { nil: undefined }),
  }),
  async (model, real, { member: name, room: at, isHidden, meta }) => {
    const sent = boardsOf(real, at).changeMember(real.name, name, { isHidden, meta });
    if (!model.members.has(name)) {
      expect(await refusalOf(sent)).toBe('member_not_found');
      return;
    }
    await sent;
    const isShown = isHidden === false && model.members.get(name)!.isHidden;
    model.changeMember(name, {
      ...(isHidden === undefined ? {} : { isHidden }),
      ...(meta === undefined ? {} : { meta }),
    });
    if (!isShown || model.isSingle) return;
    // Where it stands among those that it is tied with was not to be seen before.
    model.cursors.length = 0;
    await settleTies(model, real, model.readableSeasons(real.clock.nowMs()));
  },
);

const removeMember = commandOf(
  'remove member',
  fc.record({ member: someMember, room }),
  async (model, real, { member: name, room: at }) => {
    const sent = boardsOf(real, at).removeMember(real.name, name);
    if (model.members.has(name)) await sent;
    else expect(await refusalOf(sent)).toBe('member_not_found');
    model.removeMember(name, real.clock.nowMs());
  },
);

/** Lets the mover take so many steps, of which the last one's answer may be lost. */
export async function move(
  model: BoardModel,
  real: RealBoard,
  { steps, isAnswerLost }: { steps: number | null; isAnswerLost: boolean },
  begin: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const { store, rooms, name } = real;
  store.stepsLeft = steps ?? Number.POSITIVE_INFINITY;
  store.isAnswerLost = isAnswerLost;
  await begin();
  try {
    await rooms[0].mover.run(name);
  } catch (error) {
    const isCut = error instanceof StoreUnavailableError || error instanceof OutcomeUnknownError;
    if (steps === null || !isCut) throw error;
  }
  store.stepsLeft = Number.POSITIVE_INFINITY;
  const { shards } = await rooms[0].boards.describe(name);
  expect([model.shards, model.movingTo]).toContain(shards);
  if (shards === model.movingTo) {
    model.shards = shards;
    model.movingTo = null;
  }
  if (steps === null) expect(model.movingTo).toBeNull();
  await checkDescription(model, real);
}

const pace = fc.record({
  steps: fc.option(fc.nat(30), { freq: 3, nil: null }),
  isAnswerLost: fc.boolean(),
});

const setShards = commandOf(
  'set shards',
  fc.record({ pace, isGrowing: fc.nat(2).map((number) => number > 0) }),
  async (model, real, { pace: chosen, isGrowing }) => {
    const { boards } = real.rooms[0];
    const target = isGrowing ? 2 * model.shards : model.shards / 2;
    if (model.movingTo !== null) {
      expect(await refusalOf(boards.setShards(real.name, target))).toBe('move_under_way');
      return;
    }
    model.movingTo = target;
    model.hasMoved = true;
    await move(model, real, chosen, () => boards.setShards(real.name, target));
  },
  ({ shards }, { isGrowing }) => (isGrowing ? shards < SHARDS_MAX : shards > 1),
);

const wrongShards = commandOf(
  'wrong shards',
  fc.constantFrom(0, 3, 0.5, -1, 512, 5, 32),
  async (model, real, count) => {
    const refusal = await refusalOf(real.rooms[0].boards.setShards(real.name, count));
    const isMoving = model.movingTo !== null && count === 32;
    expect(refusal).toBe(isMoving ? 'move_under_way' : 'invalid_shards');
  },
);

const goOn = commandOf('go on moving', pace, move, ({ movingTo }) => movingTo !== null);

const upkeep = commandOf('upkeep', fc.constant(null), async (model, real) => {
  await real.rooms[1].upkeep.run();
  await move(model, real, { steps: null, isAnswerLost: false });
});

const remakeNow = async (model: BoardModel, real: RealBoard): Promise<void> => {
  const { boards } = real.rooms[0];
  expect(await boards.remove(real.name)).toBe(true);
  expect(await boards.remove(real.name)).toBe(false);
  const season = { view: 'all', season: null };
  for (const one of real.rooms) {
    const page = { ...season, k: 1, offset: 0, cursor: null };
    expect(await refusalOf(one.boards.page(real.name, page))).toBe('board_not_found');
    expect(await refusalOf(one.boards.member(real.name, 'a', season))).toBe('board_not_found');
  }
  expect((await boards.put(real.name, model.settings)).isNew).toBe(true);
  model.clear(real.clock.nowMs());
  await checkDescription(model, real);
};

/** One of some, since it ends what has grown until then. */
const remake = commandOf('remake', fc.nat(3), remakeNow, (_, number) => number === 0);

const passTime = commandOf(
  'pass time',
  fc.oneof(fc.nat(2_000), fc.integer({ min: 1, max: 3 * HOUR_MS }), fc.constant(20 * MINUTE_MS)),
  async (model, real, ms) => {
    real.advanceMs?.(ms);
    await checkDescription(model, real);
  },
);

function reading<Fields>(
  name: string,
  fields: fc.Arbitrary<Fields>,
  check: (season: SeasonReading, fields: Fields) => Promise<void>,
): fc.Arbitrary<BoardCommand> {
  return commandOf(name, fc.record({ asked, fields }), async (model, real, chosen) => {
    await check(new SeasonReading(model, real, chosen.asked), chosen.fields);
  });
}

const offset = fc.oneof(fc.nat(20), fc.nat(400));
const size = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 500 }));
const seenMember = fc.oneof(
  someMember,
  fc.nat(260).map((number) => `crowd ${number}`),
);

const reads = [
  reading('page', fc.record({ offset, k: size }), (season, page) =>
    season.checkPage(page.offset, page.k),
  ),
  reading('walk', size, (season, k) => season.checkWalk(k)),
  reading('member', seenMember, (season, name) => season.checkMember(name)),
  reading('around', fc.record({ name: seenMember, n: size }), (season, { name, n }) =>
    season.checkAround(name, n),
  ),
  reading('ranks', fc.uniqueArray(seenMember, { maxLength: 30 }), (season, names) =>
    season.checkRanks(names),
  ),
  reading('stats', fc.integer({ min: 1, max: 50 }), (season, buckets) =>
    season.checkStats(buckets),
  ),
  commandOf(
    'old cursor',
    fc.record({ which: fc.nat(), isAfter: fc.boolean(), k: size, room }),
    async (model, real, { which, isAfter, k, room: at }) => {
      const kept = model.cursors[which % model.cursors.length]!;
      const cursor = isAfter ? kept.after : kept.before;
      const back = model.readableSeasons(real.clock.nowMs()).indexOf(kept.start);
      if (back === -1) {
        const page = { view: 'all', season: null, k, offset: 0, cursor };
        const sent = boardsOf(real, at).page(real.name, page);
        expect(await refusalOf(sent)).toBe('season_not_found');
        return;
      }
      const season = new SeasonReading(model, real, { back, isById: true, room: at });
      await season.checkOldCursor(isAfter ? kept.last : kept.first, cursor, isAfter, k);
    },
    (model) => model.cursors.length > 0,
  ),
];

/** Several of a kind make it as many times as likely. */
export const boardCommands: readonly fc.Arbitrary<BoardCommand>[] = [
  ...[posting, posting, posting, posting, crowd, crowd, retry, retry, retry, atOnce],
  ...[change, change, removeMember, setShards, setShards, goOn, goOn, wrongShards],
  ...[upkeep, passTime, remake, ...reads, ...reads],
];
