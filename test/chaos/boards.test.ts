import { afterAll, expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { type BoardLoad, startBoardLoad } from '../support/board-load.ts';
import { type BoardMoves, watchBoardMoves } from '../support/board-moves.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

/** The whole form: TALLY_BOARD_KILLS=20. */
const KILLS = Number(process.env['TALLY_BOARD_KILLS'] ?? 9);
const WRITERS = 8;
const READERS = 4;
const SIZES = [2, 4, 8, 4, 2, 1];
/** So many that a move takes longer than it takes to kill somebody in the middle of it. */
const BALLAST = 2_000 * KILLS;
/** Chunks that a move goes on by, at most, before the next kill. */
const CHUNKS_MAX = 4;
/** Requests that must get through after the kills of a move. */
const PROGRESS = 40;
const MOVE_MS = 60_000;
const TIME_LIMIT_MS = 600_000;

const cleanUps: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

async function start(cluster: RedisCluster, role: string): Promise<TallyProcess> {
  const tally = await startTallyProcess({ REDIS_URL: cluster.url, TALLY_ROLE: role });
  cleanUps.push(() => tally.kill());
  return tally;
}

/** Asks this server until it says yes; from then on it moves what is to be moved. */
async function untilTold({ url }: TallyProcess, shards: number): Promise<void> {
  await until(
    `the board moves to ${shards}`,
    async () => {
      const answer = await fetch(`${url}/v1/boards/final/shards`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ shards }),
      }).catch(() => null);
      return answer?.status === 202;
    },
    MOVE_MS,
  );
}

async function isMoving({ url }: TallyProcess): Promise<boolean> {
  const answer = await fetch(`${url}/v1/boards/final`);
  const { movingTo } = (await answer.json()) as { movingTo?: number };
  return movingTo !== undefined;
}

async function untilProgress(load: BoardLoad): Promise<void> {
  const goal = load.acknowledged + PROGRESS;
  await until('the load gets through', () => load.acknowledged >= goal, MOVE_MS);
}

interface Scene {
  readonly moves: BoardMoves;
  readonly load: BoardLoad;
  readonly prng: Prng;
  /** The server that is told to move, and dies of it. */
  readonly unlucky: TallyProcess;
  /** The server that stays. */
  readonly steady: TallyProcess;
  readonly worker: TallyProcess;
}

/**
 * One move, with so many killed while it goes on: first the server that was told, then the worker,
 * which has taken over from it, again and again. Returns how many of them died in the middle.
 */
async function moveUnderFire(scene: Scene, shards: number, kills: number): Promise<number> {
  const { moves, load, prng, unlucky, steady, worker } = scene;
  await untilTold(unlucky, shards);
  let midMove = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const goal = (await moves.chunksMoved()) + 1 + prng.nextInt(CHUNKS_MAX);
    const isThere = async (): Promise<boolean> =>
      (await moves.chunksMoved()) >= goal || !(await isMoving(steady));
    await until('the move goes on', isThere, MOVE_MS);
    const victim = kill === 0 ? unlucky : worker;
    await victim.kill();
    if (await isMoving(steady)) midMove += 1;
    if (victim === worker) await worker.start();
  }
  await untilProgress(load);
  if (kills > 0) await unlucky.start();
  await until(`the board has ${shards} parts`, async () => !(await isMoving(steady)), MOVE_MS);
  return midMove;
}

test(
  `a board splits and shrinks under fire, with ${KILLS} processes killed: nothing is lost or doubled`,
  async () => {
    const cluster = await startCluster({ primaries: 3 });
    cleanUps.push(() => cluster.stop());
    const [unlucky, steady, worker] = await Promise.all([
      start(cluster, 'api'),
      start(cluster, 'api'),
      start(cluster, 'worker'),
    ]);
    const moves = await watchBoardMoves(cluster.url);
    cleanUps.push(async () => moves.close());
    const urls = [unlucky.url, steady.url];
    const load = await startBoardLoad({
      ...{ urls, board: 'final', seed: 1 },
      ...{ writers: WRITERS, readers: READERS, ballast: BALLAST },
    });
    cleanUps.push(() => load.stop());
    await untilProgress(load);
    const scene = { moves, load, prng: new Prng(2), unlucky, steady, worker };
    let kills = 0;
    let midMove = 0;
    for (const [step, shards] of SIZES.entries()) {
      const goal = Math.round((KILLS * (step + 1)) / SIZES.length);
      midMove += await moveUnderFire(scene, shards, goal - kills);
      kills = goal;
    }
    await untilProgress(load);
    await load.stop();
    const chunks = await moves.chunksMoved();
    const seen = { kills, midMove, chunks, ...load.report() };
    console.log(`chaos of boards: ${JSON.stringify(seen)}`);
    expect(kills).toBe(KILLS);
    expect(midMove).toBeGreaterThan(KILLS / 2);
    expect(load.faults).toEqual([]);
    expect(load.reads).toBeGreaterThan(KILLS);
    expect(load.lateRetries).toBeGreaterThan(KILLS);
    for (const url of urls) expect(await load.faultAtEnd(url)).toBeNull();
  },
  TIME_LIMIT_MS,
);
