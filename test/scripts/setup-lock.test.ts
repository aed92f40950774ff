import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { withSetupLock } from '../../scripts/setup-lock.mjs';

test('work under the lock runs one at a time, and each gets its turn', async () => {
  let running = 0;
  let mostAtOnce = 0;
  const turns = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      withSetupLock('/test/one-at-a-time', async () => {
        running += 1;
        mostAtOnce = Math.max(mostAtOnce, running);
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        running -= 1;
        return index;
      }),
    ),
  );
  expect(mostAtOnce).toBe(1);
  expect(turns).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('different repositories do not wait for each other', async () => {
  const inner = await withSetupLock('/test/outer', () =>
    withSetupLock('/test/inner', async () => 'ran'),
  );
  expect(inner).toBe('ran');
});

test('work that fails gives the lock back', async () => {
  const failing = withSetupLock('/test/failing', async () => {
    throw new Error('broken work');
  });
  await expect(failing).rejects.toThrow('broken work');
  expect(await withSetupLock('/test/failing', async () => 'ran')).toBe('ran');
});

test('a holder that is killed with -9 frees the lock for who waits', async () => {
  const module = fileURLToPath(new URL('../../scripts/setup-lock.mjs', import.meta.url));
  const program = `
    import { withSetupLock } from ${JSON.stringify(module)};
    await withSetupLock('/test/killed', () => {
      console.log('held');
      return new Promise(() => {});
    });
  `;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  let hasRun = false;
  const waiting = withSetupLock('/test/killed', async () => {
    hasRun = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(hasRun).toBe(false);
  holder.kill('SIGKILL');
  await waiting;
  expect(hasRun).toBe(true);
});
