import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A text file of the repository, by its path from the root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const ROOT = new URL('../../', import.meta.url);
const NOT_OURS = /^(\.git|node_modules|coverage|dist|dist-.*)$/;
const BINARY = /\.(bin|gz|png|ico|woff2)$/;

/** Every text file of the repository that is ours, sorted by path. */
export function readRepository(): SourceFile[] {
  const top = readdirSync(ROOT, { withFileTypes: true }).filter(({ name }) => !NOT_OURS.test(name));
  const paths = top.flatMap((entry) =>
    entry.isDirectory()
      ? filesUnder(entry.name).map((path) => `${entry.name}/${path}`)
      : [entry.name],
  );
  return paths
    .filter((path) => !BINARY.test(path))
    .sort()
    .map((path) => ({ path, text: readFile(path) }));
}

/** By its path from the root. */
export function readFile(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

function filesUnder(folder: string): string[] {
  const path = fileURLToPath(new URL(`${folder}/`, ROOT));
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(path.length).replace(/^\/+/, ''));
}
