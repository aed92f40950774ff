import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { missingHeaderWords, undeclaredKeys } from './lua.ts';
import { factsOf, type Mention } from './program-facts.ts';
import type { SourceFile } from './repository.ts';
import { wrongImports } from './rooms.ts';

export interface Rule {
  /** A sentence that completes "the repository keeps the rule: ". */
  readonly name: string;
  readonly appliesTo: (path: string) => boolean;
  /** What is wrong in a file, each as `line: reason` or a reason; empty when nothing is. */
  readonly check: (file: SourceFile) => readonly string[];
  /** A file that breaks the rule: the proof that the rule can fail. */
  readonly planted: SourceFile;
}

const MAX_FILE_LINES = 500;
const MAX_LINE_COLUMNS = 100;
const SKETCH_HEADER_WORDS = [
  ...['What', 'Paper', 'Params', 'Guarantee'],
  ...['Memory', 'Cost', 'Merge', 'Not'],
];
/**
 * The formatter breaks code but no string: a sentence in quotes may stay in one piece, and so may
 * what has no space to break at, such as an address or a pattern.
 */
const TOO_LONG = new RegExp(
  `^(?=.{${MAX_LINE_COLUMNS + 1},})(?!.*(['"\`]).{30,}\\1)(?!.*\\S{60,})`,
);
const TIMERS = ['setTimeout()', 'setInterval()'];

const isProgram = (path: string): boolean => /\.(ts|mjs)$/.test(path);
const isSource = (path: string): boolean => path.startsWith('src/') && path.endsWith('.ts');
const isTest = (path: string): boolean => path.startsWith('test/') && path.endsWith('.test.ts');
const isLua = (path: string): boolean => path.endsWith('.lua');
/** A codec draws its bytes in its header, and an error class explains itself. */
const isSketch = (path: string): boolean =>
  /^src\/sketches\/[^/]+\.ts$/.test(path) && !/-(codec|error)\.ts$/.test(path);

export const RULES: readonly Rule[] = [
  {
    name: 'imports between rooms, and of packages, follow the table',
    appliesTo: isSource,
    check: wrongImports,
    planted: file('src/sketches/a.ts', "import { x } from '../store/redis/keys.ts';"),
  },
  {
    name: 'time comes from src/lib/clock.ts only',
    appliesTo: (path) => isSource(path) && path !== 'src/lib/clock.ts',
    check: (source) => [
      ...forbidden(factsOf(source).properties, ['Date.now', 'AbortSignal.timeout']),
      ...forbidden(factsOf(source).calls, ['new Date()', 'Date()', ...TIMERS]),
    ],
    planted: file('src/streams/a.ts', 'const startMs = Date.now();'),
  },
  {
    name: 'nobody draws random numbers that are not passed in',
    appliesTo: isProgram,
    check: (source) => forbidden(factsOf(source).properties, ['Math.random']),
    planted: file('src/streams/a.ts', 'const jitter = Math.random();'),
  },
  {
    name: 'the environment is read in src/config.ts only',
    appliesTo: (path) => isSource(path) && path !== 'src/config.ts',
    check: (source) => forbidden(factsOf(source).properties, ['process.env']),
    planted: file('src/api/a.ts', "const port = process.env['PORT'];"),
  },
  {
    name: 'tests wait for conditions and never for time',
    appliesTo: isTest,
    check: (source) => forbidden(factsOf(source).calls, TIMERS),
    planted: file('test/a.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 100));'),
  },
  {
    name: 'no test is singled out, and no module is mocked',
    appliesTo: isTest,
    check: (source) =>
      forbidden(factsOf(source).properties, ['test.only', 'it.only', 'describe.only', 'vi.mock']),
    planted: file('test/a.test.ts', "test.only('a', () => {});"),
  },
  {
    name: 'src holds TypeScript, Lua and what the browser needs, but no compiled output',
    appliesTo: (path) => path.startsWith('src/'),
    check: (source) => (/\.(m?js|map|d\.ts)$/.test(source.path) ? ['compiled output'] : []),
    planted: file('src/lib/a.js', ''),
  },
  {
    name: 'no file exports everything of another',
    appliesTo: isSource,
    check: (source) => factsOf(source).wildcardExports.map(({ line, text }) => `${line}: ${text}`),
    planted: file('src/streams/index.ts', "export * from './fold.ts';"),
  },
  {
    name: 'relative imports name the file that exists',
    appliesTo: isProgram,
    check: importsOfMissingFiles,
    planted: file('src/lib/a.ts', "import { assert } from './assert.js';"),
  },
  {
    name: 'a Lua script begins with its contract',
    appliesTo: isLua,
    check: missingHeaderWords,
    planted: file('src/store/redis/a.lua', '--[[ Purpose: nothing ]]\nreturn 0'),
  },
  {
    name: 'a Lua script touches only keys that it declares',
    appliesTo: isLua,
    check: undeclaredKeys,
    planted: file('src/store/redis/a.lua', "redis.call('GET', KEYS[1] .. ':more')"),
  },
  {
    name: 'a sketch begins with its contract',
    appliesTo: isSketch,
    check: missingSketchWords,
    planted: file('src/sketches/a.ts', '/*\n * What  a sketch\n */\nexport const a = 1;'),
  },
  {
    name: 'nothing is left for later in the text',
    appliesTo: () => true,
    check: (source) => linesWith(source, new RegExp(['TO', 'DO|FIX', 'ME|XX', 'X:'].join(''))),
    planted: file('src/lib/a.ts', `// ${'TO'}${'DO'} make it work`),
  },
  {
    name: `a file has at most ${MAX_FILE_LINES} lines`,
    appliesTo: (path) => isProgram(path) || isLua(path),
    check: (source) => {
      const lineCount = source.text.trimEnd().split('\n').length;
      return lineCount > MAX_FILE_LINES ? [`${lineCount} lines`] : [];
    },
    planted: file('src/lib/a.ts', '//\n'.repeat(MAX_FILE_LINES + 1)),
  },
  {
    name: `a line has at most ${MAX_LINE_COLUMNS} columns`,
    appliesTo: (path) => isProgram(path) || isLua(path) || path.endsWith('.sh'),
    check: (source) => linesWith(source, TOO_LONG),
    planted: file('src/lib/a.ts', `// ${'long '.repeat(20)}`),
  },
  {
    name: 'the lock names no registry: every clone installs from its own',
    appliesTo: (path) => path === 'package-lock.json',
    check: (source) => linesWith(source, /"resolved"|https?:\/\/registry/),
    planted: file('package-lock.json', '"resolved": "https://registry.npmjs.org/x/-/x-1.0.0.tgz"'),
  },
  {
    name: 'no text names a path of the machine it was written on',
    appliesTo: (path) => path !== 'LICENSE',
    check: (source) => linesWith(source, /(^|[^\w.~])\/(work|tmp|root|home)\//),
    planted: file('docs/a.md', `see ${'/wo'}${'rk/main'}`),
  },
  {
    name: 'every relative link in the documents leads somewhere',
    appliesTo: (path) => path.endsWith('.md'),
    check: brokenLinks,
    planted: file('docs/a.md', '[gone](no-such-page.md)'),
  },
];

function file(path: string, text: string): SourceFile {
  return { path, text };
}

function forbidden(mentions: readonly Mention[], texts: readonly string[]): string[] {
  return mentions
    .filter(({ text }) => texts.includes(text))
    .map(({ line, text }) => `${line}: ${text}`);
}

function linesWith(source: SourceFile, pattern: RegExp): string[] {
  return source.text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${index + 1}: ${line.trim()}`] : []));
}

function missingSketchWords(source: SourceFile): string[] {
  const header = /^\/\*[\s\S]*?\*\//.exec(source.text)?.[0] ?? '';
  return SKETCH_HEADER_WORDS.filter((word) => !new RegExp(`^ \\* ${word} `, 'm').test(header)).map(
    (word) => `the header lacks "${word}"`,
  );
}

function importsOfMissingFiles(source: SourceFile): string[] {
  return factsOf(source)
    .imports.filter(({ specifier }) => specifier.startsWith('.'))
    .filter(({ specifier }) => !existsInRepository(source, specifier))
    .map(({ line, specifier }) => `${line}: ${specifier}`);
}

function brokenLinks(source: SourceFile): string[] {
  const targets = [...source.text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(
    ([, target = '']) => target,
  );
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => !existsInRepository(source, target))
    .map((target) => `no file at ${target}`);
}

function existsInRepository(source: SourceFile, relativePath: string): boolean {
  const path = posix.join(posix.dirname(source.path), relativePath);
  return existsSync(new URL(`../../${path}`, import.meta.url));
}
