import ts from 'typescript';
import type { SourceFile } from './repository.ts';

interface Import {
  readonly specifier: string;
  readonly line: number;
}

export interface Mention {
  readonly text: string;
  readonly line: number;
}

/** What the rules ask about a program text, from its syntax tree: comments do not count. */
export interface ProgramFacts {
  readonly imports: readonly Import[];
  /** `a.b` as written, for every property of a plain name: `Date.now`, `process.env`. */
  readonly properties: readonly Mention[];
  /** Names that are called, and `new X()` without arguments. */
  readonly calls: readonly Mention[];
  /** `export * from` */
  readonly wildcardExports: readonly Mention[];
}

const cache = new WeakMap<SourceFile, ProgramFacts>();

export function factsOf(file: SourceFile): ProgramFacts {
  const known = cache.get(file);
  if (known !== undefined) {
    return known;
  }
  const facts = collectFacts(file);
  cache.set(file, facts);
  return facts;
}

function collectFacts(file: SourceFile): ProgramFacts {
  const tree = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2022, false);
  const imports: Import[] = [];
  const properties: Mention[] = [];
  const calls: Mention[] = [];
  const wildcardExports: Mention[] = [];

  const visit = (node: ts.Node): void => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    if (ts.isImportDeclaration(node)) {
      imports.push({ specifier: textOf(node.moduleSpecifier), line });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      const specifier = textOf(node.moduleSpecifier);
      imports.push({ specifier, line });
      if (node.exportClause === undefined) {
        wildcardExports.push({ text: specifier, line });
      }
    } else if (ts.isCallExpression(node)) {
      const [argument] = node.arguments;
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword && argument !== undefined) {
        imports.push({ specifier: textOf(argument), line });
      } else if (ts.isIdentifier(node.expression)) {
        calls.push({ text: `${node.expression.text}()`, line });
      }
    } else if (ts.isNewExpression(node) && ts.isIdentifier(node.expression)) {
      if ((node.arguments ?? []).length === 0) {
        calls.push({ text: `new ${node.expression.text}()`, line });
      }
    } else if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      properties.push({ text: `${node.expression.text}.${node.name.text}`, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { imports, properties, calls, wildcardExports };
}

/** The value of a string literal; '' for anything that is computed. */
function textOf(node: ts.Expression): string {
  return ts.isStringLiteralLike(node) ? node.text : '';
}
