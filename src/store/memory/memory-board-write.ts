/** One write to a part of a board: what becomes of each request, and then of the rows. */
import type {
  EntryOutcome,
  PartEntry,
  PartRequest,
  PartRules,
  RememberedKey,
  RequestOutcome,
  ScoreMode,
  SeasonAt,
} from '../../boards/store-port.ts';
import { utf8Length } from '../../lib/utf8.ts';
import type { MemoryBoardPart, RecordedOutcome } from './memory-board-part.ts';

/** A member's keys after what was applied, season by season. */
interface Draft {
  readonly keys: readonly number[];
  /** Of the entry that changed it last: the order of those reached at the same moment. */
  readonly index: number;
}

/** What a request does, kept apart until it is known that all of it holds. */
interface Attempt {
  readonly record: RememberedKey | null;
  readonly drafts: Map<string, Draft>;
  readonly ids: Set<string>;
  readonly places: number[];
}

export interface WriteContext {
  readonly part: MemoryBoardPart;
  readonly rules: PartRules;
  readonly seasons: readonly SeasonAt[];
  readonly nowMs: number;
  readonly maxRememberedIds: number;
}

export class MemoryBoardWrite {
  readonly #context: WriteContext;
  readonly #drafts = new Map<string, Draft>();
  #entryCount = 0;
  #hasRecorded = false;

  constructor(context: WriteContext) {
    this.#context = context;
  }

  run(request: PartRequest): RecordedOutcome {
    const { entries, key, atomic } = request;
    const firstIndex = this.#entryCount;
    this.#entryCount += entries.length;
    const record = key === null ? null : (this.#context.part.keys.get(key.key) ?? null);
    const refusal = this.#refusalOf(request, record);
    if (refusal !== null) return { kind: refusal };
    const attempt: Attempt = { record, drafts: new Map(), ids: new Set(), places: [] };
    const codes: EntryOutcome['code'][] = [];
    for (const [at, entry] of entries.entries()) {
      const code = this.#apply(attempt, entry, firstIndex + at);
      if (code === 'out_of_range' && atomic) return { kind: 'out_of_range', entry: at };
      codes.push(code);
    }
    this.#keep(attempt, request);
    return { kind: 'applied', codes };
  }

  /** Puts the rows in their places; `timeOf` an entry is 9 bytes. Whether anything was done. */
  finish(timeOf: (index: number) => string): boolean {
    const { part, rules, seasons } = this.#context;
    for (const [member, { keys, index: entryIndex }] of this.#drafts) {
      const bytes = bytesText(member);
      const element = rules.ties === 'earliest' ? timeOf(entryIndex) + bytes : bytes;
      const isHidden = part.rowOf(seasons[0]!, member)?.isHidden ?? false;
      for (const [index, season] of seasons.entries()) {
        const key = keys[index]!;
        if (part.rowOf(season, member)?.key === key) continue;
        part.put(seasons, index, { member, key, element, isHidden });
      }
    }
    return this.#hasRecorded || this.#drafts.size > 0;
  }

  #refusalOf(
    { entries, key }: PartRequest,
    record: RememberedKey | null,
  ): Exclude<RequestOutcome['kind'], 'applied' | 'out_of_range'> | null {
    const { part, maxRememberedIds } = this.#context;
    if (record !== null && record.fingerprint !== key?.fingerprint) return 'key_reused';
    const freshIds = entries.filter(({ id }) => id !== null && part.ids.get(id) === undefined);
    const fresh = freshIds.length + (key !== null && record === null ? 1 : 0);
    if (fresh > 0 && part.rememberedCount + fresh > maxRememberedIds) return 'ids_full';
    if (entries.some(({ member }) => part.moving?.members.has(member))) return 'frozen';
    return null;
  }

  #apply(attempt: Attempt, entry: PartEntry, index: number): EntryOutcome['code'] {
    const { member, value, id } = entry;
    const { part, rules } = this.#context;
    if (attempt.record?.elements[entry.index] === true) return 'duplicate';
    if (id !== null && (attempt.ids.has(id) || part.ids.get(id) === true)) return 'duplicate';
    const draft = attempt.drafts.get(member) ?? this.#drafts.get(member);
    if (!entry.mayCreate && draft === undefined && !part.members.has(member)) return 'absent';
    if (rules.mode !== 'increment' || value !== 0) {
      const before = draft?.keys ?? this.#storedKeys(member);
      const keys = before.map((key) => keyAfter(rules.mode, key, value));
      if (!keys.every(Number.isSafeInteger)) return 'out_of_range';
      if (keys.some((key, at) => key !== before[at])) attempt.drafts.set(member, { keys, index });
    }
    if (id !== null) attempt.ids.add(id);
    attempt.places.push(entry.index);
    return 'applied';
  }

  #storedKeys(member: string): (number | null)[] {
    const { part, seasons } = this.#context;
    return seasons.map((season) => part.rowOf(season, member)?.key ?? null);
  }

  #keep({ record, drafts, ids, places }: Attempt, { key }: PartRequest): void {
    const { part, nowMs } = this.#context;
    for (const [member, draft] of drafts) this.#drafts.set(member, draft);
    for (const id of ids) part.ids.set(id, true, nowMs);
    const isRecorded = key !== null && (record === null || places.length > 0);
    if (isRecorded) {
      const elements = Array.from({ length: key.size }, (_, at) => record?.elements[at] ?? false);
      for (const place of places) elements[place] = true;
      part.keys.set(key.key, { fingerprint: key.fingerprint, elements }, nowMs);
    }
    this.#hasRecorded ||= isRecorded || ids.size > 0;
  }
}

function keyAfter(mode: ScoreMode, old: number | null, value: number): number {
  if (mode === 'best' && old !== null && old <= value) return old;
  const key = mode === 'increment' ? (old ?? 0) + value : value;
  // Never -0.
  return key === 0 ? 0 : key;
}

/** The UTF-8 form, each byte as one character. */
function bytesText(text: string): string {
  return utf8Length(text) === text.length ? text : Buffer.from(text, 'utf8').toString('latin1');
}
