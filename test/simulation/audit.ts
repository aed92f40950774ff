import type { Prng } from '../../src/lib/prng.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type Retention } from '../../src/streams/buckets.ts';
import type { DistinctAnswer, TopAnswer } from '../../src/streams/answers.ts';
import type { StreamQueries } from '../../src/streams/queries.ts';
import type { StreamRegistry } from '../../src/streams/registry.ts';
import type { Segment } from '../../src/streams/shares.ts';
import { msBelow } from './event-source.ts';
import type { AuditedEvent, AuditedShare, AuditedSpan, Auditor } from './auditor.ts';

export const RETENTION: Retention = { minute: 25 * HOUR_MS, hour: 32 * DAY_MS, day: 400 * DAY_MS };
/** More than there are items in one run. */
export const ITEMS_MAX = 500;
const RANDOM_SPANS = 2;
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/New_York'];

export interface AuditOptions {
  readonly queries: StreamQueries;
  readonly registry: StreamRegistry;
  readonly auditor: Auditor;
  readonly prng: Prng;
  readonly nowMs: number;
  /** False where summaries are too small for what they hold: only bounds are promised then. */
  readonly isExact: boolean;
  /** Asks for the actors of each item, and a series, too. */
  readonly isThorough: boolean;
}

interface Share extends AuditedShare {
  readonly where: Segment | null;
}

/** Every bucket of every level that is kept, any spans, and every segment; null: all are right. */
export async function findFault(options: AuditOptions): Promise<string | null> {
  for (const stream of options.auditor.streams) {
    const whole = { stream, where: null, isMeant: () => true };
    const all = { fromMs: options.nowMs - RETENTION.day, toMs: floor(options.nowMs, MINUTE_MS) };
    const shares = await segmentsOf(stream, options.registry);
    const asked: (readonly [Share, AuditedSpan])[] = [
      ...bucketsOf(stream, options).map((span) => [whole, span] as const),
      ...Array.from({ length: RANDOM_SPANS }, () => [whole, randomSpan(options)] as const),
      ...shares.map((share) => [share, all] as const),
      ...shares.map((share) => [share, randomSpan(options)] as const),
    ];
    for (const [share, span] of asked) {
      const fault = await compare(options, share, span);
      if (fault !== null) return `${nameOf(share, span)}: ${fault}`;
    }
    const fault = await compareParts(options, stream);
    if (fault !== null) return `${stream}: ${fault}`;
  }
  if (!options.isThorough) return null;
  return await compareSeries(options, { stream: 'shared', isMeant: () => true });
}

/** The minutes, hours and days in which something was acknowledged, as far as they are kept. */
function bucketsOf(stream: string, { auditor, nowMs }: AuditOptions): AuditedSpan[] {
  const lengths = [
    [MINUTE_MS, RETENTION.minute],
    [HOUR_MS, RETENTION.hour],
    [DAY_MS, RETENTION.day],
  ] as const;
  return lengths.flatMap(([lengthMs, keptMs]) => {
    const starts = new Set(auditor.timesOf(stream).map((timeMs) => floor(timeMs, lengthMs)));
    return [...starts]
      .filter((fromMs) => fromMs + lengthMs > nowMs - keptMs)
      .map((fromMs) => ({ fromMs, toMs: Math.min(fromMs + lengthMs, floor(nowMs, MINUTE_MS)) }));
  });
}

/** With minutes at its edges, whatever is kept of them. */
function randomSpan({ prng, nowMs }: AuditOptions): AuditedSpan {
  const reachMs = prng.pick([3 * HOUR_MS, 3 * DAY_MS, 40 * DAY_MS, 405 * DAY_MS]);
  const toMs = floor(nowMs - msBelow(prng, reachMs), MINUTE_MS);
  return { fromMs: floor(toMs - msBelow(prng, reachMs), MINUTE_MS) - MINUTE_MS, toMs };
}

/** The segments of all values that a stream has, and what the events of each are. */
async function segmentsOf(stream: string, registry: StreamRegistry): Promise<Share[]> {
  const profile = await registry.of(stream);
  return profile.settings.dimensions.flatMap(({ name }) => {
    const values = profile.valuesOf(name);
    return values.map((value) => {
      const isMeant = ({ dims }: AuditedEvent): boolean => {
        const own = dims?.[name];
        return value === 'other' ? own !== undefined && !values.includes(own) : own === value;
      };
      return { stream, where: { dimension: name, value }, isMeant };
    });
  });
}

/** The answers to all questions about one window are of one moment. */
async function compare(
  { queries, auditor, nowMs, isExact, isThorough }: AuditOptions,
  share: Share,
  span: AuditedSpan,
): Promise<string | null> {
  const { stream, where } = share;
  const question = { stream, where, window: { kind: 'range', ...span } as const };
  const [top, distinct, byActors] = (
    await queries.answerAll([
      { type: 'top', ...question, k: ITEMS_MAX },
      { type: 'distinct', ...question },
      ...(isThorough ? [{ type: 'top', ...question, k: ITEMS_MAX, by: 'actors' } as const] : []),
    ])
  ).map(({ answer }) => answer) as [TopAnswer, DistinctAnswer, TopAnswer?];
  if (top.missing.length > 0) return `without ${top.missing.join(', ')}`;
  const areExact = top.exact && distinct.exact && (byActors?.exact ?? true);
  if (isExact && !areExact) return 'not exact';
  const oldestMs = floor(nowMs - RETENTION.day, DAY_MS);
  const fromMs = Math.min(Math.max(span.fromMs, oldestMs), span.toMs);
  const isWide = top.fromMs <= fromMs && top.toMs >= span.toMs;
  const isSame = top.fromMs === fromMs && top.toMs === span.toMs;
  if (top.widened ? !isWide || isSame : !isSame && span.toMs > oldestMs) return 'another span';
  const fault = auditor.check(share, top, {
    counts: new Map(top.items.map((row) => [row.item, row])),
    maxUnlisted: top.maxUnlisted,
    total: top.total,
    distinct: distinct.exact ? distinct.estimate : null,
  });
  return fault ?? auditor.checkActors(share, top, byActors?.items ?? []);
}

/** Local days, and hours of the last days. */
async function compareSeries(
  { queries, auditor, prng }: AuditOptions,
  share: AuditedShare,
): Promise<string | null> {
  const { stream } = share;
  const zone = prng.pick(ZONES);
  for (const [days, step] of [[30, '1d'] as const, [2, '1h'] as const]) {
    const window = { kind: 'trailing', lengthMs: days * DAY_MS, untilMs: null } as const;
    const stepZone = step === '1d' ? zone : 'UTC';
    const { points } = await queries.series({ stream, window, step, zone: stepZone });
    if (points.length !== (step === '1d' ? days : days * 24)) return `${points.length} points`;
    for (const point of points) {
      const { known, uncertain } = auditor.totalsOf(share, point);
      if (point.count >= known && point.count <= known + uncertain) continue;
      return `series by ${step} from ${new Date(point.fromMs).toISOString()}: ${point.count}, not ${known}`;
    }
  }
  return null;
}

/** What all values of a dimension have together, and what has none. */
async function compareParts(
  { queries, registry, auditor, nowMs }: AuditOptions,
  stream: string,
): Promise<string | null> {
  const window = { kind: 'range', fromMs: nowMs - RETENTION.day, toMs: null } as const;
  const profile = await registry.of(stream);
  for (const { name } of profile.settings.dimensions) {
    const answer = await queries.distinctBy({ stream, window, dimension: name });
    const isMeant = ({ dims }: AuditedEvent): boolean => dims?.[name] === undefined;
    const { known, uncertain } = auditor.totalsOf({ stream, isMeant }, answer);
    if (answer.without < known || answer.without > known + uncertain) {
      return `${answer.without} events without ${name} instead of ${known}`;
    }
  }
  return null;
}

function nameOf({ stream, where }: Share, { fromMs, toMs }: AuditedSpan): string {
  const span = `from ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}`;
  return where === null ? `${stream} ${span}` : `${stream} ${where.value} ${span}`;
}

function floor(timeMs: number, unitMs: number): number {
  return Math.floor(timeMs / unitMs) * unitMs;
}
