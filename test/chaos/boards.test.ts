import { afterAll, expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { type BoardLoad, startBoardLoad } from '../support/board-load.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

/** The whole form: TALLY_BOARD_KILLS=20. */
const KILLS = Number(process.env['TALLY_BOARD_KILLS'] ?? 6);
const WRITERS = 8;
const READERS = 4;
const SIZES = [2, 4, 8, 4, 2, 1];
/** Requests that must get through after each kill before the next one. */
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

/** Asks one of the servers until it says yes. */
async function untilTold(urls: readonly string[], shards: number): Promise<void> {
  let attempt = 0;
  await until(
    `the board moves to ${shards}`,
    async () => {
      attempt += 1;
      const answer = await fetch(`${urls[attempt % urls.length]}/v1/boards/final/shards`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ shards }),
      }).catch(() => null);
      return answer?.status === 202;
    },
    MOVE_MS,
  );
}

async function untilMoved(urls: readonly string[], shards: number): Promise<void> {
  let attempt = 0;
  await until(
    `the board has ${shards} parts`,
    async () => {
      attempt += 1;
      const url = `${urls[attempt % urls.length]}/v1/boards/final`;
      const answer = await fetch(url).catch(() => null);
      if (answer?.status !== 200) return false;
      const board = (await answer.json()) as { shards: number; movingTo?: number };
      return board.shards === shards && board.movingTo === undefined;
    },
    MOVE_MS,
  );
}

async function untilProgress(load: BoardLoad): Promise<void> {
  const goal = load.acknowledged + PROGRESS;
  await until('the load gets through', () => load.acknowledged >= goal, MOVE_MS);
}

test(
  `a board splits and shrinks under fire, with ${KILLS} processes killed: nothing is lost or doubled`,
  async () => {
    const cluster = await startCluster({ primaries: 3 });
    cleanUps.push(() => cluster.stop());
    const [unlucky, steady, mover] = await Promise.all([
      start(cluster, 'api'),
      start(cluster, 'api'),
      start(cluster, 'worker'),
    ]);
    const urls = [unlucky.url, steady.url];
    const load = await startBoardLoad({
      urls,
      board: 'final',
      writers: WRITERS,
      readers: READERS,
      seed: 1,
    });
    cleanUps.push(() => load.stop());
    await untilProgress(load);
    const prng = new Prng(2);
    let kills = 0;
    for (const [step, shards] of SIZES.entries()) {
      await untilTold(urls, shards);
      const goal = Math.round((KILLS * (step + 1)) / SIZES.length);
      for (; kills < goal; kills += 1) {
        const victim = prng.chance(0.5) ? unlucky : mover;
        await victim.kill();
        await untilProgress(load);
        await victim.start();
      }
      await untilMoved(urls, shards);
    }
    await untilProgress(load);
    await load.stop();
    console.log(`chaos of boards: ${JSON.stringify(load.report())}, ${kills} kills`);
    expect(kills).toBe(KILLS);
    expect(load.faults).toEqual([]);
    expect(load.reads).toBeGreaterThan(KILLS);
    expect(load.duplicates).toBeGreaterThan(0);
    for (const url of urls) expect(await load.faultAtEnd(url)).toBeNull();
  },
  TIME_LIMIT_MS,
);
