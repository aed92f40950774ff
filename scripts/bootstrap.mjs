// What a clone needs before it can run, made on demand: dependencies, a build, a Redis for the
// tests. Plain Node without dependencies, because it runs before there are any. Messages go to
// stderr, so that a command's own output stays clean.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cp,
  lstat,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withSetupLock } from './setup-lock.mjs';

export const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const MINIMUM_REDIS_MAJOR = 7;
const MINIMUM_NODE = [20, 19];
/** Older builds stay for a while: a server may still run from one. */
const BUILDS_KEPT = 3;
const BUILD_PREFIX = 'dist-';
const UNFINISHED_BUILD = `${BUILD_PREFIX}unfinished`;

/** A reason that the user can act on; shown without a stack. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/** Runs a script's body; a `SetupError` ends the process with its message and status 1. */
export async function runScript(/** @type {() => Promise<void>} */ body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof SetupError)) {
      throw error;
    }
    console.error(`tally: ${error.message}`);
    process.exit(1);
  }
}

/** `npm ci` when node_modules is missing or differs from package-lock.json. */
export async function ensureDependencies() {
  checkNodeVersion();
  if (await dependenciesAreFresh()) {
    return;
  }
  await withSetupLock(REPOSITORY, async () => {
    if (await dependenciesAreFresh()) {
      return;
    }
    console.error('tally: installing dependencies (npm ci)');
    // The build needs the development dependencies too, whatever NODE_ENV says.
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', args, 'npm ci failed; its messages are above');
  });
}

/**
 * Compiles src into a folder named after the hash of what went in, unless it is there already,
 * and points the link `dist` to it. A folder never changes once it has its name, so whoever runs
 * from it is safe from the next build. Returns that folder's path.
 *
 * @returns {Promise<string>}
 */
export async function ensureBuild() {
  return withSetupLock(REPOSITORY, async () => {
    const name = BUILD_PREFIX + (await hashOfBuildInputs());
    const target = join(REPOSITORY, name);
    if (!(await exists(target))) {
      console.error('tally: building');
      await buildInto(target);
    }
    await pointDistTo(name);
    await removeOldBuilds(name);
    return target;
  });
}

/** A redis-server and a redis-cli of version 7 or later, for the tests. */
export async function ensureRedis() {
  if (await hasRedis()) {
    return;
  }
  await withSetupLock(REPOSITORY, async () => {
    if (await hasRedis()) {
      return;
    }
    const prefix = await rootPrefix();
    if (prefix === undefined || (await outputOf('apt-get', ['--version'])) === undefined) {
      throw new SetupError(missingRedisMessage());
    }
    console.error('tally: installing redis-server and redis-cli (apt-get)');
    const [command, ...args] = [...prefix, 'sh', join(REPOSITORY, 'scripts/install-redis.sh')];
    await run(/** @type {string} */ (command), args, missingRedisMessage());
    if (!(await hasRedis())) {
      throw new SetupError(missingRedisMessage());
    }
  });
}

function missingRedisMessage() {
  return (
    `the tests need redis-server and redis-cli, version ${MINIMUM_REDIS_MAJOR} or later: ` +
    'install them (Debian: apt-get install redis-server) and run npm test again'
  );
}

function checkNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [needMajor = 0, needMinor = 0] = MINIMUM_NODE;
  if (major < needMajor || (major === needMajor && minor < needMinor)) {
    throw new SetupError(
      `Node ${MINIMUM_NODE.join('.')} or later is needed; this is ${process.versions.node}`,
    );
  }
}

/**
 * npm notes in node_modules/.package-lock.json what it installed, as the last step. Fresh means
 * that this note lists every package of the lock (but those for other platforms) as locked.
 */
async function dependenciesAreFresh() {
  const [locked, installed] = await Promise.all([
    readLock('package-lock.json'),
    readLock('node_modules/.package-lock.json'),
  ]);
  if (locked === undefined) {
    throw new SetupError('package-lock.json is missing or damaged');
  }
  if (installed === undefined) {
    return false;
  }
  return Object.entries(locked).every(([path, entry]) => {
    const found = installed[path];
    if (path === '' || (found === undefined && entry.optional === true)) {
      return true;
    }
    return found?.version === entry.version && found?.integrity === entry.integrity;
  });
}

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean }} LockEntry
 * @param {string} path
 * @returns {Promise<Record<string, LockEntry> | undefined>}
 */
async function readLock(path) {
  try {
    return JSON.parse(await readFile(join(REPOSITORY, path), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

async function hashOfBuildInputs() {
  const hash = createHash('sha256').update(process.versions.node);
  const inputs = [
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/bootstrap.mjs',
    ...(await filesUnder('src')),
  ];
  for (const path of inputs) {
    const content = await readFile(join(REPOSITORY, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

/** @param {string} target */
async function buildInto(target) {
  const unfinished = join(REPOSITORY, UNFINISHED_BUILD);
  await rm(unfinished, { recursive: true, force: true });
  const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
  // The output does not depend on types (erasableSyntaxOnly); `npm test` checks them.
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', unfinished, '--noCheck'];
  await run(process.execPath, args, 'the build failed; the messages of tsc are above');
  await cp(join(REPOSITORY, 'src'), unfinished, {
    recursive: true,
    filter: async (path) => !path.endsWith('.ts'),
  });
  await rename(unfinished, target);
}

/**
 * Replaces the link in one step: `dist` always leads to a whole build.
 *
 * @param {string} name
 */
async function pointDistTo(name) {
  const dist = join(REPOSITORY, 'dist');
  const existing = await lstat(dist).catch(() => undefined);
  if (existing?.isSymbolicLink() === true && (await readlink(dist)) === name) {
    return;
  }
  if (existing?.isDirectory() === true) {
    await rm(dist, { recursive: true });
  }
  const fresh = join(REPOSITORY, `${BUILD_PREFIX}link`);
  await rm(fresh, { force: true });
  await symlink(name, fresh);
  await rename(fresh, dist);
}

/** @param {string} current */
async function removeOldBuilds(current) {
  const now = new Date();
  await utimes(join(REPOSITORY, current), now, now);
  const names = (await readdir(REPOSITORY)).filter((name) => name.startsWith(BUILD_PREFIX));
  const builds = await Promise.all(
    names.map(async (name) => {
      const path = join(REPOSITORY, name);
      return { path, usedAtMs: (await stat(path)).mtimeMs };
    }),
  );
  builds.sort((a, b) => b.usedAtMs - a.usedAtMs);
  for (const { path } of builds.slice(BUILDS_KEPT)) {
    await rm(path, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @returns {Promise<string[]>} paths from the repository's root, sorted
 */
async function filesUnder(folder) {
  const entries = await readdir(join(REPOSITORY, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(REPOSITORY, join(entry.parentPath, entry.name)))
    .sort();
}

async function hasRedis() {
  const versions = await Promise.all([
    outputOf('redis-server', ['--version']),
    outputOf('redis-cli', ['--version']),
  ]);
  return versions.every((text) => {
    const major = /(?:v=|redis-cli )(\d+)\./.exec(text ?? '')?.[1];
    return major !== undefined && Number(major) >= MINIMUM_REDIS_MAJOR;
  });
}

/** How to run a command as root without being asked for a password; undefined: not possible. */
async function rootPrefix() {
  if (process.getuid?.() === 0) {
    return [];
  }
  const canSudo = (await outputOf('sudo', ['-n', 'true'])) !== undefined;
  return canSudo ? ['sudo', '-n'] : undefined;
}

/** @param {string} path */
async function exists(path) {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/**
 * What a command prints; undefined when it is missing or fails.
 *
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<string | undefined>}
 */
function outputOf(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.once('error', () => resolve(undefined));
    child.once('close', (status) => resolve(status === 0 ? output : undefined));
  });
}

/**
 * Runs a preparing command with its output on our stderr.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {string} failure what to tell the user when it fails
 */
async function run(command, args, failure) {
  if ((await runToEnd(command, args, ['ignore', 2, 2])) !== 0) {
    throw new SetupError(failure);
  }
}

/**
 * Runs a command in the repository's root and returns its exit status. A signal to us goes to the
 * command, and we end by it after the command has ended: nothing is left running behind us, and
 * the set-up lock is not given up while the command still works.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').StdioOptions} stdio
 * @returns {Promise<number>}
 */
export function runToEnd(command, args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: REPOSITORY, stdio });
    /** @type {NodeJS.Signals | undefined} */
    let received;
    /** @param {NodeJS.Signals} signal */
    const passOn = (signal) => {
      received = signal;
      child.kill(signal);
    };
    process.on('SIGINT', passOn).on('SIGTERM', passOn);
    child.once('error', (error) => {
      reject(new SetupError(`${command} cannot be started: ${error.message}`));
    });
    child.once('close', (status) => {
      process.off('SIGINT', passOn).off('SIGTERM', passOn);
      if (received === undefined) {
        resolve(status ?? 1);
      } else {
        process.kill(process.pid, received);
      }
    });
  });
}
