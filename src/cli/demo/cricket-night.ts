import type { TallyEvent } from '../../client/types.ts';
import { Prng } from '../../lib/prng.ts';

export const TICK_MS = 250;

/** The captain's photo from the dressing room. */
const VIRAL_POST = 42;
const POST_COUNT = 5_000;
const FAN_COUNT = 2_000_000;
const PLAYER_COUNT = 20_000;
const QUIZ_POINTS = 10;

interface Phase {
  readonly name: string;
  /** When it ends, as a share of the night. */
  readonly endShare: number;
  /** Events at its beginning and end, as a share of the busiest minute. */
  readonly fromRate: number;
  readonly toRate: number;
  /** Which share of likes and views goes to the captain's photo. */
  readonly viralShare: number;
  readonly hashtags: readonly string[];
}

/**
 * The night the sharded-counters chapter tells of: India win the final, the captain posts a photo
 * minutes later, it collects 2 million likes in ten minutes, about 3,300 a second and 5,000 in
 * the busiest minute; here the busiest minute has the rate that was asked for.
 */
const PHASES: readonly Phase[] = [
  {
    name: 'the last overs',
    endShare: 0.25,
    fromRate: 0.3,
    toRate: 0.45,
    viralShare: 0,
    hashtags: ['#CricketFinal', '#INDvAUS', '#LastOver', '#Sixer', '#QuizNight'],
  },
  {
    name: 'India have won',
    endShare: 0.35,
    fromRate: 0.7,
    toRate: 0.6,
    viralShare: 0,
    hashtags: ['#Champions', '#CricketFinal', '#INDvAUS', '#Captain', '#Fireworks'],
  },
  {
    name: "the captain's photo is posted (post 42)",
    endShare: 0.5,
    fromRate: 0.66,
    toRate: 1,
    viralShare: 0.5,
    hashtags: ['#Champions', '#DressingRoom', '#Captain', '#CricketFinal', '#Post42'],
  },
  {
    name: 'the busiest minutes',
    endShare: 0.6,
    fromRate: 1,
    toRate: 1,
    viralShare: 0.75,
    hashtags: ['#DressingRoom', '#Post42', '#Champions', '#Captain', '#CricketFinal'],
  },
  {
    name: 'the photo goes on',
    endShare: 0.8,
    fromRate: 0.8,
    toRate: 0.6,
    viralShare: 0.6,
    hashtags: ['#Post42', '#Champions', '#DressingRoom', '#Captain', '#Parade'],
  },
  {
    name: 'the fans go to bed',
    endShare: 1,
    fromRate: 0.5,
    toRate: 0.1,
    viralShare: 0.3,
    hashtags: ['#Champions', '#Parade', '#GoodNight', '#Post42', '#Captain'],
  },
];

const RARE_HASHTAG_COUNT = 10_000;
const RARE_HASHTAG_SHARE = 0.3;

/** Shares of all events; the rest are views. */
const LIKE_SHARE = 0.3;
const HASHTAG_SHARE = 0.15;
const QUIZ_SHARE = 0.05;

/** The streams of the night, and what an item and a count are in each. */
export const NIGHT_STREAMS: readonly { readonly name: string; readonly about: string }[] = [
  { name: 'likes', about: 'which post is liked most, and by how many fans' },
  { name: 'views', about: 'which post is looked at most' },
  { name: 'hashtags', about: 'what people talk about; it changes as the night goes on' },
  { name: 'quiz', about: 'points in the live quiz' },
];

/** One tick of the night. */
export interface Tick {
  readonly startMs: number;
  /** The phase that begins with this tick, if one does. */
  readonly newPhase: string | null;
  readonly events: readonly TallyEvent[];
}

/** The same seed, length and rate make the same events. */
export function* cricketNight(
  seed: number,
  lengthMs: number,
  eventsPerSecond: number,
): Generator<Tick, void> {
  const prng = new Prng(seed);
  let shownPhase: Phase | null = null;
  let owedEvents = 0;
  for (let startMs = 0; startMs < lengthMs; startMs += TICK_MS) {
    const share = startMs / lengthMs;
    const phase = phaseAt(share);
    owedEvents += (rateAt(share, phase) * eventsPerSecond * TICK_MS) / 1000;
    const eventCount = Math.floor(owedEvents);
    owedEvents -= eventCount;
    const events = Array.from({ length: eventCount }, () => eventOf(phase, prng));
    yield { startMs, newPhase: phase === shownPhase ? null : phase.name, events };
    shownPhase = phase;
  }
}

function phaseAt(share: number): Phase {
  const phase = PHASES.find(({ endShare }) => share < endShare) ?? PHASES.at(-1);
  return phase as Phase;
}

function rateAt(share: number, phase: Phase): number {
  const startShare = PHASES[PHASES.indexOf(phase) - 1]?.endShare ?? 0;
  const progress = (share - startShare) / (phase.endShare - startShare);
  return phase.fromRate + (phase.toRate - phase.fromRate) * progress;
}

function eventOf(phase: Phase, prng: Prng): TallyEvent {
  const kind = prng.nextFloat();
  if (kind < QUIZ_SHARE) {
    const player = `user:${9_000 + rankOf(PLAYER_COUNT, prng)}`;
    return { stream: 'quiz', item: player, actor: player, count: QUIZ_POINTS };
  }
  // The square makes some fans far busier than others.
  const fan = Math.floor(prng.nextFloat() ** 2 * FAN_COUNT);
  const actor = `fan:${fan}`;
  if (kind < QUIZ_SHARE + HASHTAG_SHARE) {
    return { stream: 'hashtags', item: hashtagOf(phase, prng), actor };
  }
  const stream = kind < QUIZ_SHARE + HASHTAG_SHARE + LIKE_SHARE ? 'likes' : 'views';
  return { stream, item: `post:${postOf(phase, prng)}`, actor };
}

function postOf(phase: Phase, prng: Prng): number {
  if (prng.chance(phase.viralShare)) return VIRAL_POST;
  const post = rankOf(POST_COUNT, prng);
  // Nobody likes the photo before it is posted.
  return post === VIRAL_POST && phase.viralShare === 0 ? POST_COUNT + 1 : post;
}

function hashtagOf(phase: Phase, prng: Prng): string {
  if (prng.chance(RARE_HASHTAG_SHARE)) return `#fan${rankOf(RARE_HASHTAG_COUNT, prng)}`;
  return phase.hashtags[rankOf(phase.hashtags.length, prng) - 1] ?? '#CricketFinal';
}

/** 1..count, rank r about 1/r as often as rank 1 (Zipf's law). */
function rankOf(count: number, prng: Prng): number {
  return Math.min(Math.floor(Math.exp(prng.nextFloat() * Math.log(count + 1))), count);
}
