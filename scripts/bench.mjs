// `npm run bench:<name>`: makes sure of what the bench needs, then runs bench/<name>.ts from
// source, with the arguments that follow.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import {
  ensureBuild,
  ensureDependencies,
  ensureRedis,
  REPOSITORY,
  runScript,
} from './bootstrap.mjs';

const [name = '', ...args] = process.argv.slice(2);

await runScript(async () => {
  await ensureDependencies();
  await ensureRedis();
  await ensureBuild();
  const bench = join(REPOSITORY, 'bench', `${name}.ts`);
  const child = spawn(process.execPath, ['--import', 'tsx', bench, ...args], {
    cwd: REPOSITORY,
    stdio: 'inherit',
  });
  child.once('close', (status) => {
    process.exitCode = status ?? 1;
  });
});
