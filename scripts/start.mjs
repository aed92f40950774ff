// `npm start`: makes sure of dependencies and a build, then becomes the server. The server runs
// in this very process, so that a signal to it needs no middleman.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuild, ensureDependencies, runScript } from './bootstrap.mjs';

process.setSourceMapsEnabled(true);
await runScript(async () => {
  await ensureDependencies();
  const build = await ensureBuild();
  const { runTally } = await import(pathToFileURL(join(build, 'main.js')).href);
  process.exit(await runTally());
});
