// `npm run bench:<name>`: makes sure of what the bench needs, then runs bench/<name>.ts from
// source, with the arguments that follow.
import { join } from 'node:path';
import {
  ensureBuild,
  ensureDependencies,
  ensureRedis,
  REPOSITORY,
  runScript,
  runToEnd,
} from './bootstrap.mjs';

const [name = '', ...args] = process.argv.slice(2);

await runScript(async () => {
  await ensureDependencies();
  await ensureRedis();
  await ensureBuild();
  const bench = join(REPOSITORY, 'bench', `${name}.ts`);
  process.exitCode = await runToEnd(
    process.execPath,
    ['--import', 'tsx', bench, ...args],
    'inherit',
  );
});
