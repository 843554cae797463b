import type { BuildFailure, PartialMessage, Plugin, PluginBuild } from "esbuild";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { nameEntryPoints } from "./entry_points.ts";
import { createPositions, type FindPosition } from "./source_positions.ts";
import {
  applyEdits,
  dropTrailingDigits,
  type Edit,
  parseSyntax,
  type SyntaxTree,
  visitNodes,
} from "./syntax.ts";

/** A module without its types. */
export interface SourceModule extends SyntaxTree {
  /** Absolute path. */
  readonly path: string;
  /** The source map of the code. */
  readonly map: string;
  readonly findPosition: FindPosition;
}

/** Reads modules as JavaScript. */
export interface SourceReader {
  readonly root: string;
  readonly read: (path: string) => Promise<SourceModule>;
}

/** Creates the reader of the modules of a project; each module is read once. */
export function createSourceReader(
  esbuild: Pick<PluginBuild["esbuild"], "build">,
  root: string,
): SourceReader {
  const modules = new Map<string, Promise<SourceModule>>();

  async function read(path: string): Promise<SourceModule> {
    const outfile = join(dirname(path), "module.js");
    const { entryPoints, plugin } = nameEntryPoints([path]);
    // a separate build, because only builds read tsconfig.json
    const { outputFiles } = await esbuild.build({
      entryPoints: Object.values(entryPoints),
      plugins: [plugin],
      outfile,
      absWorkingDir: root,
      bundle: false,
      write: false,
      sourcemap: "external",
      sourcesContent: false,
      charset: "utf8",
      // without decorators, which the parser does not know
      target: "es2022",
      logLevel: "silent",
    });
    const [map, written] = ["module.js.map", "module.js"].map((name) =>
      outputFiles.find((each) => each.path.endsWith(name))!.text
    );
    const code = restoreNames(written, await readFile(path, "utf8"));
    return {
      ...parseSyntax(code),
      path,
      map,
      findPosition: createPositions(code, map, outfile, root),
    };
  }

  return {
    root,
    read: (path) => {
      const known = modules.get(path);
      if (known !== undefined) return known;
      const found = read(path);
      modules.set(path, found);
      return found;
    },
  };
}

/**
 * Undoes that esbuild renames what has the name of something around it: the function `listNotes` in
 * `const listNotes = define…(async function listNotes() {})` becomes `listNotes2`. Handlers, queries and jobs
 * are named after functions.
 *
 * @param code The code that esbuild wrote.
 * @param source The source, whose words are the names.
 */
function restoreNames(code: string, source: string): string {
  const words = new Set(source.match(/[\p{ID_Continue}$]+/gu));
  const edits: Edit[] = [];
  visitNodes(parseSyntax(code).program, (node) => {
    if (node.type !== "Identifier" || words.has(node.name)) return;
    const name = dropTrailingDigits(node.name);
    // _a2 is a variable that esbuild adds
    const isRenamed = words.has(name) && !/^_[a-z]$/.test(name);
    if (isRenamed) edits.push({ start: node.start, end: node.end, text: name });
  });
  return applyEdits(code, edits);
}

/** The changes of an editor. */
export interface Edits {
  readonly edits: readonly Edit[];
  /** Code at the end of the module. */
  readonly appended?: string;
  readonly errors?: readonly PartialMessage[];
}

/** Changes modules before they are bundled. */
export interface SourceEditor {
  /** Checks whether a module may need changes, by its path and text. */
  wants(path: string, text: string): boolean;
  /** Finds the changes. */
  edit(module: SourceModule): Edits;
}

/**
 * Creates a plugin that changes modules: each editor sees the module before any change.
 *
 * @returns The plugin; it must precede plugins that load modules.
 */
export function editedSourcesPlugin(
  reader: SourceReader,
  editors: readonly SourceEditor[],
): Plugin {
  return {
    name: "edited sources",
    setup(build): void {
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        const wanting = editors.filter((editor) => editor.wants(path, text));
        if (wanting.length === 0) return undefined;
        const module = await reader.read(path).catch((error: BuildFailure) => error);
        if (module instanceof Error) {
          if (!Array.isArray(module.errors)) throw module;
          return { errors: module.errors };
        }
        const found = wanting.map((editor) => editor.edit(module));
        const edits = found.flatMap((each) => each.edits);
        const errors = found.flatMap((each) => each.errors ?? []);
        if (errors.length > 0) return { errors };
        const appended = found.map((each) => each.appended ?? "").join("");
        if (edits.length === 0 && appended === "") return undefined;
        const map = Buffer.from(module.map).toString("base64");
        const url = `//# sourceMappingURL=data:application/json;base64,${map}`;
        return {
          contents: `${applyEdits(module.code, edits)}${appended}\n${url}`,
          loader: "js",
          resolveDir: dirname(path),
        };
      });
    },
  };
}
