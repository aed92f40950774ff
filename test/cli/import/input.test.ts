import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Input, type InputPiece } from '../../../src/cli/import/input.ts';
import { ManualClock } from '../../../src/lib/clock.ts';

let folder = '';
const never = new AbortController().signal;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tally-input-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function contentOf(input: Input, stop: AbortSignal = never): Promise<string> {
  const pieces: InputPiece[] = [];
  for await (const piece of input.pieces(new ManualClock(), stop)) pieces.push(piece);
  return Buffer.concat(pieces.filter((piece) => piece !== 'pause')).toString();
}

test('a file can be read twice, and what is added meanwhile is left for the next time', async () => {
  const path = join(folder, 'plain.log');
  await writeFile(path, 'one\ntwo\n');
  const input = await Input.of(path, new PassThrough());
  expect([input.isPipe, input.sizeBytes]).toEqual([false, 8]);
  expect(await contentOf(input)).toBe('one\ntwo\n');
  expect(input.readBytes).toBe(8);
  await writeFile(path, 'one\ntwo\nthree\n');
  expect(await contentOf(input)).toBe('one\ntwo\n');
});

test('an empty file is an empty input', async () => {
  const path = join(folder, 'empty.log');
  await writeFile(path, '');
  expect(await contentOf(await Input.of(path, new PassThrough()))).toBe('');
});

test('a name in .gz is unpacked, several members too', async () => {
  const path = join(folder, 'packed.log.gz');
  await writeFile(path, Buffer.concat([gzipSync('one\n'), gzipSync('two\n')]));
  expect(await contentOf(await Input.of(path, new PassThrough()))).toBe('one\ntwo\n');
});

test('gzip that is cut off or none at all is an error of the input', async () => {
  const path = join(folder, 'cut.log.gz');
  await writeFile(path, gzipSync('one\n'.repeat(1000)).subarray(0, 30));
  await expect(contentOf(await Input.of(path, new PassThrough()))).rejects.toThrow(/cannot read/);
  await writeFile(path, 'one\n');
  await expect(contentOf(await Input.of(path, new PassThrough()))).rejects.toThrow(/cannot read/);
});

test('a missing file and a directory are refused by name', async () => {
  await expect(Input.of(join(folder, 'no'), new PassThrough())).rejects.toThrow(/no such file/);
  await expect(Input.of(folder, new PassThrough())).rejects.toThrow(/directory/);
});

test('a pipe that is silent for a second says so once, and goes on', async () => {
  const clock = new ManualClock();
  const pipe = new PassThrough();
  const input = await Input.of('-', pipe);
  const pieces = input.pieces(clock, never);
  pipe.write('one\n');
  expect(String((await pieces.next()).value)).toBe('one\n');
  const next = pieces.next();
  await clock.advance(999);
  await clock.advance(1);
  expect((await next).value).toBe('pause');
  const more = pieces.next();
  await clock.advance(10_000);
  pipe.end('two\n');
  expect(String((await more).value)).toBe('two\n');
  expect((await pieces.next()).done).toBe(true);
});

test('stopping ends the reading of a pipe that stays silent', async () => {
  const stopper = new AbortController();
  const pieces = (await Input.of('-', new PassThrough())).pieces(new ManualClock(), stopper.signal);
  const next = pieces.next();
  stopper.abort();
  expect((await next).done).toBe(true);
});
