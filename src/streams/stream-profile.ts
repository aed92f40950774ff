/** What holds for one stream now, made from its document once and asked for every event. */
import type { SummaryShape } from '../sketches/summary.ts';
import { hiddenItems, matcherOf, type Moderation } from './moderation.ts';
import { closedShapeOf, OTHER_VALUE, resolveSettings, type StreamSettings } from './settings.ts';
import { shareKeyOf } from './shares.ts';
import {
  EMPTY_DOCUMENT,
  hasRoom,
  type KeptDimension,
  type StreamDocument,
} from './stream-document.ts';

/** What holds for streams that nobody has set anything for. */
export interface ProfileDefaults {
  readonly settings: StreamSettings;
  /** Of summaries that are not added to any more. */
  readonly closedShape: SummaryShape;
}

/** A dimension as events meet it. */
export interface ProfileDimension {
  readonly name: string;
  /** The share of each value that has a segment of its own. */
  readonly shares: ReadonlyMap<string, string>;
  /** The share of all other values. */
  readonly otherShare: string;
  /** Whether the next new value gets a segment. */
  readonly hasRoom: boolean;
}

export class StreamProfile {
  /** Changes with settings, lists and values; empty where nothing was ever set. */
  readonly version: string;
  readonly settings: StreamSettings;
  readonly closedShape: SummaryShape;
  /** False until the first event is accepted. */
  readonly hasEvents: boolean;
  readonly moderation: Moderation;
  readonly dimensions: readonly ProfileDimension[];
  readonly #kept: readonly KeptDimension[];
  readonly #isHidden: (item: string) => boolean;
  readonly #isBlocked: (item: string) => boolean;

  constructor(
    stream: string,
    version: string,
    document: StreamDocument,
    defaults: ProfileDefaults,
  ) {
    const { hasEvents, moderation, dimensions } = document;
    const settings = resolveSettings(document.settings, defaults.settings);
    this.version = version;
    this.settings = settings;
    this.closedShape = closedShapeOf(settings, defaults.closedShape);
    this.hasEvents = hasEvents;
    this.moderation = moderation;
    this.#kept = dimensions;
    this.dimensions = dimensions.map(({ name, values }) => {
      const limits = settings.dimensions.find((dimension) => dimension.name === name);
      const shareOfValue = (value: string): string =>
        shareKeyOf(stream, { dimension: name, value });
      return {
        name,
        shares: new Map(values.map(({ value }) => [value, shareOfValue(value)])),
        otherShare: shareOfValue(OTHER_VALUE),
        hasRoom: limits !== undefined && hasRoom(limits, values.length),
      };
    });
    this.#isHidden = hiddenItems(moderation, settings.mode);
    this.#isBlocked = matcherOf(moderation.blocked);
  }

  /** Of a stream without a document, or with one that says no more than that it has events. */
  static blank(hasEvents: boolean, defaults: ProfileDefaults): StreamProfile {
    return new StreamProfile('', '', { ...EMPTY_DOCUMENT, hasEvents }, defaults);
  }

  /** Every value with a segment, the one of the rest last; empty for a dimension not kept. */
  valuesOf(dimension: string): string[] {
    const kept = this.#dimension(dimension);
    return kept === undefined ? [] : [...kept.values.map(({ value }) => value), OTHER_VALUE];
  }

  /** False when events of this value count under OTHER_VALUE, and not by themselves. */
  keepsValue(dimension: string, value: string): boolean {
    const place = this.dimensions.find(({ name }) => name === dimension);
    if (place === undefined) return false;
    return value === OTHER_VALUE || place.shares.has(value) || place.hasRoom;
  }

  /**
   * From when on the segments of this dimension (or of this value of it) have all their events;
   * null when they always had.
   */
  sinceMs(dimension: string, value: string | null = null): number | null {
    const kept = this.#dimension(dimension);
    const known = kept?.values.find((candidate) => candidate.value === value);
    const times = [kept?.sinceMs, known?.sinceMs].filter((time) => typeof time === 'number');
    return times.length === 0 ? null : Math.max(...times);
  }

  /** Blocked, or not allowed where only allowed items are shown. */
  isHidden(item: string): boolean {
    return this.#isHidden(item);
  }

  /** On the block list, by itself or by a prefix. */
  isBlocked(item: string): boolean {
    return this.#isBlocked(item);
  }

  #dimension(name: string): KeptDimension | undefined {
    return this.#kept.find((dimension) => dimension.name === name);
  }
}
