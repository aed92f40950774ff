/** The JSON of what is kept about streams beside their events: settings, and their moderation. */
import { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../streams/buckets.ts';
import { MODES } from '../streams/moderation.ts';
import { count, incomplete, time } from './answer-schemas.ts';
import { dimensionValue, itemText, nameText, reasonText } from './text-schemas.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const CHANGES_MAX = 1_000;

/** `25h`, `400d` -> ms. */
const durationText = z
  .string('expected a text such as 25h or 400d')
  .regex(/^[1-9]\d{0,6}[mhd]$/, 'expected a whole number of m, h or d, such as 25h or 400d')
  .transform((text) => Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1)]!)
  .optional();

const dimensionName = z.string('expected a string').meta({ example: 'country' });

/** What is out of range, or does not fit the rest, is refused by the streams room. */
export const settingsBody = z
  .strictObject({
    dimensions: z
      .array(
        z.strictObject({
          name: dimensionName,
          values: z
            .array(dimensionValue, 'expected a list of strings')
            .nullable()
            .optional()
            .meta({ description: 'The only values by themselves; null: those that come first.' }),
          maxValues: z
            .number('expected a number')
            .optional()
            .meta({ description: 'So many values by themselves; the rest counts as `other`.' }),
        }),
        'expected a list',
      )
      .optional(),
    retention: z
      .strictObject({ minute: durationText, hour: durationText, day: durationText })
      .optional()
      .meta({ description: 'How long each level is kept: `Nm`, `Nh` or `Nd`.' }),
    epsilon: z.number('expected a number').optional(),
    delta: z.number('expected a number').optional(),
    kMax: z.number('expected a number').optional(),
    candidates: z.number('expected a number').optional(),
    viewerBytes: z.number('expected a number').optional(),
    mode: z.enum(MODES, `expected one of ${MODES.join(', ')}`).optional(),
  })
  .meta({ id: 'StreamSettingsRequest', description: 'What is left out takes the default.' });

const settings = z
  .strictObject({
    dimensions: z.array(
      z.strictObject({
        name: z.string(),
        values: z.array(z.string()).nullable(),
        maxValues: count,
      }),
    ),
    retention: z.strictObject({ minute: z.string(), hour: z.string(), day: z.string() }),
    epsilon: z.number(),
    delta: z.number(),
    kMax: count,
    candidates: count,
    viewerBytes: count,
    mode: z.enum(MODES),
  })
  .meta({ id: 'StreamSettings', description: 'Those that hold, defaults included.' });

export const streamInfo = z
  .strictObject({
    stream: z.string(),
    generation: z
      .string()
      .meta({ description: 'Changes when the stream is deleted, and only then.' }),
    settings,
    dimensions: z.array(
      z.strictObject({
        name: z.string(),
        since: time.nullable().meta({
          description: 'Its segments have all their events from here on; null: always.',
        }),
        values: z
          .array(z.string())
          .meta({ description: 'Those that have a segment; `other` stands for the rest.' }),
      }),
    ),
  })
  .meta({ id: 'StreamInfo' });

export const streamList = z
  .strictObject({
    streams: z.array(z.strictObject({ stream: z.string() })),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Pass as `after` for the next page; null at the end.' }),
    ...incomplete,
  })
  .meta({ id: 'StreamList' });

const moderator = { by: nameText, reason: reasonText.optional() };
const listBody = z.strictObject({
  items: z.array(itemText, 'expected a list of strings').default([]),
  prefixes: z.array(itemText, 'expected a list of strings').default([]),
});

export const moderationBody = z
  .strictObject({
    ...moderator,
    blocked: listBody.default({ items: [], prefixes: [] }),
    allowed: listBody.default({ items: [], prefixes: [] }),
  })
  .meta({ id: 'ModerationRequest', description: 'Replaces both lists.' });

const moderationChange = z
  .strictObject({
    action: z.enum(['block', 'unblock', 'allow', 'disallow']),
    item: itemText.optional(),
    prefix: itemText.optional(),
  })
  .transform(({ action, item, prefix }, context) => {
    if (item !== undefined && prefix === undefined) return { action, item };
    if (prefix !== undefined && item === undefined) return { action, prefix };
    context.addIssue('expected either item or prefix');
    return z.NEVER;
  });

export const moderationChanges = z
  .strictObject({
    ...moderator,
    changes: z
      .array(moderationChange, 'expected a list of changes')
      .min(1, 'must not be empty')
      .max(CHANGES_MAX, `must not hold more than ${CHANGES_MAX} changes`),
  })
  .meta({ id: 'ModerationChangesRequest', description: 'Applied in their order, or none.' });

const list = z.strictObject({ items: z.array(z.string()), prefixes: z.array(z.string()) });
const sizes = z.strictObject({ items: count, prefixes: count });

export const moderationLists = z
  .strictObject({ stream: z.string(), mode: z.enum(MODES), blocked: list, allowed: list })
  .meta({ id: 'ModerationLists' });

export const moderationSizes = z
  .strictObject({ stream: z.string(), mode: z.enum(MODES), blocked: sizes, allowed: sizes })
  .meta({ id: 'ModerationSizes', description: 'How much the lists hold now.' });

export const moderationAudit = z
  .strictObject({
    stream: z.string(),
    entries: z
      .array(
        z.strictObject({
          at: time,
          by: z.string(),
          action: z.enum(['block', 'unblock', 'allow', 'disallow', 'import']),
          item: z.string().optional(),
          prefix: z.string().optional(),
          reason: z.string().optional(),
        }),
      )
      .meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'ModerationAudit' });
