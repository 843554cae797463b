import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ts } from "../analysis/typescript.ts";
import { readProviders } from "./needs.ts";

/** A position in the sources; lines and columns are 1-based. */
export interface SourcePosition {
  /** The file, relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Finds the source position of a provider that cannot be determined from bundled code.
 *
 * @param code The bundled code; esbuild puts the path of each file in a comment before its code.
 * @returns The position; `undefined` if the file is not part of the project.
 */
export function findProviderPosition(
  code: string,
  at: number,
  root: string,
): SourcePosition | undefined {
  const file = [...code.slice(0, at).matchAll(/^\/\/ (\S.*)$/gm)].at(-1)?.[1];
  if (file === undefined) return undefined;
  const text = readText(resolve(root, file));
  if (text === undefined) return undefined;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const [node] = readProviders(source).unread;
  if (node === undefined) return { file, line: 1, column: 1 };
  const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
  return { file, line: line + 1, column: character + 1 };
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
