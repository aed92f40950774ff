import { cryptoTags, type Tag, type TagSource } from '../../lib/random-tag.ts';
import {
  type BoardStore,
  type Chunk,
  type ChunkRequest,
  type EditOutcome,
  type MemberEdit,
  type PartAt,
  type PartRead,
  type PartWrite,
  type PrepareOutcome,
  type ReadOutcome,
  type RememberedAsk,
  type RememberedOutcome,
  type ScanOutcome,
  type SeasonAt,
  type StepOutcome,
  TIME_BYTES,
  type WriteOutcome,
} from '../../boards/store-port.ts';
import {
  askInput,
  decodeAnswers,
  decodeRefusal,
  decodeRemembered,
  decodeWrite,
  requestInput,
  seasonInput,
} from './board-formats.ts';
import type { RedisConnection } from './connection.ts';
import { BOARD_SLOTS_PER_TTL, BoardPartKeys, type RedisKey } from './keys.ts';
import { type AckPolicy, fenceArg, type LuaScript, loadScript, runScript } from './lua-script.ts';
import { arrayOf, bufferOf, textOf, unexpectedReply } from './replies.ts';

export interface RedisBoardStoreSettings {
  /** How long batch keys, ids and calls are remembered at least, by Redis's clock. */
  readonly keyTtlMs: number;
  readonly idTtlMs: number;
  readonly callTtlMs: number;
  /** All of them together, in one part. */
  readonly maxRememberedIds: number;
  readonly ack: AckPolicy | null;
}

/** What `board-read.lua` and `board-edit.lua` return besides what all scripts of parts do. */
const BEHIND = -4;
const UNRELEASED = -5;
const ABSENT = 1;
const FROZEN = 2;

/** What all scripts of parts share. */
const BEGINNINGS = ['id-ring', 'board-part'];

const SCAN_COUNT = 1_000;
const SCAN_END = '0';

type Input = Readonly<Record<string, unknown>>;

interface Call {
  readonly script: LuaScript;
  readonly part: Tag;
  readonly seasons: readonly SeasonAt[];
  readonly input: Input;
  readonly more?: readonly Buffer[];
}

/** Parts of boards in Redis: each in the slot of its own name, each method one script. */
export class RedisBoardStore implements BoardStore {
  readonly #connection: RedisConnection;
  readonly #settings: RedisBoardStoreSettings;
  readonly #tags: TagSource;
  readonly #widthsMs: readonly number[];
  readonly #scripts = {
    open: loadScript('board-open', BEGINNINGS),
    drop: loadScript('board-drop', BEGINNINGS),
    write: loadScript('board-write', BEGINNINGS),
    remembered: loadScript('board-remembered', BEGINNINGS),
    edit: loadScript('board-edit', BEGINNINGS),
    read: loadScript('board-read', BEGINNINGS),
    prepare: loadScript('board-prepare', BEGINNINGS),
    admit: loadScript('board-admit', BEGINNINGS),
    release: loadScript('board-release', BEGINNINGS),
  };

  constructor(
    connection: RedisConnection,
    settings: RedisBoardStoreSettings,
    tags: TagSource = cryptoTags,
  ) {
    this.#connection = connection;
    this.#settings = settings;
    this.#tags = tags;
    const ttlsMs = [settings.keyTtlMs, settings.idTtlMs, settings.callTtlMs];
    this.#widthsMs = ttlsMs.map((ttlMs, ring) => Math.ceil(ttlMs / BOARD_SLOTS_PER_TTL[ring]!));
  }

  get primaryCount(): number {
    return this.#connection.primaries().length;
  }

  newParts(count: number, beside: readonly Tag[]): Tag[] {
    const partCounts = new Map(this.#connection.primaries().map(({ address }) => [address, 0]));
    for (const part of beside) addTo(partCounts, this.#ownerOf(part));
    return Array.from({ length: count }, () => {
      const fewest = Math.min(...partCounts.values());
      for (;;) {
        const part = this.#tags();
        const owner = this.#ownerOf(part);
        if (owner !== null && (partCounts.get(owner) ?? fewest) > fewest) continue;
        addTo(partCounts, owner);
        return part;
      }
    });
  }

  #ownerOf(part: Tag): string | null {
    return this.#connection.ownerOf(new BoardPartKeys(part).slot);
  }

  async openPart(part: Tag, epoch: Tag): Promise<void> {
    const input = { epoch: '', to: epoch };
    await this.#write({ script: this.#scripts.open, part, seasons: [], input });
  }

  async raiseEpoch(part: Tag, from: Tag, to: Tag): Promise<StepOutcome> {
    const input = { epoch: from, to };
    return stepOutcome(await this.#write({ script: this.#scripts.open, part, seasons: [], input }));
  }

  async dropPart(part: Tag, seasons: readonly SeasonAt[]): Promise<void> {
    await this.#write({ script: this.#scripts.drop, part, seasons, input: {} });
  }

  async write({ part, epoch, rules }: PartAt, write: PartWrite): Promise<WriteOutcome> {
    const { callId, seasons, requests } = write;
    const input = {
      ...rules,
      ...{ epoch, callId, seasons: seasonInput(seasons), ...requestInput(requests) },
      ...{ widths: this.#widthsMs, maxIds: this.#settings.maxRememberedIds },
    };
    const reply = await this.#write({ script: this.#scripts.write, part, seasons, input });
    return decodeRefusal(reply) ?? decodeWrite(reply, requests);
  }

  async remembered(
    part: Tag,
    epoch: Tag | null,
    { ids, keys }: RememberedAsk,
  ): Promise<RememberedOutcome> {
    const input = { epoch: epoch ?? '', ids, keys, widths: this.#widthsMs };
    const call = { script: this.#scripts.remembered, part, seasons: [], input };
    const reply = await this.#write(call);
    return decodeRefusal(reply) ?? decodeRemembered(reply);
  }

  async edit({ part, epoch, rules }: PartAt, edit: MemberEdit): Promise<EditOutcome> {
    const { callId, member, change, seasons } = edit;
    const { isHidden, meta } =
      change.kind === 'change' ? change : { isHidden: undefined, meta: undefined };
    const input = {
      ...rules,
      ...{ epoch, callId, member, seasons: seasonInput(seasons), widths: this.#widthsMs },
      change: change.kind,
      hidden: isHidden === undefined ? -1 : Number(isHidden),
      meta: meta === undefined ? false : (meta ?? ''),
    };
    const reply = await this.#write({ script: this.#scripts.edit, part, seasons, input });
    const refusal = decodeRefusal(reply);
    if (refusal !== null) return refusal;
    if (reply[0] === ABSENT) return { kind: 'absent' };
    return { kind: reply[0] === FROZEN ? 'frozen' : 'edited' };
  }

  async read({ part, epoch, rules }: PartAt, read: PartRead): Promise<ReadOutcome> {
    const { asks, elements } = askInput(read.asks);
    const input = {
      ...rules,
      ...{ epoch, admitted: read.admitted ?? -1, timeBytes: TIME_BYTES, asks },
      seasons: seasonInput([read.season]),
    };
    const call = { script: this.#scripts.read, part, seasons: [read.season], input };
    const reply = await this.#read({ ...call, more: elements });
    if (reply[0] === BEHIND) return { kind: 'behind' };
    if (reply[0] === UNRELEASED) return { kind: 'unreleased', chunk: Number(reply[1]) };
    const refusal = decodeRefusal(reply);
    if (refusal !== null) return refusal;
    return {
      kind: 'read',
      nowMs: Number(reply[1]),
      admitted: Number(reply[2]),
      answers: decodeAnswers(read.asks, arrayOf(reply[3], 'board-read')),
    };
  }

  /**
   * By HSCAN, which has no epoch of its own: whoever walks checks it with the next chunk. A cursor
   * means something to the server that gave it only: behind a failover the walk begins anew.
   */
  async scan({ part }: PartAt, cursor: string | null): Promise<ScanOutcome> {
    const { slot, fixed } = new BoardPartKeys(part);
    const members = fixed[2]!;
    const [runThen, at] = (cursor ?? '').split(' ');
    return await this.#connection.writes.send(slot, async (node): Promise<ScanOutcome> => {
      const scanFrom = (from: string) =>
        node.callBuffer('HSCAN', members, from, 'COUNT', SCAN_COUNT);
      const [info, found] = await Promise.all([node.info('server'), scanFrom(at ?? SCAN_END)]);
      const run = /run_id:(\w+)/.exec(info)?.[1] ?? '';
      const isSame = cursor === null || run === runThen;
      const [next, pairs] = arrayOf(isSame ? found : await scanFrom(SCAN_END), 'hscan');
      const names = arrayOf(pairs, 'hscan').filter((_, index) => index % 2 === 0);
      const following = textOf(next);
      return {
        kind: 'scanned',
        members: names.map((name) => textOf(name)),
        cursor: following === SCAN_END ? null : `${run} ${following}`,
      };
    });
  }

  async prepareChunk(at: PartAt, { seasons, members }: ChunkRequest): Promise<PrepareOutcome> {
    const { part, epoch, rules } = at;
    const input = { ...rules, epoch, seasons: seasonInput(seasons), members };
    const reply = await this.#write({ script: this.#scripts.prepare, part, seasons, input });
    const refusal = decodeRefusal(reply);
    if (refusal !== null) return refusal;
    const number = Number(reply[1]);
    if (number === 0) return { kind: 'prepared', chunk: null };
    const names = arrayOf(reply[2], 'board-prepare').map((name) => textOf(name));
    return { kind: 'prepared', chunk: { number, members: names, content: reply[3] } };
  }

  async admitChunk(
    { part, epoch, rules }: PartAt,
    seasons: readonly SeasonAt[],
    { number, content }: Chunk,
  ): Promise<StepOutcome> {
    const input = { ...rules, epoch, seasons: seasonInput(seasons), chunk: number };
    const more = [bufferOf(content as Uint8Array)];
    return stepOutcome(
      await this.#write({ script: this.#scripts.admit, part, seasons, input, more }),
    );
  }

  async releaseChunk(
    { part, epoch, rules }: PartAt,
    seasons: readonly SeasonAt[],
    chunk: number,
  ): Promise<StepOutcome> {
    const input = { ...rules, epoch, seasons: seasonInput(seasons), chunk };
    return stepOutcome(await this.#write({ script: this.#scripts.release, part, seasons, input }));
  }

  async #write({ script, part, seasons, input, more = [] }: Call): Promise<unknown[]> {
    const { ack } = this.#settings;
    const { slot, keys } = keysOf(part, seasons);
    const call = { script, keys, args: [fenceArg(ack), JSON.stringify(input), ...more] };
    const reply = await this.#connection.writes.sendWrite(slot, (node) =>
      runScript(node, call, ack),
    );
    return arrayOf(reply, 'a script of a board');
  }

  async #read({ script, part, seasons, input, more = [] }: Call): Promise<unknown[]> {
    const { slot, keys } = keysOf(part, seasons);
    const call = { script, keys, args: [fenceArg(null), JSON.stringify(input), ...more] };
    const reply = await this.#connection.reads.send(slot, (node) => runScript(node, call, null));
    return arrayOf(reply, 'a script of a board');
  }
}

function addTo(counts: Map<string, number>, owner: string | null): void {
  if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
}

function keysOf(part: Tag, seasons: readonly SeasonAt[]): { slot: number; keys: RedisKey[] } {
  const names = new BoardPartKeys(part);
  const ofSeasons = seasons.flatMap(({ view, id }) => names.season(view, id));
  return { slot: names.slot, keys: [...names.fixed, ...ofSeasons] };
}

function stepOutcome(reply: readonly unknown[]): StepOutcome {
  const refusal = decodeRefusal(reply);
  if (refusal !== null) return refusal;
  if (reply[0] !== 0) throw unexpectedReply('a step of a move', reply[0]);
  return { kind: 'done' };
}
