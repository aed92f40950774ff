// `npm run build`: dependencies and a build, and nothing twice.
import { ensureBuild, ensureDependencies, runScript } from './bootstrap.mjs';

await runScript(async () => {
  await ensureDependencies();
  console.log(await ensureBuild());
});
