import type { BuildFailure, Metafile } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { nameEntryPoints } from "../sources/entry_points.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { BuildError, toBuildError } from "../sources/build_error.ts";
import type { Inputs } from "../sources/file_stamps.ts";
import { LOCAL_BUILD, localResolver } from "../sources/local_bundle.ts";
import { SOURCE } from "../discovery/source_files.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { withTemporaryFolder } from "../sources/temporary_folder.ts";
import { optionalModule } from "./bundle_functions.ts";
import { loadFunctions } from "./load_functions.ts";
import type { LoadError } from "./load_protocol.ts";
import type { Runs } from "./mark_definitions.ts";
import { findStandIn } from "./stand_ins.ts";

/** Options of {@link loadTogether}. */
export interface LoadTogetherOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute paths of the modules. */
  readonly files: readonly string[];
  /** URL of the module whose export `read` reads the facts. */
  readonly reader: string;
  /** JSON for the reader. */
  readonly data: unknown;
  /** The code that is kept. Default: what the modules run. */
  readonly runs?: Runs;
  /** Absolute path of a module that exports nothing if the file does not exist. */
  readonly optionalFile?: string;
  /** Receives the stamp of each source before it is read, even if loading fails. */
  readonly stamps?: Inputs;
}

/** The exports of the module that the reader gets. */
export interface TogetherModule<Data> extends Readonly<Record<string, unknown>> {
  /** All modules of the project that were loaded, by their paths relative to it. */
  readonly modules: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly data: Data;
}

/** What the reader found, or why the modules cannot be loaded. */
export type LoadedTogether<Facts> =
  | {
    readonly facts: Facts;
    readonly errors: readonly LoadError[];
    /** Variables of the environment of which not all values could be tried. */
    readonly warnings: readonly LoadError[];
  }
  | { readonly facts?: undefined; readonly errors: readonly LoadError[] };

/**
 * Loads modules of a project into one program, as `loadFunctions` loads a function. What several
 * modules import is then one value, and no export is dropped.
 *
 * @returns The facts, or the errors with their places.
 */
export async function loadTogether<Facts>(
  { root, files, reader, data, runs, optionalFile, stamps }: LoadTogetherOptions,
): Promise<LoadedTogether<Facts>> {
  let inputs: string[] = [];
  try {
    inputs = await listInputs(root, files, optionalFile, stamps);
    const [{ facts, error, warnings = [] }] = await withTemporaryFolder(
      root,
      "together",
      async (folder) => {
        const entry = join(folder, "entry.mjs");
        writeFileSync(entry, renderEntry(root, inputs, data));
        const functions = [{ name: "project", file: entry, runs, optionalFile }];
        return await loadFunctions({ root, functions, readers: [reader] });
      },
    );
    if (error !== undefined) return { errors: [locate(root, inputs, error)] };
    const found = facts![0] as CheckedFacts<Facts>;
    if (found.variable === undefined) return { facts: found, errors: [], warnings };
    const message = `${found.variable} decides what is described`;
    return { errors: [locate(root, inputs, { message, file: ".trellis", line: 1 })] };
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    return {
      errors: error.errors.map(({ message, file, line }) =>
        locate(root, inputs, { message, file: file ?? ".trellis", line: line ?? 1 })
      ),
    };
  }
}

/** Lists the sources of modules: themselves, and the project's files that they import. */
async function listInputs(
  root: string,
  files: readonly string[],
  optionalFile: string | undefined,
  stamps: Inputs = new Map(),
): Promise<string[]> {
  const { build } = await loadEsbuild("trellis generate");
  const { entryPoints, plugin } = nameEntryPoints(files);
  const { metafile } = await build({
    ...LOCAL_BUILD,
    entryPoints,
    outdir: join(root, ".trellis"),
    absWorkingDir: root,
    metafile: true,
    plugins: [plugin, optionalModule(optionalFile), localResolver(root, stamps)],
  }).catch((error: BuildFailure) => {
    throw toBuildError("project", error);
  }) as { metafile: Metafile };
  return Object.keys(metafile.inputs).filter((path) => SOURCE.test(path)).map((path) =>
    resolve(root, path)
  ).sort();
}

function renderEntry(root: string, inputs: readonly string[], data: unknown): string {
  const imports = inputs.map((file, at) => `import * as m${at} from ${JSON.stringify(file)};`);
  const entries = inputs.map((file, at) => `${JSON.stringify(toPortablePath(root, file))}: m${at}`);
  return `${imports.join("\n")}\nexport const modules = { ${entries.join(", ")} };\n` +
    `export const data = ${JSON.stringify(data)};\n`;
}

/** Finds the line of an error without a place in the project, by searching the sources for a name in its message. */
function locate(root: string, inputs: readonly string[], error: LoadError): LoadError {
  if (!error.file.startsWith(".trellis")) return error;
  const [variable] = /^\w+(?= decides )/.exec(error.message) ?? [];
  const message = variable === undefined
    ? error.message
    : `${variable} decides what is described, and its value is only known at run time: use a literal value`;
  const named = [...error.message.matchAll(/["']([^"']+)["']/g)].map(([, text]) => text);
  for (const text of variable === undefined ? named : [variable]) {
    for (const file of inputs) {
      const at = readFileSync(file, "utf8").split("\n").findIndex((line) => line.includes(text));
      if (at >= 0) return { message, file: toPortablePath(root, file), line: at + 1 };
    }
  }
  const [first] = inputs;
  return { message, file: first === undefined ? error.file : toPortablePath(root, first), line: 1 };
}

/** Facts, and the variable whose value is a part of them. */
export type CheckedFacts<Facts> = Facts & { readonly variable?: string };

/** Notes whether the value of a variable of the environment is a part of what a reader found. */
export function checkFacts<Facts extends object>(facts: Facts): CheckedFacts<Facts> {
  const variable = findStandIn(JSON.stringify(facts));
  return { ...facts, ...variable !== undefined && { variable } };
}
