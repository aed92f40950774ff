import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/streams/buckets.ts';
import { DIMENSION_VALUES_MAX } from '../../src/streams/limits.ts';
import { NO_MODERATION } from '../../src/streams/moderation.ts';
import {
  EMPTY_DOCUMENT,
  encodeDocument,
  parseDocument,
  type StreamDocument,
} from '../../src/streams/stream-document.ts';
import {
  admitStream,
  RegistrySetup,
  RETENTION,
  SETTLED_MS,
  valuesOf,
} from '../support/registry-setup.ts';

const COUNTRY = { dimensions: [{ name: 'country' }] };

async function withEvents(setup: RegistrySetup) {
  const registry = setup.start();
  await admitStream(registry, 's');
  return registry;
}

describe('the retention of a stream', () => {
  test('may be anything before its first event, and only shrink afterwards', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    await registry.changeSettings('s', { retention: { minute: 2 * HOUR_MS } });
    await registry.changeSettings('s', { retention: { minute: 20 * HOUR_MS } });
    await admitStream(registry, 's');
    await registry.changeSettings('s', { retention: { minute: 20 * HOUR_MS } });
    const { settings } = await registry.changeSettings('s', { retention: { minute: 9 * HOUR_MS } });
    expect(settings.retention).toEqual({ ...RETENTION, minute: 9 * HOUR_MS });
    const refused = { code: 'retention_grows', parameter: 'retention.minute' };
    const longer = { retention: { minute: 9 * HOUR_MS + 60_000 } };
    await expect(registry.changeSettings('s', longer)).rejects.toMatchObject(refused);
    // To leave it out asks for the default, which is more.
    await expect(registry.changeSettings('s', {})).rejects.toMatchObject(refused);
    expect((await registry.of('s')).settings.retention.minute).toBe(9 * HOUR_MS);
  });
});

describe('a dimension', () => {
  test('that was there before the first event has always had all of it', async () => {
    const registry = new RegistrySetup().start();
    await registry.changeSettings('s', COUNTRY);
    await registry.admit(new Map([['s', valuesOf('country', 'IN')]]));
    const profile = await registry.of('s');
    expect(profile.sinceMs('country')).toBeNull();
    expect(profile.sinceMs('country', 'IN')).toBeNull();
    expect(profile.valuesOf('country')).toEqual(['IN', 'other']);
  });

  test('that came later says since when, as long as it is kept', async () => {
    const setup = new RegistrySetup();
    const registry = await withEvents(setup);
    expect((await registry.changeSettings('s', COUNTRY)).sinceMs('country')).toBe(SETTLED_MS);
    await setup.clock.advance(HOUR_MS);
    const two = { dimensions: [{ name: 'device' }, { name: 'country' }] };
    const profile = await registry.changeSettings('s', two);
    expect(profile.sinceMs('country')).toBe(SETTLED_MS);
    expect(profile.sinceMs('device')).toBe(SETTLED_MS + HOUR_MS);
    expect(profile.sinceMs('device', 'tv')).toBe(SETTLED_MS + HOUR_MS);
    expect(profile.dimensions.map(({ name }) => name)).toEqual(['device', 'country']);
  });

  test('that is taken away is dropped with its shares, and begins anew when it comes back', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    await registry.changeSettings('s', COUNTRY);
    await registry.admit(new Map([['s', valuesOf('country', 'IN', 'EG')]]));
    const without = await registry.changeSettings('s', {});
    expect(without.valuesOf('country')).toEqual([]);
    expect(without.keepsValue('country', 'IN')).toBe(false);
    expect(setup.dropped).toEqual(['IN', 'EG', 'other'].map((value) => `s\x1fcountry\x1f${value}`));
    const again = await registry.changeSettings('s', COUNTRY);
    expect(again.valuesOf('country')).toEqual(['other']);
    expect(again.sinceMs('country')).toBe(SETTLED_MS);
  });

  test('gives its first values a segment, and counts the others together', async () => {
    const registry = new RegistrySetup().start();
    await registry.changeSettings('s', { dimensions: [{ name: 'country', maxValues: 2 }] });
    await registry.admit(new Map([['s', valuesOf('country', 'IN', 'other', 'EG', 'FR')]]));
    const profile = await registry.of('s');
    expect(profile.valuesOf('country')).toEqual(['IN', 'EG', 'other']);
    const kept = ['IN', 'EG', 'other', 'FR'].filter((value) =>
      profile.keepsValue('country', value),
    );
    expect(kept).toEqual(['IN', 'EG', 'other']);
  });

  test('with more room than before has complete segments of new values from then on', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    const limited = (maxValues: number) => ({ dimensions: [{ name: 'd', maxValues }] });
    await registry.changeSettings('s', limited(2));
    await registry.admit(new Map([['s', valuesOf('d', 'a')]]));
    // There was room all the time, so a value that comes now has never been sent before.
    await registry.changeSettings('s', limited(1));
    await setup.clock.advance(HOUR_MS);
    await registry.changeSettings('s', limited(2));
    await registry.admit(new Map([['s', valuesOf('d', 'b', 'c')]]));
    const profile = await registry.of('s');
    expect(profile.valuesOf('d')).toEqual(['a', 'b', 'other']);
    expect(profile.sinceMs('d', 'a')).toBeNull();
    expect(profile.sinceMs('d', 'b')).toBe(SETTLED_MS + HOUR_MS);
    expect(profile.sinceMs('d')).toBeNull();
    const tooFew = { code: 'invalid_settings', parameter: 'dimensions.0.maxValues' };
    await expect(registry.changeSettings('s', limited(1))).rejects.toMatchObject(tooFew);
  });

  test('with a list of values keeps those and drops the others', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    const listed = (...values: string[]) => ({ dimensions: [{ name: 'd', values }] });
    await registry.changeSettings('s', { dimensions: [{ name: 'd' }] });
    await registry.admit(new Map([['s', valuesOf('d', 'a', 'b')]]));
    // There was room for `c` until now: it never occurred.
    const first = await registry.changeSettings('s', listed('a', 'c'));
    expect(first.valuesOf('d')).toEqual(['a', 'c', 'other']);
    expect([first.sinceMs('d', 'a'), first.sinceMs('d', 'c')]).toEqual([null, null]);
    expect(setup.dropped).toEqual(['s\x1fd\x1fb']);
    await registry.admit(new Map([['s', valuesOf('d', 'e')]]));
    expect((await registry.of('s')).keepsValue('d', 'e')).toBe(false);
    // What counted together with the rest until now does not any more.
    const second = await registry.changeSettings('s', listed('a', 'b'));
    expect([second.sinceMs('d', 'a'), second.sinceMs('d', 'b')]).toEqual([null, SETTLED_MS]);
    await registry.changeSettings('s', { dimensions: [{ name: 'd' }] });
    await registry.admit(new Map([['s', valuesOf('d', 'e')]]));
    expect((await registry.of('s')).sinceMs('d', 'e')).toBe(SETTLED_MS);
  });

  test('takes as many values as it may have in one go', async () => {
    const registry = new RegistrySetup().start();
    const dimensions = [{ name: 'd', maxValues: DIMENSION_VALUES_MAX }];
    await registry.changeSettings('s', { dimensions });
    const values = Array.from({ length: DIMENSION_VALUES_MAX + 1 }, (_, index) => `v${index}`);
    await registry.admit(new Map([['s', valuesOf('d', ...values)]]));
    const { shares } = (await registry.of('s')).dimensions[0]!;
    expect([...shares.keys()]).toEqual(values.slice(0, DIMENSION_VALUES_MAX));
  });
});

describe('a change of settings', () => {
  test('that is refused changes nothing', async () => {
    const setup = new RegistrySetup();
    const registry = await withEvents(setup);
    const before = await setup.memory.readTags();
    await expect(registry.changeSettings('s', { kMax: 0 })).rejects.toMatchObject({
      code: 'invalid_settings',
      parameter: 'kMax',
    });
    expect(await setup.memory.readTags()).toEqual(before);
    expect(setup.dropped).toEqual([]);
  });

  test('leaves the lists of the moderation alone, and is told by the version', async () => {
    const setup = new RegistrySetup();
    const registry = await withEvents(setup);
    expect((await registry.of('s')).version).toBe('');
    const blocked = await registry.changeModeration('s', [{ action: 'block', item: 'x' }], {
      by: 'm',
      reason: 'spam',
    });
    const changed = await registry.changeSettings('s', { mode: 'allowlist' });
    expect(changed.moderation.audit).toMatchObject([{ by: 'm', reason: 'spam' }]);
    expect(changed.isBlocked('x')).toBe(true);
    expect(changed.isHidden('y')).toBe(true);
    expect(new Set(['', blocked.version, changed.version]).size).toBe(3);
    const imported = await registry.importModeration('s', NO_MODERATION, { by: 'm' });
    expect(imported.isBlocked('x')).toBe(false);
    expect(imported.moderation.audit).toHaveLength(2);
  });

  test('may make the sketches of the stream smaller or larger at any time', async () => {
    const registry = await withEvents(new RegistrySetup());
    const smaller = await registry.changeSettings('s', { epsilon: 0.01, delta: 0.1 });
    expect(smaller.closedShape).toMatchObject({ width: 512, depth: 3 });
    const larger = await registry.changeSettings('s', { candidates: 4_000 });
    expect(larger.closedShape).toMatchObject({ width: 16_384, depth: 5, candidates: 4_000 });
  });
});

describe('the text of a document', () => {
  const document: StreamDocument = {
    hasEvents: true,
    settings: { dimensions: [{ name: 'd', values: null, maxValues: 3 }], retention: { day: 1 } },
    dimensions: [
      { name: 'd', sinceMs: 5, openSinceMs: null, values: [{ value: '\u{1f600}', sinceMs: null }] },
    ],
    moderation: {
      blocked: { items: ['a'], prefixes: ['b'] },
      allowed: { items: [], prefixes: [] },
      audit: [{ atMs: 1, by: 'm', action: 'block', item: 'a' }],
    },
  };

  test('is read back as it was written', () => {
    for (const written of [document, EMPTY_DOCUMENT]) {
      expect(parseDocument('s', encodeDocument(written))).toEqual(written);
    }
  });

  test('is refused with anything missing, added or of another kind', () => {
    const whole = JSON.parse(encodeDocument(document)) as Record<string, unknown>;
    for (const name of Object.keys(whole)) {
      const { [name]: _, ...rest } = whole;
      expect(() => parseDocument('s', JSON.stringify(rest)), name).toThrow(/damaged/);
      const other = JSON.stringify({ ...whole, [name]: 'x' });
      expect(() => parseDocument('s', other), name).toThrow(/damaged/);
    }
    expect(() => parseDocument('s', JSON.stringify({ ...whole, more: 1 }))).toThrow(/damaged/);
    const text = encodeDocument(document);
    for (let length = 0; length < text.length; length += 1) {
      expect(() => parseDocument('s', text.slice(0, length))).toThrow(/damaged/);
    }
  });
});
