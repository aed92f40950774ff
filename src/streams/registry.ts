/**
 * What is set for each stream, as this process knows it: a copy of all documents, looked after when
 * it is older than REGISTRY_FRESH_MS. While the store is gone the copy goes on to hold: nobody can
 * change what nobody can reach. Every change reads one document, makes a new one, and puts it in
 * its place only if the old one is still there.
 */
import type { Clock } from '../lib/clock.ts';
import type { Tag, TagSource } from '../lib/random-tag.ts';
import {
  BrokenStreamError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../lib/store-errors.ts';
import {
  REGISTRY_ATTEMPTS_MAX,
  REGISTRY_FRESH_MS,
  REGISTRY_SETTLE_MS,
  REGISTRY_SLICE,
  REGISTRY_SLICE_BYTES,
  REGISTRY_WAIT_MS,
} from './limits.ts';
import {
  changeModeration,
  importModeration,
  type ModerationChange,
  type ModerationLists,
  type Moderator,
} from './moderation.ts';
import { RegistryRefusedError } from './registry-errors.ts';
import type {
  DocumentPut,
  PutOutcome,
  DocumentStore,
  StoredDocument,
} from '../lib/document-store.ts';
import type { SettingsInput } from './settings.ts';
import { type Segment, shareKeyOf } from './shares.ts';
import {
  EMPTY_DOCUMENT,
  encodeDocument,
  isBlank,
  type NewValues,
  parseDocument,
  segmentsOf,
  type StreamDocument,
  withEvents,
  withSettings,
} from './stream-document.ts';
import { type ProfileDefaults, StreamProfile } from './stream-profile.ts';

export type { StreamProfile } from './stream-profile.ts';

export interface RegistryOptions {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly defaults: ProfileDefaults;
  /** Documents that there may be. */
  readonly maxStreams: number;
  /** How far ahead of the clock events may be: so long old settings reach into the future. */
  readonly maxFutureMs: number;
  /** Forgets shares in all partitions; safe to repeat. */
  readonly dropShares: (shares: readonly string[]) => Promise<void>;
}

/** A document as it was read last. */
interface Known {
  readonly tag: Tag;
  readonly document: StreamDocument;
  readonly profile: StreamProfile;
}

/** One that cannot be read: it harms its own stream only. */
interface Damaged {
  readonly tag: Tag;
  readonly fault: BrokenStreamError;
}

/** A new document, or none any more, in the place of the one with the tag. */
interface Replacement {
  readonly stream: string;
  readonly expectedTag: Tag | null;
  readonly document: StreamDocument | null;
}

export class StreamRegistry {
  readonly #options: RegistryOptions;
  /** Shared by all streams that have nothing set. */
  readonly #unknown: StreamProfile;
  readonly #blank: StreamProfile;
  readonly #copy = new Map<string, Known | Damaged>();
  #isLoaded = false;
  /** Of the store when all tags were read last; null after an own put, which may yet be lost. */
  #revision: string | null = null;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #isAway = false;
  #refreshing: Promise<void> | null = null;
  /** Reads and writes of the copy follow one another, so that no older state comes back. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#unknown = StreamProfile.blank(false, options.defaults);
    this.#blank = StreamProfile.blank(true, options.defaults);
  }

  /** Rejects with BrokenStreamError, or StoreUnavailableError when nothing is known yet. */
  async of(stream: string): Promise<StreamProfile> {
    const refreshed = this.refreshed();
    if (refreshed !== null) await refreshed;
    return this.known(stream);
  }

  /** For work that must go on whatever is damaged: then the defaults hold. */
  async ofUpkeep(stream: string): Promise<StreamProfile> {
    try {
      return await this.of(stream);
    } catch (error) {
      if (error instanceof BrokenStreamError) return this.#unknown;
      throw error;
    }
  }

  /** As the copy has it. Throws BrokenStreamError. */
  known(stream: string): StreamProfile {
    const entry = this.#copy.get(stream);
    if (entry === undefined) return this.#unknown;
    if ('fault' in entry) throw entry.fault;
    return entry.profile;
  }

  /** Null while the copy is fresh, so that the many who ask need not wait a turn. */
  refreshed(): Promise<void> | null {
    const ageMs = this.#options.clock.nowMs() - this.#checkedAtMs;
    return ageMs >= 0 && ageMs < REGISTRY_FRESH_MS ? null : this.#refreshOrKeep();
  }

  /**
   * Notes that streams have events, and gives new values a segment as long as there is room.
   * Resolves to the streams that there was no room for; damaged ones are passed over.
   * Rejects with StoreUnavailableError.
   */
  async admit(wanted: ReadonlyMap<string, NewValues>): Promise<ReadonlySet<string>> {
    const refused = new Set<string>();
    let open: readonly string[] = [...wanted.keys()];
    for (let attempt = 0; attempt < REGISTRY_ATTEMPTS_MAX && open.length > 0; attempt += 1) {
      open = await this.#exclusive(async () => {
        if (attempt > 0) await this.#load(open);
        const changes = open.flatMap((stream) => this.#admission(stream, wanted.get(stream)!));
        const outcomes = await this.#put(changes).catch(asUnavailable);
        const streamsWith = (outcome: PutOutcome): string[] =>
          changes.filter((_, index) => outcomes[index] === outcome).map(({ stream }) => stream);
        for (const stream of streamsWith('full')) refused.add(stream);
        return streamsWith('conflict');
      });
    }
    if (open.length > 0) throw overtaken();
    return refused;
  }

  /**
   * Replaces the settings. What a dimension taken away, or a value, had is dropped before.
   * Rejects with RegistryRefusedError, BrokenStreamError, StoreUnavailableError, or
   * OutcomeUnknownError (the same change may be sent again); so do all changes.
   */
  changeSettings(stream: string, input: SettingsInput): Promise<StreamProfile> {
    const { clock, defaults, maxFutureMs } = this.#options;
    return this.#change(stream, (before) => {
      const settledMs = clock.nowMs() + REGISTRY_SETTLE_MS + maxFutureMs;
      return withSettings(before, input, defaults.settings, settledMs);
    });
  }

  changeModeration(
    stream: string,
    changes: readonly ModerationChange[],
    moderator: Omit<Moderator, 'atMs'>,
  ): Promise<StreamProfile> {
    return this.#change(stream, (before) => {
      const at = { ...moderator, atMs: this.#options.clock.nowMs() };
      return { ...before, moderation: changeModeration(before.moderation, changes, at) };
    });
  }

  /** Replaces both lists. */
  importModeration(
    stream: string,
    lists: ModerationLists,
    moderator: Omit<Moderator, 'atMs'>,
  ): Promise<StreamProfile> {
    return this.#change(stream, (before) => {
      const at = { ...moderator, atMs: this.#options.clock.nowMs() };
      return { ...before, moderation: importModeration(before.moderation, lists, at) };
    });
  }

  /**
   * Forgets a stream: all its shares, then its document. In this order a deletion that failed in
   * the middle still knows at its repetition what there is to forget.
   */
  async delete(stream: string): Promise<void> {
    for (let attempt = 0; attempt < REGISTRY_ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.#reload(stream);
      const segments = entry !== null && 'document' in entry ? segmentsOf(entry.document) : [];
      await this.#drop(stream, [null, ...segments]);
      if (entry === null) return;
      const change = { stream, expectedTag: entry.tag, document: null };
      const [outcome] = await this.#exclusive(() => this.#put([change]));
      if (outcome === 'applied') return;
    }
    throw overtaken();
  }

  /** Every stream with a document, and whether it says nothing: what nobody would miss. */
  async documents(): Promise<{ stream: string; tag: Tag; isBlank: boolean }[]> {
    await this.#exclusive(() => this.#refresh());
    return [...this.#copy].map(([stream, entry]) => ({
      stream,
      tag: entry.tag,
      isBlank: 'document' in entry && isBlank(entry.document),
    }));
  }

  /** Drops documents that are still the ones named. */
  async forget(documents: readonly { stream: string; tag: Tag }[]): Promise<void> {
    const changes = documents.map(({ stream, tag }) => ({
      stream,
      expectedTag: tag,
      document: null,
    }));
    await this.#exclusive(() => this.#put(changes));
  }

  async #change(
    stream: string,
    change: (before: StreamDocument) => StreamDocument,
  ): Promise<StreamProfile> {
    for (let attempt = 0; attempt < REGISTRY_ATTEMPTS_MAX; attempt += 1) {
      const entry = await this.#reload(stream);
      if (entry !== null && 'fault' in entry) throw entry.fault;
      const before = entry?.document ?? EMPTY_DOCUMENT;
      const document = change(before);
      await this.#drop(stream, removedSegments(before, document));
      const put = { stream, expectedTag: entry?.tag ?? null, document };
      const [outcome] = await this.#exclusive(() => this.#put([put]));
      if (outcome === 'applied') return this.known(stream);
      if (outcome === 'full') {
        const message = `there are settings or events of ${this.#options.maxStreams} streams already`;
        throw new RegistryRefusedError('too_many_streams', message);
      }
    }
    throw overtaken();
  }

  async #drop(stream: string, segments: readonly (Segment | null)[]): Promise<void> {
    if (segments.length === 0) return;
    await this.#options.dropShares(segments.map((segment) => shareKeyOf(stream, segment)));
  }

  #admission(stream: string, newValues: NewValues): Replacement[] {
    const entry = this.#copy.get(stream);
    if (entry !== undefined && 'fault' in entry) return [];
    const before = entry?.document ?? EMPTY_DOCUMENT;
    const settings = (entry?.profile ?? this.#unknown).settings;
    const document = withEvents(before, newValues, settings);
    if (document === before) return [];
    return [{ stream, expectedTag: entry?.tag ?? null, document }];
  }

  /** Waits for a look at the store, but not for one that is gone. */
  async #refreshOrKeep(): Promise<void> {
    const refreshing = this.#startRefresh();
    if (!this.#isLoaded) {
      await refreshing;
      return;
    }
    const finished = new AbortController();
    let isOver = false;
    const refreshed = refreshing
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailableError)) throw error;
      })
      .finally(() => {
        isOver = true;
        finished.abort();
      });
    if (this.#isAway) return;
    await Promise.race([refreshed, this.#options.clock.sleep(REGISTRY_WAIT_MS, finished.signal)]);
    if (!isOver) this.#isAway = true;
  }

  #startRefresh(): Promise<void> {
    this.#refreshing ??= this.#exclusive(() => this.#refresh()).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { store, clock } = this.#options;
    const startMs = clock.nowMs();
    try {
      const revision = await store.readRevision();
      if (revision !== this.#revision) {
        const tags = await store.readTags();
        await this.#load(
          [...tags.keys()].filter((key) => this.#copy.get(key)?.tag !== tags.get(key)),
        );
        for (const stream of this.#copy.keys()) if (!tags.has(stream)) this.#copy.delete(stream);
        this.#revision = revision;
        this.#isLoaded = true;
      }
      this.#checkedAtMs = startMs;
      this.#isAway = false;
    } catch (error) {
      this.#isAway = true;
      throw error;
    }
  }

  async #reload(stream: string): Promise<Known | Damaged | null> {
    await this.#exclusive(() => this.#load([stream]));
    return this.#copy.get(stream) ?? null;
  }

  async #load(streams: readonly string[]): Promise<void> {
    for (let at = 0; at < streams.length; at += REGISTRY_SLICE) {
      const slice = streams.slice(at, at + REGISTRY_SLICE);
      const stored = await this.#options.store.readDocuments(slice);
      for (const [index, stream] of slice.entries()) this.#take(stream, stored[index] ?? null);
    }
  }

  #take(stream: string, stored: StoredDocument | null): void {
    if (stored === null) {
      this.#copy.delete(stream);
      return;
    }
    try {
      this.#keep(stream, stored.tag, parseDocument(stream, stored.text));
    } catch (error) {
      if (!(error instanceof BrokenStreamError)) throw error;
      this.#copy.set(stream, { tag: stored.tag, fault: error });
    }
  }

  #keep(stream: string, tag: Tag, document: StreamDocument): void {
    const shared = document.hasEvents ? this.#blank : this.#unknown;
    const profile = isBlank(document)
      ? shared
      : new StreamProfile(stream, tag, document, this.#options.defaults);
    this.#copy.set(stream, { tag, document, profile });
  }

  /** Puts documents in their places, some at a time, and what was applied into the copy. */
  async #put(changes: readonly Replacement[]): Promise<PutOutcome[]> {
    const { store, tags, maxStreams } = this.#options;
    const outcomes: PutOutcome[] = [];
    for (const slice of slicesOf(changes, tags)) {
      const decided = await store.putDocuments(slice, maxStreams).catch((error: unknown) => {
        // Perhaps it was applied: the copy is looked after before anybody relies on it.
        this.#checkedAtMs = Number.NEGATIVE_INFINITY;
        throw error;
      });
      for (const [index, { name, tag, text }] of slice.entries()) {
        if (decided[index] !== 'applied') continue;
        this.#revision = null;
        this.#take(name, text === null ? null : { tag, text });
      }
      outcomes.push(...decided);
    }
    return outcomes;
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}

function* slicesOf(changes: readonly Replacement[], tags: TagSource): Iterable<DocumentPut[]> {
  let slice: DocumentPut[] = [];
  let bytes = 0;
  for (const { stream, expectedTag, document } of changes) {
    const text = document === null ? null : encodeDocument(document);
    bytes += text?.length ?? 0;
    if (slice.length === REGISTRY_SLICE || (slice.length > 0 && bytes > REGISTRY_SLICE_BYTES)) {
      yield slice;
      slice = [];
      bytes = text?.length ?? 0;
    }
    slice.push({ name: stream, expectedTag, tag: tags(), text });
  }
  if (slice.length > 0) yield slice;
}

function removedSegments(before: StreamDocument, after: StreamDocument): Segment[] {
  const kept = new Set(segmentsOf(after).map((segment) => shareKeyOf('', segment)));
  return segmentsOf(before).filter((segment) => !kept.has(shareKeyOf('', segment)));
}

/** Nothing was promised to anybody yet: whoever asked may simply ask again. */
function asUnavailable(error: unknown): never {
  if (error instanceof OutcomeUnknownError) {
    throw new StoreUnavailableError(error.message, { cause: error });
  }
  throw error;
}

function overtaken(): StoreUnavailableError {
  return new StoreUnavailableError('the document of the stream is changed by others all the time');
}
