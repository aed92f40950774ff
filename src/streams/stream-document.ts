/**
 * What is remembered about one stream beside its events: settings, the values of its dimensions,
 * the lists of its moderation. One text in the store; every change makes a new document.
 */
import { z } from 'zod';
import { BrokenStreamError } from '../lib/store-errors.ts';
import { MODES, type Moderation, NO_MODERATION } from './moderation.ts';
import {
  checkRetentionShrinks,
  checkSettings,
  type DimensionSettings,
  OTHER_VALUE,
  resolveSettings,
  type SettingsInput,
  type StreamSettings,
} from './settings.ts';
import { RegistryRefusedError } from './registry-errors.ts';
import type { Segment } from './shares.ts';

/** A value with a segment of its own. */
export interface KeptValue {
  readonly value: string;
  /** Its events are all in its segment from here on; null: they always were. */
  readonly sinceMs: number | null;
}

export interface KeptDimension {
  readonly name: string;
  /** All events that name the dimension are in a segment from here on; null: they always were. */
  readonly sinceMs: number | null;
  /** What `sinceMs` will be of a value that comes now; null: there was always room for it. */
  readonly openSinceMs: number | null;
  readonly values: readonly KeptValue[];
}

export interface StreamDocument {
  /** An event was accepted, or was about to be. */
  readonly hasEvents: boolean;
  readonly settings: SettingsInput;
  /** In the order of the settings. */
  readonly dimensions: readonly KeptDimension[];
  readonly moderation: Moderation;
}

/** Values to get a segment of their own, by dimension. */
export type NewValues = ReadonlyMap<string, ReadonlySet<string>>;

export const EMPTY_DOCUMENT: StreamDocument = {
  hasEvents: false,
  settings: {},
  dimensions: [],
  moderation: NO_MODERATION,
};

const VERSION = 1;

export function encodeDocument(document: StreamDocument): string {
  return JSON.stringify({ version: VERSION, ...document });
}

/** Throws BrokenStreamError for what is not the text of a document. */
export function parseDocument(stream: string, text: string): StreamDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw broken(stream, 'it is no JSON');
  }
  const result = documentSchema.safeParse(value);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw broken(stream, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const { version: _, ...document } = result.data;
  return document;
}

/** True when it says nothing that a missing document would not. */
export function isBlank({ settings, moderation }: StreamDocument): boolean {
  const { blocked, allowed, audit } = moderation;
  const lists = [blocked.items, blocked.prefixes, allowed.items, allowed.prefixes, audit];
  return Object.keys(settings).length === 0 && lists.every(({ length }) => length === 0);
}

/**
 * Replaces the settings. What holds only from `settledMs` on, because events were taken before that
 * under the old settings, says so. Throws RegistryRefusedError.
 */
export function withSettings(
  before: StreamDocument,
  input: SettingsInput,
  defaults: StreamSettings,
  settledMs: number,
): StreamDocument {
  checkSettings(input, defaults);
  const after = resolveSettings(input, defaults);
  const old = resolveSettings(before.settings, defaults);
  if (before.hasEvents) checkRetentionShrinks(old.retention, after.retention);
  const sinceMs = before.hasEvents ? settledMs : null;
  const dimensions = after.dimensions.map((dimension, index): KeptDimension => {
    const known = before.dimensions.find(({ name }) => name === dimension.name);
    const settings = old.dimensions.find(({ name }) => name === dimension.name);
    if (known === undefined || settings === undefined) return newDimension(dimension, sinceMs);
    return changedDimension(known, settings, dimension, index, sinceMs);
  });
  return { ...before, settings: withoutUndefined(input), dimensions };
}

/** The segments of a document, for all values that ever had one. */
export function segmentsOf({ dimensions }: StreamDocument): Segment[] {
  return dimensions.flatMap(({ name, values }) =>
    [...values.map(({ value }) => value), OTHER_VALUE].map((value) => ({ dimension: name, value })),
  );
}

/**
 * Notes that there are events, and gives values a segment as long as there is room. The same
 * document when it says all that already.
 */
export function withEvents(
  before: StreamDocument,
  newValues: NewValues,
  settings: StreamSettings,
): StreamDocument {
  let isChanged = !before.hasEvents;
  const dimensions = before.dimensions.map((kept): KeptDimension => {
    const dimension = settings.dimensions.find(({ name }) => name === kept.name);
    const values = [...kept.values];
    for (const value of newValues.get(kept.name) ?? []) {
      const isKept = value === OTHER_VALUE || values.some((known) => known.value === value);
      if (isKept || dimension === undefined || !hasRoom(dimension, values.length)) continue;
      values.push({ value, sinceMs: kept.openSinceMs });
      isChanged = true;
    }
    return { ...kept, values };
  });
  return isChanged ? { ...before, hasEvents: true, dimensions } : before;
}

/** Whether one more value gets a segment beside so many. */
export function hasRoom({ values, maxValues }: DimensionSettings, valueCount: number): boolean {
  return values === null && valueCount < maxValues;
}

function newDimension({ name, values }: DimensionSettings, sinceMs: number | null): KeptDimension {
  const kept = (values ?? []).map((value) => ({ value, sinceMs }));
  return { name, sinceMs, openSinceMs: sinceMs, values: kept };
}

function changedDimension(
  known: KeptDimension,
  before: DimensionSettings,
  after: DimensionSettings,
  index: number,
  sinceMs: number | null,
): KeptDimension {
  // Where there was no room, events of values that get a segment now are in the one of the rest.
  const openSinceMs = hasRoom(before, known.values.length) ? known.openSinceMs : sinceMs;
  if (after.values !== null) {
    const values = after.values.map(
      (value) =>
        known.values.find((kept) => kept.value === value) ?? { value, sinceMs: openSinceMs },
    );
    return { ...known, openSinceMs, values };
  }
  if (known.values.length > after.maxValues) {
    const parameter = `dimensions.${index}.maxValues`;
    const message = `${parameter}: ${known.values.length} values are kept already`;
    throw new RegistryRefusedError('invalid_settings', message, parameter);
  }
  return { ...known, openSinceMs };
}

/** What is not there needs no place in the text. */
function withoutUndefined(input: SettingsInput): SettingsInput {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

function broken(stream: string, reason: string): BrokenStreamError {
  return new BrokenStreamError(
    `the document of the stream ${JSON.stringify(stream)} is damaged: ${reason}`,
  );
}

const text = z.string().min(1);
const timeMs = z.int();
const sinceMs = timeMs.nullable();
const list = z.strictObject({ items: z.array(text), prefixes: z.array(text) });
const action = z.enum(['block', 'unblock', 'allow', 'disallow', 'import']);
const documentSchema: z.ZodType<StreamDocument & { version: number }> = z.strictObject({
  version: z.literal(VERSION),
  hasEvents: z.boolean(),
  settings: z.strictObject({
    dimensions: z
      .array(
        z.strictObject({
          name: text,
          values: z.array(text).nullable().optional(),
          maxValues: z.int().optional(),
        }),
      )
      .optional(),
    retention: z
      .strictObject({
        minute: z.int().optional(),
        hour: z.int().optional(),
        day: z.int().optional(),
      })
      .optional(),
    epsilon: z.number().optional(),
    delta: z.number().optional(),
    kMax: z.int().optional(),
    candidates: z.int().optional(),
    viewerBytes: z.int().optional(),
    mode: z.enum(MODES).optional(),
  }),
  dimensions: z.array(
    z.strictObject({
      name: text,
      sinceMs,
      openSinceMs: sinceMs,
      values: z.array(z.strictObject({ value: text, sinceMs })),
    }),
  ),
  moderation: z.strictObject({
    blocked: list,
    allowed: list,
    audit: z.array(
      z.strictObject({
        atMs: timeMs,
        by: text,
        action,
        item: text.optional(),
        prefix: text.optional(),
        reason: z.string().optional(),
      }),
    ),
  }),
});
