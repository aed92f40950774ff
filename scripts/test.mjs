// `npm test`: makes sure of everything the tests need, then runs the static checks and Vitest,
// and ends with one line of numbers. A static check counts as one test. Arguments go to Vitest.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ensureBuild,
  ensureDependencies,
  ensureRedis,
  REPOSITORY,
  runScript,
  runToEnd,
} from './bootstrap.mjs';

const BIN = join(REPOSITORY, 'node_modules/.bin');
const CHECKED_BY_LINT = ['src', 'test', 'bench', 'scripts', 'bin', 'vitest.config.ts'];

/** @type {{ name: string, command: string, args: string[] }[]} */
const STATIC_CHECKS = [
  { name: 'types', command: 'tsc', args: ['--noEmit'] },
  {
    name: 'lint',
    command: 'oxlint',
    args: ['--type-aware', '--deny-warnings', ...CHECKED_BY_LINT],
  },
  { name: 'format', command: 'biome', args: ['format', '.'] },
];

/** @type {import('node:child_process').StdioOptions} */
const FOREGROUND = ['ignore', 'inherit', 'inherit'];

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

await runScript(async () => {
  await ensureDependencies();
  await ensureRedis();
  await ensureBuild();
  const checks = await runStaticChecks();
  const tests = await runVitest(process.argv.slice(2));
  const passed = checks.passed + tests.passed;
  const failed = checks.failed + tests.failed;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
  console.log(`${passed} passed, ${failed} failed${skipped}`);
  process.exitCode = failed === 0 ? 0 : 1;
});

/** @returns {Promise<Counts>} */
async function runStaticChecks() {
  let failed = 0;
  await Promise.all(
    STATIC_CHECKS.map(async ({ name, command, args }) => {
      const { status, output } = await capture(join(BIN, command), args);
      if (status === 0) {
        console.log(`✓ ${name}`);
      } else {
        failed += 1;
        console.log(`✗ ${name}\n${output}`);
      }
    }),
  );
  return { passed: STATIC_CHECKS.length - failed, failed, skipped: 0 };
}

/**
 * @param {string[]} args
 * @returns {Promise<Counts>}
 */
async function runVitest(args) {
  const folder = await mkdtemp(join(tmpdir(), 'tally-test-'));
  const report = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const vitest = join(BIN, 'vitest');
    const status = await runToEnd(vitest, ['run', ...reporters, ...args], FOREGROUND);
    return countsOf(await readReport(report), status);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * @typedef {{ status: string, assertionResults: { status: string }[] }} FileResult
 * @param {string} path
 * @returns {Promise<FileResult[]>}
 */
async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8')).testResults;
  } catch {
    return [];
  }
}

/**
 * A file that could not be loaded has no tests to fail, and an error outside all tests fails none:
 * each counts as one failure, so that no broken run looks whole.
 *
 * @param {FileResult[]} files
 * @param {number} status Vitest's exit status
 * @returns {Counts}
 */
function countsOf(files, status) {
  const tests = files.flatMap((file) => file.assertionResults);
  const passed = tests.filter((test) => test.status === 'passed').length;
  const failedTests = tests.filter((test) => test.status === 'failed').length;
  const failedFiles = files.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = failedTests + failedFiles;
  return {
    passed,
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: tests.length - passed - failedTests,
  };
}

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<{ status: number, output: string }>}
 */
function capture(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: REPOSITORY, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
      });
    }
    child.once('error', reject);
    child.once('close', (status) => resolve({ status: status ?? 1, output }));
  });
}
