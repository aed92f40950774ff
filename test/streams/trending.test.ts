import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import {
  type ItemHistory,
  liMaScore,
  shareOfBounds,
  trendingItems,
  type TrendingInput,
} from '../../src/streams/trending.ts';
import { normal, poisson } from '../support/deviates.ts';

const MIN_SUPPORT = 10;

function historyOf(item: string, now: number, usual: readonly number[]): ItemHistory {
  return {
    item,
    isShown: true,
    now: { lower: now, upper: now },
    usual: usual.map((count) => ({ count, lower: count, upper: count })),
  };
}

/** All of the stream is in the items, unless there is more of it. */
function inputOf(items: readonly ItemHistory[], more = 0): TrendingInput {
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, more);
  return {
    items,
    total: sum(items.map(({ now }) => now.upper)),
    usualTotals: items[0]!.usual.map((_, at) => sum(items.map(({ usual }) => usual[at]!.count))),
    minSupport: MIN_SUPPORT,
  };
}

/** Calm items that the rest of a stream can be seen by. */
function calmItems(size: number, days: number, count = 100): ItemHistory[] {
  return Array.from({ length: size }, (_, index) =>
    historyOf(
      `calm-${index}`,
      count,
      Array.from({ length: days }, (_day, day) => count + (day % 3)),
    ),
  );
}

function namesOf(input: TrendingInput): string[] {
  return trendingItems(input).map(({ item }) => item);
}

describe("Li and Ma's score", () => {
  it('is the root of twice the ratio of likelihoods', () => {
    const logLikelihood = (count: number, mean: number): number =>
      (count === 0 ? 0 : count * Math.log(mean)) - mean;
    const counts = fc.integer({ min: 0, max: 10_000 });
    fc.assert(
      fc.property(
        counts,
        counts,
        fc.double({ min: 0.2, max: 30, noNaN: true }),
        (on, off, units) => {
          fc.pre(on * units > off);
          const common = (on + off) / (1 + units);
          const ratio =
            logLikelihood(on, on) +
            logLikelihood(off, off) -
            logLikelihood(on, common) -
            logLikelihood(off, common * units);
          expect(liMaScore(on, off, units)).toBeCloseTo(Math.sqrt(2 * Math.max(0, ratio)), 4);
        },
      ),
    );
  });

  it('is above 2 by chance as often as a normal deviate', () => {
    const prng = new Prng(11);
    let above = 0;
    for (let trial = 0; trial < 20_000; trial += 1) {
      const off = Array.from({ length: 7 }, () => poisson(40, prng)).reduce((a, b) => a + b, 0);
      if (liMaScore(poisson(40, prng), off, 7) > 2) above += 1;
    }
    expect(above / 20_000).toBeGreaterThan(0.018);
    expect(above / 20_000).toBeLessThan(0.028);
  });

  it('is 0 for what is not above what is usual', () => {
    expect(liMaScore(10, 70, 7)).toBe(0);
    expect(liMaScore(0, 0, 7)).toBe(0);
  });
});

describe('what trends', () => {
  const counts = fc.integer({ min: 0, max: 400 });
  const inputs = fc
    .integer({ min: 1, max: 8 })
    .chain((days) =>
      fc.array(
        fc.record({
          lower: counts,
          noise: fc.nat(20),
          isShown: fc.boolean(),
          usual: fc.array(fc.record({ lower: fc.nat(60), noise: fc.nat(20) }), {
            minLength: days,
            maxLength: days,
          }),
        }),
        { minLength: 1, maxLength: 15 },
      ),
    )
    .map((rows) =>
      rows.map(({ lower, noise, isShown, usual }, index) => ({
        item: `item-${index % 3}-${index}`,
        isShown,
        now: { lower, upper: lower + noise },
        usual: usual.map((day) => {
          const upper = day.lower + day.noise;
          return { lower: day.lower, upper, count: upper };
        }),
      })),
    );

  it('is shown, supported, above every day and above chance, all by the bounds against it', () => {
    fc.assert(
      fc.property(inputs, (items) => {
        for (const { item, now, score, scales, expected, lift } of trendingItems(inputOf(items))) {
          const history = items.find((each) => each.item === item)!;
          expect(history.isShown).toBe(true);
          expect(now.lower).toBeGreaterThanOrEqual(MIN_SUPPORT);
          for (const [at, { upper }] of history.usual.entries()) {
            expect(now.lower).toBeGreaterThan(upper * scales[at]!);
          }
          const off = history.usual.reduce((sum, { upper }) => sum + upper, 0);
          const units = scales.reduce((sum, scale) => sum + 1 / scale, 0);
          expect(score).toBeGreaterThanOrEqual(5);
          expect(score).toBeLessThanOrEqual(liMaScore(now.lower, off, units));
          expect(expected).toBeCloseTo(off / units, 6);
          if (expected > 0) expect(lift).toBeCloseTo(now.lower / expected, 9);
          else expect(lift).toBeNull();
        }
      }),
    );
  });

  it('is the same in whatever order the items come: by score, then by bytes', () => {
    fc.assert(
      fc.property(inputs, (items) => {
        const rows = trendingItems(inputOf(items));
        expect(trendingItems(inputOf(items.toReversed()))).toEqual(rows);
        const inOrder = rows.toSorted((a, b) => b.score - a.score || compareUtf8(a.item, b.item));
        expect(rows).toEqual(inOrder);
      }),
    );
    const equal = ['é', 'z', 'a'].map((item) => historyOf(item, 300, [5, 6, 7]));
    expect(namesOf(inputOf([...calmItems(9, 3), ...equal]))).toEqual(['a', 'z', 'é']);
  });

  it('is a burst, and nothing of a stream that is busier as a whole', () => {
    const usual = [48, 50, 55, 45, 52, 50, 50];
    const burst = historyOf('burst', 150, usual);
    expect(trendingItems(inputOf([...calmItems(10, 7), burst]))).toMatchObject([
      { item: 'burst', expected: expect.closeTo(50, 0), lift: expect.closeTo(3, 1) },
    ]);
    const busier = [...calmItems(10, 7), historyOf('other', 50, usual)].map((each) => {
      const now = 3 * each.now.lower;
      return { ...each, now: { lower: now, upper: now } };
    });
    expect(namesOf(inputOf(busier))).toEqual([]);
  });

  it('is not what a sketch may have added', () => {
    const usual = [40, 41, 39, 40, 42, 38, 40];
    const atMost = (item: ItemHistory, at: number, upper: number): ItemHistory => {
      const days = item.usual.map((day, index) => (index === at ? { ...day, upper } : day));
      return { ...item, usual: days };
    };
    const now = { ...historyOf('now', 55, usual), now: { lower: 55, upper: 400 } };
    const burst = historyOf('burst', 160, usual);
    // A little of its days is enough to hide a burst: one of them could have been as large.
    const before = atMost(burst, 3, 161);
    expect(namesOf(inputOf([...calmItems(10, 7), now, before]))).toEqual([]);
    expect(namesOf(inputOf([...calmItems(10, 7), atMost(burst, 3, 150)]))).toEqual(['burst']);
  });

  it('is the same beside a flood, now or on an earlier day, hidden or not', () => {
    const burst = historyOf('burst', 150, [48, 50, 55, 45, 52, 50, 50]);
    const items = [...calmItems(10, 7), burst];
    const before = trendingItems(inputOf(items));
    const flood = { ...historyOf('flood', 50_000, [0, 9, 0, 0, 0, 0, 0]), isShown: false };
    expect(trendingItems(inputOf([...items, flood]))).toEqual(before);
    const past = historyOf('past', 0, [0, 0, 0, 50_000, 0, 0, 0]);
    const [row] = trendingItems(inputOf([...items, past]));
    expect(row).toMatchObject({ item: 'burst', expected: expect.closeTo(before[0]!.expected, 0) });
  });

  it('takes an item with wild days for one, and its calm days not for certain among wild ones', () => {
    const double = historyOf('double', 400, [200, 200, 200, 200, 200, 200, 200]);
    expect(namesOf(inputOf([...calmItems(20, 7), double]))).toEqual(['double']);
    const wildDays = [80, 350, 120, 310, 90, 240, 210];
    const wild = historyOf('wild', 400, wildDays);
    expect(namesOf(inputOf([...calmItems(20, 7), wild]))).toEqual([]);
    const shifted = (by: number) => wildDays.map((_, day) => wildDays[(day + by) % 7]!);
    const among = Array.from({ length: 20 }, (_, index) =>
      historyOf(`wild-${index}`, 200, shifted(index)),
    );
    expect(namesOf(inputOf([...among, double]))).toEqual([]);
  });

  it('is what nobody has ever seen, with enough support', () => {
    const items = [
      ...calmItems(10, 3),
      historyOf('new', 30, [0, 0, 0]),
      historyOf('few', 9, [0, 0, 0]),
    ];
    expect(trendingItems(inputOf(items))).toMatchObject([{ item: 'new', expected: 0, lift: null }]);
  });
});

describe('in a stream whose days differ by 15 % by themselves', () => {
  /** Items from 10 to 500 events; the last one has `factor` times its 30. */
  function drawn(prng: Prng, days: number, factor: number): ItemHistory[] {
    const draw = (mean: number): number => poisson(mean * Math.exp(0.15 * normal(prng)), prng);
    const means = Array.from({ length: 50 }, (_, index) => 500 / (1 + index));
    const items = means.map((mean, index) => {
      const usual = Array.from({ length: days }, () => draw(mean));
      return historyOf(`item-${index}`, draw(mean), usual);
    });
    const usual = Array.from({ length: days }, () => draw(30));
    return [...items, historyOf('burst', draw(30 * factor), usual)];
  }

  it('nearly nothing trends by chance, however few the days', () => {
    for (const days of [2, 3, 7]) {
      const prng = new Prng(days);
      let rows = 0;
      for (let window = 0; window < 1_000; window += 1) {
        rows += trendingItems(inputOf(drawn(prng, days, 1))).length;
      }
      expect(rows, `${days} days`).toBeLessThanOrEqual(1);
    }
  });

  it('a burst of 4 times the usual 30 trends nearly always, and of 3 times mostly', () => {
    const prng = new Prng(5);
    const shareFound = (factor: number): number => {
      let found = 0;
      for (let window = 0; window < 300; window += 1) {
        if (namesOf(inputOf(drawn(prng, 7, factor))).includes('burst')) found += 1;
      }
      return found / 300;
    };
    expect(shareFound(4)).toBeGreaterThan(0.9);
    expect(shareFound(3)).toBeGreaterThan(0.55);
  });
});

describe('the share of a bucket', () => {
  it('is all of it, or lies between nothing and all of it', () => {
    const bounds = fc.record({ lower: fc.nat(1_000), more: fc.nat(100) });
    fc.assert(
      fc.property(bounds, fc.double({ min: 0, max: 1, noNaN: true }), ({ lower, more }, part) => {
        const upper = lower + more;
        const share = shareOfBounds({ lower, upper }, part);
        expect(share.lower).toBeGreaterThanOrEqual(0);
        expect(share.lower).toBeLessThanOrEqual(share.count);
        expect(share.count).toBeLessThanOrEqual(share.upper);
        expect(share.upper).toBeLessThanOrEqual(upper);
        expect(shareOfBounds({ lower, upper }, 1)).toEqual({ count: upper, lower, upper });
      }),
    );
  });

  it('holds the events of that part, which come at random, in 98 of 100 cases and more', () => {
    const prng = new Prng(3);
    for (const total of [4, 20, 300]) {
      for (const part of [0.1, 0.5, 0.8]) {
        let outside = 0;
        for (let trial = 0; trial < 1_000; trial += 1) {
          let inside = 0;
          for (let event = 0; event < total; event += 1) inside += prng.nextFloat() < part ? 1 : 0;
          const { lower, upper } = shareOfBounds({ lower: total, upper: total }, part);
          if (inside < lower || inside > upper) outside += 1;
        }
        expect(outside, `${total} x ${part}`).toBeLessThanOrEqual(20);
      }
    }
  });
});
