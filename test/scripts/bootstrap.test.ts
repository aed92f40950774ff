import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureBuild, REPOSITORY } from '../../scripts/bootstrap.mjs';

async function filesOfSource(): Promise<string[]> {
  const entries = await readdir(join(REPOSITORY, 'src'), { recursive: true, withFileTypes: true });
  const folder = join(REPOSITORY, 'src/');
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

test('a build holds every program compiled and every other file as it is', async () => {
  const build = await ensureBuild();
  const files = await filesOfSource();
  expect(files).toContain('lib/clock.ts');
  for (const file of files) {
    if (file.endsWith('.ts')) {
      expect((await stat(join(build, file.replace(/\.ts$/, '.js')))).isFile()).toBe(true);
    } else {
      const [built, source] = await Promise.all([
        readFile(join(build, file)),
        readFile(join(REPOSITORY, 'src', file)),
      ]);
      expect(built.equals(source)).toBe(true);
    }
  }
});

test('builds that are asked for at once are one build, and dist leads to it', async () => {
  const builds = await Promise.all([ensureBuild(), ensureBuild(), ensureBuild()]);
  expect(new Set(builds).size).toBe(1);
  const dist = join(REPOSITORY, 'dist');
  expect((await lstat(dist)).isSymbolicLink()).toBe(true);
  expect(await readlink(dist)).toBe(basename(builds[0]));
});

test('a build that is there already is not made again', async () => {
  const build = await ensureBuild();
  const compiled = join(build, 'lib/clock.js');
  const before = await stat(compiled);
  await ensureBuild();
  const after = await stat(compiled);
  expect(after.ino).toBe(before.ino);
  expect(after.mtimeMs).toBe(before.mtimeMs);
});
