import { describe, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { type BatchGroup, decodeBatches } from '../../src/streams/batch.ts';
import { bucketEndMs, bucketOf, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { IngestRefusedError, StrictRefusedError } from '../../src/streams/ingest-errors.ts';
import { APPEND_REPEAT_PAUSE_MS, REJECTED_LISTED_MAX } from '../../src/streams/limits.ts';
import type { AppendRequest } from '../../src/streams/store-port.ts';
import { Pipeline, RETENTION, START_MS } from '../support/pipeline.ts';

const HOUR_WINDOW = { kind: 'trailing', lengthMs: HOUR_MS, untilMs: null } as const;

describe('which events are taken', () => {
  test('those of the future up to the limit, and none of a millisecond later', async () => {
    const pipeline = new Pipeline();
    const answer = await pipeline.send([
      { atMs: START_MS + MINUTE_MS },
      { atMs: START_MS + MINUTE_MS + 1 },
    ]);
    expect(answer).toEqual({
      accepted: 1,
      duplicate: 0,
      rejectedCount: 1,
      rejected: [{ index: 1, code: 'too_new' }],
    });
  });

  test('those of the past as long as the day they are of is kept, and none before', async () => {
    const oldestDay = bucketOf('day', START_MS - RETENTION.day);
    // At this moment the oldest day is kept for a last millisecond.
    const startMs = bucketEndMs(oldestDay) + RETENTION.day - 1;
    const pipeline = new Pipeline({ startMs });
    const events = [{ atMs: oldestDay.startMs }, { atMs: oldestDay.startMs - 1 }];
    expect(await pipeline.send(events)).toMatchObject({
      accepted: 1,
      rejected: [{ index: 1, code: 'too_old' }],
    });
    await pipeline.clock.advance(1);
    expect(await pipeline.send(events)).toMatchObject({
      accepted: 0,
      rejected: [
        { index: 0, code: 'too_old' },
        { index: 1, code: 'too_old' },
      ],
    });
  });

  test.each([
    ['minute', 'hour'],
    ['hour', 'day'],
  ] as const)(
    'late ones go to the %s while it is kept, and to the %s afterwards',
    async (finer, coarser) => {
      const bucket = bucketOf(finer, START_MS - RETENTION[finer]);
      const pipeline = new Pipeline({ startMs: bucketEndMs(bucket) + RETENTION[finer] - 1 });
      await pipeline.send([{ atMs: bucket.startMs }]);
      await pipeline.clock.advance(1);
      await pipeline.send([{ atMs: bucket.startMs }]);
      const buckets = (await waitingGroups(pipeline)).map((group) => group.bucket);
      expect(buckets).toEqual([bucket, bucketOf(coarser, bucket.startMs)]);
    },
  );

  test('an event without a time counts for the time of its arrival', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    expect(await waitingGroups(pipeline)).toMatchObject([{ bucket: bucketOf('minute', START_MS) }]);
  });

  test('events that were refused before stand with the others, in the order of the request', async () => {
    const pipeline = new Pipeline();
    const tooOld = { atMs: START_MS - 2 * RETENTION.day };
    const rejected = [
      { index: 3, code: 'unknown_field' },
      { index: 0, code: 'invalid_event' },
    ];
    const answer = await pipeline.send(
      [{ index: 4, ...tooOld }, { index: 1 }, { index: 2, ...tooOld }],
      { rejected },
    );
    expect(answer.accepted).toBe(1);
    expect(answer.rejected).toEqual([
      { index: 0, code: 'invalid_event' },
      { index: 2, code: 'too_old' },
      { index: 3, code: 'unknown_field' },
      { index: 4, code: 'too_old' },
    ]);
  });

  test('a batch without any is answered and leaves nothing behind', async () => {
    const pipeline = new Pipeline();
    expect(await pipeline.send([])).toEqual({
      accepted: 0,
      duplicate: 0,
      rejectedCount: 0,
      rejected: [],
    });
    expect(pipeline.watched.calls).toEqual([]);
  });

  test('a strict batch is taken whole or not at all, and then uses no key', async () => {
    const pipeline = new Pipeline();
    const bad = { atMs: START_MS + HOUR_MS };
    const refused = pipeline.send([{}, bad], { strict: true, key: '1' });
    await expect(refused).rejects.toThrow(StrictRefusedError);
    await expect(refused).rejects.toMatchObject({
      rejection: { rejectedCount: 1, rejected: [{ index: 1, code: 'too_new' }] },
    });
    const rejected = [{ index: 1, code: 'invalid_event' }];
    await expect(pipeline.send([{}], { strict: true, rejected })).rejects.toMatchObject({
      rejection: { rejectedCount: 1, rejected },
    });
    expect(pipeline.watched.calls).toEqual([]);
    const answer = await pipeline.send([{}, {}], { strict: true, key: '1', fingerprint: 'other' });
    expect(answer).toMatchObject({ accepted: 2, duplicate: 0, rejected: [] });
  });
});

describe('a batch with a key', () => {
  test('sent again is answered like the first time, and is counted once', async () => {
    const pipeline = new Pipeline();
    const events = [{}, { atMs: START_MS + HOUR_MS }, {}];
    const first = await pipeline.send(events, { key: '1' });
    expect(first).toMatchObject({ accepted: 2, duplicate: 0, rejected: [{ index: 1 }] });
    // By now the event that was of the future could be taken: the answer is still the first.
    await pipeline.clock.advance(HOUR_MS);
    const retry = await pipeline.send(events, { key: '1' });
    expect(retry).toEqual({ ...first, accepted: 0, duplicate: 2 });
    await pipeline.foldAll();
    const { total } = await pipeline.queries.top({
      stream: 'default',
      window: { kind: 'trailing', lengthMs: 2 * HOUR_MS, untilMs: null },
      k: 1,
    });
    expect(total).toBe(2);
  });

  test('keeps the number of rejected events, and names the first hundred only', async () => {
    const pipeline = new Pipeline();
    const rejected = Array.from({ length: REJECTED_LISTED_MAX + 1 }, (_, index) => ({
      index,
      code: 'invalid_event',
    }));
    const first = await pipeline.send([], { key: '1', rejected });
    expect(first.rejectedCount).toBe(REJECTED_LISTED_MAX + 1);
    expect(first.rejected).toEqual(rejected.slice(0, REJECTED_LISTED_MAX));
    expect(await pipeline.send([], { key: '1', rejected })).toEqual(first);
  });

  test('of which every event was rejected is remembered too', async () => {
    const pipeline = new Pipeline();
    const events = [{ atMs: START_MS + HOUR_MS }];
    const first = await pipeline.send(events, { key: '1' });
    await pipeline.clock.advance(HOUR_MS);
    const retry = await pipeline.send(events, { key: '1' });
    expect(retry).toEqual({ ...first, accepted: 0, duplicate: 0 });
    expect(await waitingGroups(pipeline)).toEqual([]);
  });

  test('in 50 copies at once is counted once, whatever else goes along', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => [
        pipeline.send([{}, {}], { key: 'abc' }),
        pipeline.send([{ item: `other-${index}` }]),
      ]).flat(),
    );
    const copies = answers.filter((_, index) => index % 2 === 0);
    expect(copies.filter(({ accepted }) => accepted === 2)).toHaveLength(1);
    expect(copies.filter(({ duplicate }) => duplicate === 2)).toHaveLength(49);
    await pipeline.foldAll();
    const question = { stream: 'default', window: HOUR_WINDOW, items: ['a'] };
    expect((await pipeline.queries.items(question)).items[0]?.count).toBe(2);
  });

  test('with another body is refused and changes nothing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}], { key: '1', fingerprint: 'one body' });
    const other = pipeline.send([{}], { key: '1', fingerprint: 'another' });
    await expect(other).rejects.toThrow(IngestRefusedError);
    await expect(other).rejects.toMatchObject({ refusal: 'key_reused' });
    expect(await waitingGroups(pipeline)).toHaveLength(1);
  });

  test('goes to the partition that its key picks, on every server', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    const keyOf = (head: number): string => head.toString(16).padStart(8, '0').padEnd(64, 'f');
    for (const head of [0, 1, 2, 3, 4, 5, 0xffffffff]) {
      pipeline.watched.calls = [];
      await pipeline.send([{}], { key: keyOf(head) });
      await pipeline.send([{}], { key: keyOf(head) });
      const picked = pipeline.watched.callsOf('append').map(({ args }) => args[0]);
      expect(picked).toEqual([head % 3, head % 3]);
    }
  });

  test('is told from a retry of itself by a random mark, not by the key', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}], { key: '1' });
    await pipeline.send([{}], { key: '1' });
    const attempts = pipeline.watched
      .callsOf('append')
      .flatMap(({ args }) => args[1] as AppendRequest[])
      .map(({ attempt }) => attempt);
    expect(new Set(attempts).size).toBe(2);
  });

  test('whose answer was lost is accepted by its own repetition, not taken for a duplicate', async () => {
    const pipeline = new Pipeline();
    let isLost = true;
    pipeline.watched.around = async (_call, run) => {
      const result = await run();
      if (isLost) {
        isLost = false;
        throw new OutcomeUnknownError('the answer was lost');
      }
      return result;
    };
    const sent = pipeline.send([{}], { key: '1' });
    await pipeline.clock.advance(APPEND_REPEAT_PAUSE_MS);
    expect(await sent).toMatchObject({ accepted: 1, duplicate: 0, rejectedCount: 0 });
    expect(await waitingGroups(pipeline)).toHaveLength(1);
  });
});

describe('batches without a key', () => {
  test('take turns over the partitions', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    for (let index = 0; index < 6; index += 1) await pipeline.send([{}]);
    const picked = pipeline.watched.callsOf('append').map(({ args }) => Number(args[0]));
    expect(picked.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 2, 2]);
  });

  test('fail when the store is gone or full, by an error that says which', async () => {
    const full = new Pipeline({ store: { maxBacklogEntries: 0 } });
    await expect(full.send([{}])).rejects.toMatchObject({ refusal: 'backlog_full' });
    await expect(full.send([{}], { key: '1' })).rejects.toMatchObject({ refusal: 'backlog_full' });
    const gone = new Pipeline();
    gone.watched.around = async () => {
      throw new StoreUnavailableError('gone');
    };
    await expect(gone.send([{}])).rejects.toThrow(StoreUnavailableError);
  });

  test('are in the store when drain resolves, and without any it resolves at once', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.ingest.drain();
    const sent = Array.from({ length: 10 }, () => pipeline.send([{}]));
    await pipeline.ingest.drain();
    expect(await waitingGroups(pipeline)).not.toHaveLength(0);
    await Promise.all(sent);
  });
});

test('an actor is nowhere in the store, before and after every step', async () => {
  const actor = 'alice@example.org';
  const pipeline = new Pipeline();
  await pipeline.send([{ actor, item: 'the item' }], { key: '1' });
  await pipeline.send([{ actor, atMs: START_MS - 30 * HOUR_MS }]);
  const encodings = [
    actor,
    Buffer.from(actor).toString('hex'),
    Buffer.from(actor).toString('base64'),
  ];
  const expectNowhere = (): void => {
    const stored = pipeline.memory.everythingStored();
    expect(stored).toContain('the item');
    for (const encoding of encodings) expect(stored).not.toContain(encoding);
  };
  expectNowhere();
  await pipeline.foldAll();
  expectNowhere();
  await pipeline.compactAll();
  expectNowhere();
  const distinct = await pipeline.queries.distinct({ stream: 'default', window: HOUR_WINDOW });
  expect(distinct.estimate).toBe(1);
});

async function waitingGroups(pipeline: Pipeline): Promise<BatchGroup[]> {
  const groups: BatchGroup[] = [];
  for (let partition = 0; partition < pipeline.memory.partitionCount; partition += 1) {
    for (const { blob } of await pipeline.memory.readLog(partition, 1_000, 2 ** 24)) {
      groups.push(...decodeBatches(blob, pipeline.partContext));
    }
  }
  return groups;
}
