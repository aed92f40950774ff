import { describe, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { decodeBatches } from '../../src/streams/batch.ts';
import { bucketOf, HOUR_MS } from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';
import { REGISTRY_FRESH_MS } from '../../src/streams/limits.ts';
import { shareOf } from '../../src/streams/shares.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';

const TWO = { dimensions: [{ name: 'country', maxValues: 2 }, { name: 'device' }] };

function from(country: string, more: Partial<EventInput> = {}): Partial<EventInput> {
  return { dims: { country }, ...more };
}

/** What waits in the log: total, and of it without actor, of each share, by a readable name. */
async function waiting(pipeline: Pipeline): Promise<Record<string, [number, number]>> {
  const shares: Record<string, [number, number]> = {};
  for (let partition = 0; partition < pipeline.memory.partitionCount; partition += 1) {
    for (const { blob } of await pipeline.memory.readLog(partition, 1_000, 2 ** 30)) {
      for (const { share, summary } of decodeBatches(blob, pipeline.partContext)) {
        const { stream, segment } = shareOf(share);
        const name = segment === null ? stream : `${segment.dimension}:${segment.value}`;
        const [total, withoutActor] = shares[name] ?? [0, 0];
        shares[name] = [total + summary.total, withoutActor + summary.withoutActor];
      }
    }
  }
  return shares;
}

describe('an event with dimensions', () => {
  test('counts in its stream, and in one segment for each dimension that is kept', async () => {
    const pipeline = new Pipeline();
    const dimensions = [...TWO.dimensions, { name: 'constructor' }];
    await pipeline.registry.changeSettings('default', { dimensions });
    const answer = await pipeline.send([
      { dims: { country: 'IN', device: 'tv', colour: 'red' }, count: 3, actor: 'x' },
      { dims: { device: 'tv' }, actor: 'y' },
      { dims: {}, actor: 'x' },
      { dims: JSON.parse('{"__proto__":"a"}') as Record<string, string> },
      {},
    ]);
    // An event is one, in however many segments it counts.
    expect(answer.accepted).toBe(5);
    expect(await waiting(pipeline)).toEqual({
      default: [7, 2],
      'country:IN': [3, 0],
      'device:tv': [4, 0],
    });
  });

  test('counts in the stream only where the stream keeps none', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([from('IN')]);
    expect(Object.keys(await waiting(pipeline))).toEqual(['default']);
  });

  test('counts under other when there is no room for its value, in one batch or later', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings('default', TWO);
    await pipeline.send([from('IN'), from('other'), from('EG'), from('FR'), from('IN')]);
    await pipeline.send([from('DE'), from('EG')]);
    expect(await waiting(pipeline)).toEqual({
      default: [7, 7],
      'country:IN': [2, 2],
      'country:EG': [2, 2],
      'country:other': [3, 3],
    });
  });

  test('has its value known before it is in the log, on every server', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings('default', TWO);
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'append') {
        const [document] = await pipeline.registryStore.readDocuments(['default']);
        expect(document?.text).toContain('"IN"');
      }
      return run();
    };
    await pipeline.send([from('IN')]);
    expect.assertions(1);
  });

  test('goes to the bucket that its own stream still keeps', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings('short', { retention: { minute: 2 * HOUR_MS } });
    const atMs = START_MS - 3 * HOUR_MS;
    await pipeline.send([{ stream: 'short', atMs }, { atMs }]);
    const [entry] = await pipeline.memory.readLog(0, 10, 2 ** 30);
    const buckets = decodeBatches(entry!.blob, pipeline.partContext).map(({ share, bucket }) => [
      share,
      bucket,
    ]);
    expect(Object.fromEntries(buckets)).toEqual({
      short: bucketOf('hour', atMs),
      default: bucketOf('minute', atMs),
    });
  });
});

describe('streams that are new', () => {
  test('are taken up to their limit; events of others are rejected by index', async () => {
    const pipeline = new Pipeline({ maxStreams: 2 });
    const events = ['a', 'b', 'c', 'a'].map((stream) => ({ stream }));
    expect(await pipeline.send(events)).toMatchObject({
      accepted: 3,
      rejected: [{ index: 2, code: 'too_many_streams' }],
    });
    await pipeline.registry.delete('b');
    expect(await pipeline.send([{ stream: 'c' }])).toMatchObject({ accepted: 1, rejected: [] });
  });

  test('are not made known by events that are not taken', async () => {
    const pipeline = new Pipeline();
    const tooOld = { stream: 'old', atMs: 0 };
    expect(await pipeline.send([tooOld])).toMatchObject({ accepted: 0, rejectedCount: 1 });
    expect((await pipeline.registry.of('old')).hasEvents).toBe(false);
    expect((await pipeline.registryStore.readTags()).size).toBe(0);
  });

  test('wait for the registry, and with it gone are refused as a whole', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'known' }]);
    pipeline.registryStore.putDocuments = () =>
      Promise.reject(new StoreUnavailableError('the slot is gone'));
    await expect(pipeline.send([{ stream: 'known' }, { stream: 'new' }])).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(await pipeline.send([{ stream: 'known' }])).toMatchObject({ accepted: 1 });
    expect(await waiting(pipeline)).toEqual({ known: [2, 2] });
  });

  test('with a damaged document are rejected by index, and others are not', async () => {
    const pipeline = new Pipeline();
    const put = { name: 'bad', expectedTag: null, tag: pipeline.tags(), text: '{' };
    await pipeline.registryStore.putDocuments([put], 10);
    await pipeline.clock.advance(REGISTRY_FRESH_MS);
    expect(await pipeline.send([{ stream: 'bad' }, { stream: 'good' }])).toMatchObject({
      accepted: 1,
      rejected: [{ index: 0, code: 'stream_damaged' }],
    });
  });
});

describe('events of known streams and values', () => {
  test('are appended without a word to the registry while the copy is fresh', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings('a', TWO);
    await pipeline.send([{ stream: 'a', dims: { country: 'IN' } }, { stream: 'b' }]);
    const silent = (): never => {
      throw new Error('the registry was asked');
    };
    pipeline.registryStore.readRevision = silent;
    pipeline.registryStore.putDocuments = silent;
    const admit = vi.spyOn(pipeline.registry, 'admit');
    await pipeline.clock.advance(REGISTRY_FRESH_MS - 1);
    const sent = pipeline.send([
      { stream: 'a' },
      { stream: 'b' },
      { stream: 'a', dims: { country: 'IN' } },
      { stream: 'a', dims: { country: 'other' } },
    ]);
    // A turn later they are on their way: batches of one turn go together.
    await Promise.resolve();
    expect(pipeline.watched.callsOf('append')).toHaveLength(2);
    await sent;
    expect(admit).not.toHaveBeenCalled();
  });
});
