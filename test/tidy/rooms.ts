import { posix } from 'node:path';
import { factsOf } from './program-facts.ts';
import type { SourceFile } from './repository.ts';

/**
 * Which room of `src` may import from which others, besides itself. Streams, boards and counters
 * never import each other; the store implements their ports; only main.ts sees everything.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  sketches: ['lib'],
  shards: ['sketches', 'lib'],
  streams: ['shards', 'sketches', 'lib'],
  boards: ['shards', 'sketches', 'lib'],
  counters: ['shards', 'sketches', 'lib'],
  'store/memory': ['streams', 'boards', 'counters', 'shards', 'sketches', 'lib'],
  'store/redis': ['streams', 'boards', 'counters', 'shards', 'sketches', 'lib'],
  'errors.ts': ['lib'],
  'config.ts': ['streams', 'lib'],
  api: ['streams', 'boards', 'counters', 'shards', 'sketches', 'lib', 'errors.ts', 'config.ts'],
  workers: ['streams', 'boards', 'counters', 'shards', 'sketches', 'lib', 'config.ts'],
  client: ['lib'],
  cli: ['client', 'streams', 'sketches', 'lib', 'config.ts', 'main.ts'],
};

/** Rooms that compute and do nothing else: no packages, and of Node only what computes too. */
const PURE_ROOMS = new Set(['sketches', 'shards']);
const PURE_MODULES = new Set(['node:zlib']);

/** Packages that one place knows, so that replacing one means changing that place only. */
const PACKAGE_HOMES: readonly { readonly packages: RegExp; readonly home: RegExp }[] = [
  { packages: /^ioredis$/, home: /^src\/(store\/redis|workers)\// },
  { packages: /^bullmq$/, home: /^src\/workers\// },
  { packages: /^(express|helmet|compression|zod-openapi)$/, home: /^src\/api\// },
  { packages: /^luxon$/, home: /^src\/lib\/calendar\.ts$/ },
  { packages: /^cron-parser$/, home: /^src\/boards\/season-starts\.ts$/ },
  { packages: /^prom-client$/, home: /^src\/(.*\/)?metrics\.ts$/ },
];

/** The room of a file in src: its folder, its store, or itself when it lies at the top. */
function roomOf(path: string): string {
  const [top = '', second = ''] = path.replace(/^src\//, '').split('/');
  return top === 'store' ? `${top}/${second}` : top;
}

/** Imports that leave a room by the wrong door, as `line: reason`. */
export function wrongImports(file: SourceFile): string[] {
  const room = roomOf(file.path);
  const reasons: string[] = [];
  for (const { specifier, line } of factsOf(file).imports) {
    const reason = specifier.startsWith('.')
      ? wrongRoom(file.path, room, specifier)
      : wrongPackage(file.path, room, specifier);
    if (reason !== undefined) {
      reasons.push(`${line}: ${reason}`);
    }
  }
  return reasons;
}

function wrongRoom(path: string, room: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith('src/')) {
    return `${specifier} lies outside src`;
  }
  const targetRoom = roomOf(target);
  if (room === 'main.ts' || targetRoom === room || MAY_IMPORT[room]?.includes(targetRoom)) {
    return undefined;
  }
  return `${room} must not import ${targetRoom}`;
}

function wrongPackage(path: string, room: string, specifier: string): string | undefined {
  if (PURE_ROOMS.has(room) && !PURE_MODULES.has(specifier)) {
    return `${room} is pure and must not import ${specifier}`;
  }
  const wrongHome = PACKAGE_HOMES.find(
    ({ packages, home }) => packages.test(specifier) && !home.test(path),
  );
  return wrongHome && `${specifier} belongs to ${wrongHome.home.source}`;
}
