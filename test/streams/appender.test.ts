import { describe, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { Appender } from '../../src/streams/appender.ts';
import { BatchBuilder } from '../../src/streams/batch.ts';
import { bucketOf } from '../../src/streams/buckets.ts';
import {
  APPEND_BYTES_MAX,
  APPEND_QUEUE_BYTES_MAX,
  APPEND_REPEAT_PAUSE_MS,
  APPEND_REPEATS_MAX,
  APPEND_REQUESTS_MAX,
  SHARED_BATCH_EVENTS_MAX,
} from '../../src/streams/limits.ts';
import type { AppendOutcome, AppendRequest } from '../../src/streams/store-port.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';
import type { StoreCall, WatchedStore } from '../support/watched-store.ts';

const ALL_PAUSES_MS = APPEND_REPEAT_PAUSE_MS * (2 ** APPEND_REPEATS_MAX - 1);

describe('natural batching', () => {
  test('what arrives at one moment goes with one append', async () => {
    const { appender, watched, builderOf } = setUp();
    await Promise.all(Array.from({ length: 100 }, () => appender.appendShared(builderOf(1))));
    expect(sizesOf(watched)).toEqual([1]);
  });

  test('what arrives while an append is under way goes with the next one', async () => {
    const { appender, watched, builderOf, pipeline } = setUp();
    const release = holdAppends(watched);
    const first = appender.appendShared(builderOf(1));
    await settle();
    const later: Promise<unknown>[] = [];
    for (let index = 0; index < 50; index += 1) {
      later.push(appender.appendShared(builderOf(1)), appender.appendKeyed(requestOf(`${index}`)));
      await settle();
    }
    expect(sizesOf(watched)).toEqual([1]);
    release();
    await Promise.all([first, ...later]);
    expect(sizesOf(watched)).toEqual([1, 51]);
    expect((await pipeline.memory.readStats(0)).waitingEntries).toBe(2);
  });

  test('batches with a key stay requests of their own, others are summed up into one', async () => {
    const { appender, watched, builderOf } = setUp();
    await Promise.all([
      appender.appendKeyed(requestOf('1')),
      appender.appendShared(builderOf(2)),
      appender.appendKeyed(requestOf('2')),
      appender.appendShared(builderOf(3)),
    ]);
    const [requests] = requestsOf(watched);
    expect(requests?.map(({ idSource }) => idSource)).toEqual(['client', 'client', 'server']);
  });

  test('small batches share a request up to the limit of events and not beyond it', async () => {
    for (const [eventCount, requestCount] of [
      [SHARED_BATCH_EVENTS_MAX - 400, 1],
      [SHARED_BATCH_EVENTS_MAX - 399, 2],
    ] as const) {
      const { appender, watched, builderOf } = setUp();
      await Promise.all([
        appender.appendShared(builderOf(400)),
        appender.appendShared(builderOf(eventCount)),
      ]);
      expect(sizesOf(watched)).toEqual([requestCount]);
    }
  });

  test('an append carries as many requests as its limit, and the rest goes with the next', async () => {
    const { appender, watched, builderOf } = setUp();
    const keyed = Array.from({ length: APPEND_REQUESTS_MAX }, (_, index) =>
      appender.appendKeyed(requestOf(`${index}`)),
    );
    await Promise.all([...keyed, appender.appendShared(builderOf(1))]);
    expect(sizesOf(watched)).toEqual([APPEND_REQUESTS_MAX, 1]);
  });

  test('an append carries as many bytes as its limit, and the rest goes with the next', async () => {
    const half = new Uint8Array(APPEND_BYTES_MAX / 2);
    const one = new Uint8Array(1);
    const sizesFor = async (blobs: readonly Uint8Array[]): Promise<number[]> => {
      const { appender, watched } = setUp();
      answerApplied(watched);
      const requests = blobs.map((blob, index) => ({ ...requestOf(`${index}`), blob }));
      await Promise.all(requests.map((request) => appender.appendKeyed(request)));
      return sizesOf(watched);
    };
    expect(await sizesFor([half, half])).toEqual([2]);
    expect(await sizesFor([half, half, one])).toEqual([2, 1]);
    expect(await sizesFor([half, one, half])).toEqual([2, 1]);
  });

  test('a shared batch does not go along where it would pass the limit of bytes', async () => {
    const { appender, watched, builderOf } = setUp();
    answerApplied(watched);
    const blob = new Uint8Array(APPEND_BYTES_MAX - 1);
    await Promise.all([
      appender.appendKeyed({ ...requestOf('1'), blob }),
      appender.appendShared(builderOf(1)),
    ]);
    expect(sizesOf(watched)).toEqual([1, 1]);
  });

  test('a request larger than an append may be goes alone', async () => {
    const { appender, watched } = setUp();
    answerApplied(watched);
    const blob = new Uint8Array(APPEND_BYTES_MAX + 1);
    await Promise.all([
      appender.appendKeyed({ ...requestOf('1'), blob }),
      appender.appendKeyed({ ...requestOf('2'), blob }),
    ]);
    expect(sizesOf(watched)).toEqual([1, 1]);
  });

  test('everybody gets the outcome of his own request', async () => {
    const { appender } = setUp();
    const attempts = [
      requestOf('1', { answer: 'first' }),
      requestOf('2', { answer: 'second' }),
      requestOf('1', { answer: 'retry' }),
      requestOf('2', { fingerprint: 'another body' }),
      requestOf('3'),
    ];
    const outcomes = await Promise.all(attempts.map((request) => appender.appendKeyed(request)));
    expect(outcomes).toEqual([
      { kind: 'applied' },
      { kind: 'applied' },
      { kind: 'duplicate', answer: 'first' },
      { kind: 'key_reused' },
      { kind: 'applied' },
    ]);
  });
});

describe('an append whose outcome is unknown', () => {
  test('is repeated in the same partition with the same ids, and is counted once', async () => {
    const { appender, watched, pipeline, builderOf } = setUp();
    loseAnswers(watched, APPEND_REPEATS_MAX);
    const keyed = appender.appendKeyed(requestOf('1'));
    const shared = appender.appendShared(builderOf(5));
    await pipeline.clock.advance(ALL_PAUSES_MS);
    expect(await keyed).toEqual({ kind: 'applied' });
    await shared;
    const calls = watched.callsOf('append');
    expect(calls).toHaveLength(1 + APPEND_REPEATS_MAX);
    for (const { args } of calls) expect(args).toEqual(calls[0]?.args);
    const entries = await pipeline.memory.readLog(0, 10, 2 ** 20);
    expect(entries).toHaveLength(1);
  });

  test('waits longer before each repetition', async () => {
    const { appender, watched, pipeline } = setUp();
    loseAnswers(watched, APPEND_REPEATS_MAX);
    const keyed = appender.appendKeyed(requestOf('1'));
    const callTimes: number[] = [];
    for (let pastMs = 0; pastMs <= ALL_PAUSES_MS; pastMs += 50) {
      await pipeline.clock.advance(0);
      const callCount = watched.callsOf('append').length;
      while (callTimes.length < callCount) callTimes.push(pipeline.clock.nowMs() - START_MS);
      await pipeline.clock.advance(50);
    }
    await keyed;
    expect(callTimes).toEqual([0, 150, 450, 1_050]);
  });

  test('is reported as unknown after the last repetition', async () => {
    const { appender, watched, pipeline } = setUp();
    loseAnswers(watched, 1 + APPEND_REPEATS_MAX);
    const error = appender.appendKeyed(requestOf('1')).catch((reason: unknown) => reason);
    await pipeline.clock.advance(ALL_PAUSES_MS);
    expect(await error).toBeInstanceOf(OutcomeUnknownError);
    expect(watched.callsOf('append')).toHaveLength(1 + APPEND_REPEATS_MAX);
  });

  test('stays unknown when the store is gone afterwards', async () => {
    const { appender, watched, pipeline } = setUp();
    let calls = 0;
    watched.around = async () => {
      calls += 1;
      throw calls === 1 ? new OutcomeUnknownError('lost') : new StoreUnavailableError('gone');
    };
    const error = appender.appendKeyed(requestOf('1')).catch((reason: unknown) => reason);
    await pipeline.clock.advance(ALL_PAUSES_MS);
    expect(await error).toBeInstanceOf(OutcomeUnknownError);
  });

  test('makes what arrives meanwhile wait, not fail', async () => {
    const { appender, watched, pipeline, builderOf } = setUp();
    loseAnswers(watched, 1 + APPEND_REPEATS_MAX);
    const lost = appender.appendKeyed(requestOf('1')).catch((reason: unknown) => reason);
    await settle();
    const next = appender.appendShared(builderOf(1));
    await pipeline.clock.advance(ALL_PAUSES_MS);
    expect(await lost).toBeInstanceOf(OutcomeUnknownError);
    await next;
  });
});

test('a store that is gone at first has applied nothing, and nothing is repeated', async () => {
  const { appender, watched, builderOf } = setUp();
  watched.around = async () => {
    throw new StoreUnavailableError('gone');
  };
  await expect(appender.appendShared(builderOf(1))).rejects.toThrow(StoreUnavailableError);
  expect(watched.callsOf('append')).toHaveLength(1);
  watched.around = (_call, run) => run();
  await appender.appendShared(builderOf(1));
});

test('an error that is none of the store is handed on, and the next append goes on', async () => {
  const { appender, watched, builderOf } = setUp();
  watched.around = async () => {
    throw new TypeError('a bug');
  };
  await expect(appender.appendShared(builderOf(1))).rejects.toThrow(TypeError);
  watched.around = (_call, run) => run();
  await appender.appendShared(builderOf(1));
});

describe('the queue of what waits', () => {
  const quarter = new Uint8Array(APPEND_QUEUE_BYTES_MAX / 4);

  test('takes bytes up to its limit and refuses one more', async () => {
    const { appender, watched } = setUp();
    const release = holdAppends(watched);
    const first = appender.appendKeyed(requestOf('first'));
    await settle();
    const waiting = [0, 1, 2, 3].map((index) =>
      appender.appendKeyed({ ...requestOf(`${index}`), blob: quarter }),
    );
    const refused = appender.appendKeyed({ ...requestOf('late'), blob: new Uint8Array(1) });
    expect(await refused).toEqual({ kind: 'backlog_full' });
    answerApplied(watched);
    release();
    const outcomes = await Promise.all([first, ...waiting]);
    expect(outcomes).toEqual(Array(5).fill({ kind: 'applied' }));
    expect(await appender.appendKeyed(requestOf('later'))).toEqual({ kind: 'applied' });
  });

  test('counts answers too: a batch of which every event was rejected has nothing else', async () => {
    const { appender, watched } = setUp();
    const release = holdAppends(watched);
    const first = appender.appendKeyed(requestOf('first'));
    await settle();
    const answer = 'x'.repeat(quarter.length);
    const blob = new Uint8Array();
    const waiting = [0, 1, 2, 3].map((index) =>
      appender.appendKeyed({ ...requestOf(`${index}`), answer, blob }),
    );
    const refused = appender.appendKeyed({ ...requestOf('late'), answer: '{}', blob });
    expect(await refused).toEqual({ kind: 'backlog_full' });
    answerApplied(watched);
    release();
    await Promise.all([first, ...waiting]);
  });

  test('refuses what was shared when there is no room for it', async () => {
    const { appender, watched, builderOf } = setUp();
    const release = holdAppends(watched);
    const first = appender.appendKeyed(requestOf('first'));
    await settle();
    const waiting = [0, 1, 2, 3].map((index) =>
      appender.appendKeyed({ ...requestOf(`${index}`), blob: quarter }),
    );
    const shared = [1, 2].map(() => appender.appendShared(builderOf(SHARED_BATCH_EVENTS_MAX)));
    await expect(shared[0]).rejects.toMatchObject({ refusal: 'backlog_full' });
    answerApplied(watched);
    release();
    await Promise.all([first, ...waiting, shared[1]]);
  });

  test('forgets nobody who comes at the very end of an append', async () => {
    // One batch in each of the turns in which an append may just be ending.
    for (let turns = 0; turns < 12; turns += 1) {
      const { appender, builderOf } = setUp();
      const first = appender.appendShared(builderOf(1));
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await Promise.all([first, appender.appendShared(builderOf(1))]);
    }
  });
});

test('a backlog that is full, and too many ids, refuse a shared batch by their names', async () => {
  const full = setUp({ maxBacklogEntries: 1 });
  await full.appender.appendShared(full.builderOf(1));
  await expect(full.appender.appendShared(full.builderOf(1))).rejects.toMatchObject({
    refusal: 'backlog_full',
  });
  const known = setUp({ maxRememberedIds: 1 });
  await known.appender.appendShared(known.builderOf(1));
  await expect(known.appender.appendShared(known.builderOf(1))).rejects.toMatchObject({
    refusal: 'ids_full',
  });
});

function setUp(store = {}) {
  const pipeline = new Pipeline({ store });
  const { watched, clock, tags, partContext } = pipeline;
  const appender = new Appender({ store: watched.port, partition: 0, clock, tags });
  const builderOf = (eventCount: number): BatchBuilder => {
    const builder = new BatchBuilder(partContext);
    const bucket = bucketOf('minute', START_MS);
    for (let index = 0; index < eventCount; index += 1) builder.add('a', bucket, 'x', 1, null);
    return builder;
  };
  return { pipeline, appender, watched, builderOf };
}

function requestOf(id: string, fields: Partial<AppendRequest> = {}): AppendRequest {
  return {
    idSource: 'client',
    id,
    fingerprint: 'f',
    attempt: `${id} ${JSON.stringify(fields)}`,
    answer: '',
    blob: new Uint8Array([1]),
    ...fields,
  };
}

/** Appends wait until the function that is returned is called. */
function holdAppends(watched: WatchedStore): () => void {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  watched.around = async (_call, run) => {
    await held;
    return run();
  };
  return release;
}

/** From now on appends are answered without a store, so that large blobs cost nothing. */
function answerApplied(watched: WatchedStore): void {
  watched.around = async (call): Promise<AppendOutcome[]> =>
    requestsOfCall(call).map(() => ({ kind: 'applied' }));
}

/** The next so many appends are carried out, but their answers are lost. */
function loseAnswers(watched: WatchedStore, count: number): void {
  let left = count;
  watched.around = async (_call, run) => {
    const result = await run();
    left -= 1;
    if (left >= 0) throw new OutcomeUnknownError('the answer was lost');
    return result;
  };
}

function requestsOfCall({ args }: StoreCall): readonly AppendRequest[] {
  return args[1] as readonly AppendRequest[];
}

function requestsOf(watched: WatchedStore): (readonly AppendRequest[])[] {
  return watched.callsOf('append').map(requestsOfCall);
}

/** How many requests each append carried. */
function sizesOf(watched: WatchedStore): number[] {
  return requestsOf(watched).map(({ length }) => length);
}

/** Lets everything that is ready run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
