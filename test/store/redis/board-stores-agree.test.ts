import { afterAll, beforeAll, expect, test } from 'vitest';
import { memberOf } from '../../../src/boards/row-order.ts';
import type {
  Chunk,
  PartAsk,
  PartRequest,
  PartRules,
  SeasonAt,
} from '../../../src/boards/store-port.ts';
import { ManualClock } from '../../../src/lib/clock.ts';
import { Prng } from '../../../src/lib/prng.ts';
import { MemoryBoardStore } from '../../../src/store/memory/memory-board-store.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { RedisBoardStore } from '../../../src/store/redis/redis-board-store.ts';
import {
  ALL_TIME,
  batchOf,
  type BoardLimits,
  entryOf,
  type OpenBoards,
  openPartOn,
  type PartUnderTest,
  requestOf,
  ROOMY_BOARD,
} from '../../contract/board-harness.ts';
import { newTag } from '../../contract/harness.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection?.close();
  await server?.stop();
});

/** The last two have found faults. */
const SEEDS = [...Array.from({ length: 18 }, (_, index) => index + 1), 40, 57];
const STEPS = 120;
const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'é', '\u{1f600}', '1', '__proto__', 'z'];
const MAX = Number.MAX_SAFE_INTEGER;

interface Side {
  readonly source: PartUnderTest;
  readonly target: PartUnderTest;
}

interface Step {
  readonly name: string;
  readonly run: (side: Side) => Promise<unknown>;
}

/** What both stores are told to do, drawn from a seed; it keeps to the rules of moves. */
class Walk {
  readonly #prng: Prng;
  readonly #next: SeasonAt;
  readonly #calls: Step[] = [];
  readonly #moved = new Set<string>();
  #underWay: readonly string[] = [];
  #isAdmitted = false;
  #released = 0;

  constructor(prng: Prng, next: SeasonAt) {
    this.#prng = prng;
    this.#next = next;
  }

  step(): Step {
    const drawn = this.#prng.nextInt(12);
    if (drawn < 4) return this.#write();
    if (drawn < 6) return this.#read();
    if (drawn < 8) return this.#move();
    if (drawn === 8) return this.#again();
    if (drawn === 9) return this.#remembered();
    return drawn === 10 ? this.#scan() : this.#edit();
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#prng.nextInt(from.length)]!;
  }

  #chance(oneIn: number): boolean {
    return this.#prng.nextInt(oneIn) === 0;
  }

  #value(): number {
    if (this.#chance(12)) return this.#pick([MAX, -MAX, MAX - 1, 1 - MAX]);
    return this.#prng.nextInt(7) - 3;
  }

  #request(isTarget: boolean): PartRequest {
    const members = isTarget ? [...this.#moved] : MEMBERS;
    const count = members.length === 0 ? 0 : this.#prng.nextInt(5);
    const hasKey = this.#chance(4);
    const first = hasKey ? this.#prng.nextInt(10) : 0;
    const entries = Array.from({ length: count }, (_, index) => {
      const member = this.#pick(members);
      return entryOf(member, this.#value(), {
        id: this.#chance(3) ? `i${this.#prng.nextInt(60)}` : null,
        index: first + index,
        mayCreate: isTarget || !(this.#moved.has(member) || this.#chance(4)),
      });
    });
    const fingerprint = this.#chance(5) ? 'g' : 'f';
    const key = hasKey ? batchOf(`k${this.#prng.nextInt(4)}`, 15, fingerprint) : null;
    return requestOf(entries, { key, atomic: this.#chance(2) });
  }

  #write(): Step {
    const isTarget = this.#chance(4);
    const requests = Array.from({ length: 1 + this.#prng.nextInt(4) }, () =>
      this.#request(isTarget),
    );
    const isNext = this.#chance(3);
    const callId = newTag();
    const step: Step = {
      name: `write ${JSON.stringify({ isTarget, isNext, requests })}`,
      run: ({ source, target }) => {
        const part = isTarget ? target : source;
        const seasons = isNext ? [ALL_TIME, this.#next] : part.seasons;
        return part.store.write(part.at, { callId, seasons, requests });
      },
    };
    this.#calls.push(step);
    return step;
  }

  #again(): Step {
    return this.#calls.length === 0 ? this.#scan() : this.#pick(this.#calls);
  }

  #edit(): Step {
    const callId = newTag();
    const member = this.#pick(MEMBERS);
    const change = this.#chance(6)
      ? ({ kind: 'delete' } as const)
      : ({
          kind: 'change',
          isHidden: this.#pick([true, false, undefined]),
          meta: this.#pick(['{}', '{"é":1}', null, undefined]),
        } as const);
    const isTarget = this.#moved.has(member) && this.#chance(2);
    const step: Step = {
      name: `edit ${JSON.stringify({ member, change, isTarget })}`,
      run: ({ source, target }) => {
        const { store, at, seasons } = isTarget ? target : source;
        const all = [...seasons, this.#next];
        return store.edit(at, { callId, member, change, seasons: all });
      },
    };
    this.#calls.push(step);
    return step;
  }

  #read(): Step {
    const position = () => ({ key: this.#prng.nextInt(9) - 4, element: '' });
    const without = () => (this.#chance(2) ? this.#pick(MEMBERS) : null);
    const asks: PartAsk[] = [
      {
        kind: 'rows',
        from: this.#chance(3) ? null : position(),
        ...{ skip: this.#prng.nextInt(9) - 4, limit: this.#prng.nextInt(12), without: without() },
      },
      { kind: 'rows', from: null, skip: 0, limit: 99, without: null },
      { kind: 'count', before: [position(), position()], without: without() },
      { kind: 'locate', members: MEMBERS },
      { kind: 'stats', edges: [-MAX, -2, 0, 3, MAX] },
    ];
    const levels: PartAsk = { kind: 'levels', below: this.#prng.nextInt(9) - 4, limit: 3 };
    const isTarget = this.#chance(3);
    const which = this.#prng.nextInt(3);
    const admitted = isTarget || this.#chance(2) ? null : this.#released + this.#prng.nextInt(2);
    return {
      name: `read ${JSON.stringify({ asks, isTarget, which, admitted })}`,
      run: ({ source, target }) => {
        const part = isTarget ? target : source;
        const all = part.at.rules.ties === 'dense' ? [...asks, levels] : asks;
        return part.read(all, [...part.seasons, this.#next][which], admitted);
      },
    };
  }

  #remembered(): Step {
    const ids = Array.from({ length: 60 }, (_, index) => `i${index}`);
    return {
      name: 'remembered',
      run: async ({ source, target }) => {
        const answers: unknown[] = [];
        for (const part of [source, target]) {
          answers.push(await part.ids(...ids));
          for (const key of ['k0', 'k1', 'k2', 'k3']) answers.push(await part.batch(key, 15));
        }
        return answers;
      },
    };
  }

  #scan(): Step {
    return {
      name: 'scan',
      run: async ({ source, target }) => [
        ...[(await source.scanAll()).sort(), (await target.scanAll()).sort()],
      ],
    };
  }

  #move(): Step {
    if (this.#underWay.length === 0) {
      const members = MEMBERS.filter((member) => !this.#moved.has(member) && this.#chance(5));
      return {
        name: `prepare ${members.join()}`,
        run: async (side) => {
          const chunk = await this.#prepared(side, members);
          this.#underWay = chunk?.members ?? [];
          return chunk?.members.toSorted();
        },
      };
    }
    const number = this.#released + 1;
    if (!this.#isAdmitted) {
      return {
        name: `admit ${number}`,
        run: async (side) => {
          const { store, at, seasons } = side.target;
          const chunk = await this.#prepared(side, []);
          this.#isAdmitted = true;
          return store.admitChunk(at, [...seasons, this.#next], chunk!);
        },
      };
    }
    return { name: `release ${number}`, run: (side) => this.#release(side, number) };
  }

  async #prepared({ source }: Side, members: readonly string[]): Promise<Chunk | null> {
    const seasons = [...source.seasons, this.#next];
    const outcome = await source.store.prepareChunk(source.at, { seasons, members });
    if (outcome.kind !== 'prepared') throw new Error(outcome.kind);
    return outcome.chunk;
  }

  async #release({ source }: Side, number: number): Promise<unknown> {
    for (const member of this.#underWay) this.#moved.add(member);
    this.#isAdmitted = false;
    this.#underWay = [];
    this.#released = number;
    return source.store.releaseChunk(source.at, [...source.seasons, this.#next], number);
  }
}

/** Times differ, and whoever reached a score at one is told by the order of rows. */
function comparable(outcome: unknown, ties: PartRules['ties']): unknown {
  return JSON.parse(
    JSON.stringify(outcome, (name, value: unknown) => {
      if (name === 'nowMs') return undefined;
      if (name === 'element') return memberOf(value as string, ties);
      return typeof value === 'bigint' ? String(value) : value;
    }) ?? 'null',
  );
}

async function sideOf(boards: OpenBoards, rules: PartRules): Promise<Side> {
  const source = await openPartOn({ open: async () => boards }, rules);
  return { source, target: await source.sibling() };
}

test(`memory and Redis answer the same, in ${SEEDS.length} walks of ${STEPS} steps`, async () => {
  for (const seed of SEEDS) {
    const prng = new Prng(seed);
    const ties = (['earliest', 'competition', 'dense'] as const)[prng.nextInt(3)]!;
    const mode = (['increment', 'increment', 'best', 'last'] as const)[prng.nextInt(4)]!;
    const limits: BoardLimits = { ...ROOMY_BOARD };
    const [seconds] = await connection.reads.send(0, (node) => node.time());
    const clock = new ManualClock(Number(seconds) * 1_000);
    const stores = [
      new MemoryBoardStore({ ...limits, clock, tags: newTag }),
      new RedisBoardStore(connection, { ...limits, ack: null }, newTag),
    ];
    const sides: Side[] = [];
    for (const store of stores) {
      const boards = { store, nowMs: async () => clock.nowMs(), passMs: async () => {} };
      sides.push(await sideOf(boards, { mode, ties }));
    }
    const walk = new Walk(prng, { ...sides[0]!.source.season, id: 'next' });
    for (let at = 0; at < STEPS; at += 1) {
      const { name, run } = walk.step();
      const [memory, redis] = [await run(sides[0]!), await run(sides[1]!)];
      const told = `seed ${seed}, step ${at} (${mode}, ${ties}): ${name}`;
      expect(comparable(redis, ties), told).toEqual(comparable(memory, ties));
    }
  }
});
