#!/usr/bin/env node
// The command line's entry: in a fresh clone it first makes sure of dependencies and a build
// (silently when there is nothing to do), then becomes the command.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuild, ensureDependencies, runScript } from '../scripts/bootstrap.mjs';

process.setSourceMapsEnabled(true);
await runScript(async () => {
  await ensureDependencies();
  const build = await ensureBuild();
  await import(pathToFileURL(join(build, 'cli/main.js')).href);
});
