/** How close HyperLogLog comes to the number of different actors, over many sets of ids. */
import { Redis } from 'ioredis';
import { Prng } from '../../src/lib/prng.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { CLOSED_SHAPE, Summary } from '../../src/sketches/summary.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { drawRegisters } from '../../test/support/draw-registers.ts';

export interface DistinctFigures {
  readonly size: number;
  readonly setCount: number;
  /** Whether ids were really hashed, or the registers drawn from their exact distribution. */
  readonly isHashed: boolean;
  /** Relative root mean square error of the registers' estimate. */
  readonly rmsError: number;
  readonly maxError: number;
  /** The same of the answer that a summary gives: 0 while it is exact. Null where not hashed. */
  readonly answerRmsError: number | null;
  readonly exactAnswers: number;
}

export interface RedisFigures {
  readonly size: number;
  readonly setCount: number;
  readonly rmsError: number;
}

const PFADD_ELEMENTS_MAX = 1_000;
const EVENTS_PER_ACTOR = 3;

/** Every set is the same ids under a hash key of its own. */
export function measureHashed(size: number, setCount: number): DistinctFigures {
  const prng = new Prng(size);
  const ids = Array.from({ length: size }, (_, index) => `visitor-${index}`);
  const errors: number[] = [];
  const answerErrors: number[] = [];
  let exactAnswers = 0;
  for (let set = 0; set < setCount; set += 1) {
    const hash = new KeyedHash({ k0: prng.nextUint32(), k1: prng.nextUint32() });
    const registers = new HyperLogLog();
    const summary = new Summary({ hash, shape: CLOSED_SHAPE });
    // Several events an actor, or an estimate above the number of events would be cut off.
    summary.add('page', (EVENTS_PER_ACTOR - 1) * size, null);
    for (const id of ids) {
      hash.hashString(id);
      registers.addHash(hash.lo, hash.hi);
      summary.add('page', 1, hash);
    }
    errors.push(registers.estimate() / size - 1);
    const answer = new SummaryView([summary], hash).distinct();
    answerErrors.push(answer.estimate / size - 1);
    if (answer.exact) exactAnswers += 1;
  }
  return {
    size,
    setCount,
    isHashed: true,
    rmsError: rms(errors),
    maxError: largest(errors),
    answerRmsError: rms(answerErrors),
    exactAnswers,
  };
}

export function measureDrawn(size: number, setCount: number): DistinctFigures {
  const prng = new Prng(size);
  const errors = Array.from(
    { length: setCount },
    () => drawRegisters(size, prng).estimate() / size - 1,
  );
  return {
    size,
    setCount,
    isHashed: false,
    rmsError: rms(errors),
    maxError: largest(errors),
    answerRmsError: null,
    exactAnswers: 0,
  };
}

/** The same with Redis's own hash and sketch: every set has ids of its own. */
export async function measureRedis(
  socketPath: string,
  size: number,
  setCount: number,
): Promise<RedisFigures> {
  const redis = new Redis({ path: socketPath });
  try {
    const errors: number[] = [];
    for (let set = 0; set < setCount; set += 1) {
      await redis.del('set');
      for (let start = 0; start < size; start += PFADD_ELEMENTS_MAX) {
        const length = Math.min(PFADD_ELEMENTS_MAX, size - start);
        await redis.pfadd(
          'set',
          ...Array.from({ length }, (_, index) => `${set}:${start + index}`),
        );
      }
      errors.push((await redis.pfcount('set')) / size - 1);
    }
    return { size, setCount, rmsError: rms(errors) };
  } finally {
    await redis.quit();
  }
}

function rms(errors: readonly number[]): number {
  return Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);
}

function largest(errors: readonly number[]): number {
  return errors.reduce((most, error) => Math.max(most, Math.abs(error)), 0);
}
