import { expect, test } from 'vitest';
import { wrongImports } from './rooms.ts';

function importing(path: string, specifier: string): string[] {
  return wrongImports({ path, text: `import type { x } from '${specifier}';` });
}

test.each([
  ['src/streams/fold.ts', '../sketches/summary.ts'],
  ['src/streams/fold.ts', './store-port.ts'],
  ['src/store/redis/append.ts', '../../streams/store-port.ts'],
  ['src/store/redis/client.ts', 'ioredis'],
  ['src/workers/queue.ts', 'bullmq'],
  ['src/api/app.ts', 'express'],
  ['src/sketches/summary-codec.ts', 'node:zlib'],
  ['src/main.ts', './store/redis/client.ts'],
  ['src/lib/random-tag.ts', 'node:crypto'],
])('%s may import %s', (path, specifier) => {
  expect(importing(path, specifier)).toEqual([]);
});

test.each([
  ['src/lib/bytes.ts', '../sketches/hash.ts'],
  ['src/sketches/hash.ts', 'node:crypto'],
  ['src/streams/fold.ts', '../boards/board.ts'],
  ['src/streams/fold.ts', '../store/memory/store.ts'],
  ['src/store/memory/store.ts', '../redis/keys.ts'],
  ['src/api/app.ts', '../store/redis/client.ts'],
  ['src/api/app.ts', '../main.ts'],
  ['src/api/app.ts', 'ioredis'],
  ['src/workers/queue.ts', '../api/app.ts'],
  ['src/streams/fold.ts', 'bullmq'],
  ['src/store/redis/client.ts', 'express'],
  ['src/api/app.ts', '../../test/support/redis-server.ts'],
])('%s must not import %s', (path, specifier) => {
  expect(importing(path, specifier)).toHaveLength(1);
});

test('exports from and dynamic imports count as imports', () => {
  const path = 'src/streams/fold.ts';
  expect(wrongImports({ path, text: "export { x } from '../api/app.ts';" })).toHaveLength(1);
  expect(wrongImports({ path, text: "await import('../api/app.ts');" })).toHaveLength(1);
});
