import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ts } from "../analysis/typescript.ts";
import { readProviders } from "./needs.ts";

/** A place in the sources; lines and columns count from 1. */
export interface SourcePlace {
  /** The file, relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Finds the place in the sources of a provider that could not be read from bundled code.
 *
 * @param code The bundled code; esbuild puts the path of each file in a comment before its code.
 * @param at Where in the code the provider is.
 * @param root The project's folder.
 * @returns The place, or `undefined` when the file is none of the project's.
 */
export function findProviderPlace(code: string, at: number, root: string): SourcePlace | undefined {
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
