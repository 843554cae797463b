import type { Project, Target } from "./project.ts";
import { findDeclaration } from "./scopes.ts";
import { ts } from "./typescript.ts";

/** A replacement of a part of a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Replaces parts of a text.
 *
 * @param from The position where the result starts.
 * @param edits The replacements, in any order; they do not overlap.
 */
export function applyEdits(text: string, from: number, edits: readonly Edit[]): string {
  let result = "";
  let at = from;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}

const MAX_LABEL = 60;

/** Shortens code to a label of one line. */
export function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_LABEL ? `${line.slice(0, MAX_LABEL)} …` : line;
}

/**
 * Returns the specifier of a package's import in the same file, including registry and version.
 */
export function findSpecifier(project: Project, at: ts.Node): string | undefined {
  let node: ts.Node | undefined = ts.isIdentifier(at) ? findDeclaration(at) : undefined;
  while (node !== undefined && !ts.isImportDeclaration(node)) node = node.parent;
  if (node === undefined) return undefined;
  const specifier = (node as ts.ImportDeclaration).moduleSpecifier as ts.StringLiteral;
  return project.resolve(specifier).kind === "package" ? specifier.text : undefined;
}

/** Resolves `schemas.Note`, where `schemas` is a namespace import, to that export only. */
export function findNamespaceMember(project: Project, node: ts.Expression): Target | undefined {
  if (ts.isIdentifier(node)) {
    return findDeclaration(node) === undefined ? undefined : project.getTarget(node);
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const owner = findNamespaceMember(project, node.expression);
  return owner?.kind === "namespace" ? project.findExport(owner.module, node.name.text) : undefined;
}

/**
 * Returns the name under which a variable is exported; `undefined` if it is not exported.
 *
 * @param node The variable's declaration.
 */
export function getExportName(
  project: Project,
  node: ts.VariableDeclaration,
): string | undefined {
  if (!ts.isIdentifier(node.name)) return undefined;
  const { text } = node.name;
  const names = [...project.getModule(node).exports].filter(([, entry]) =>
    entry.kind === "local" && entry.name.text === text
  ).map(([name]) => name);
  if (names.length === 0) return undefined;
  return names.includes(text) ? text : names.filter((name) => name !== "default").sort()[0] ?? text;
}
