import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { runOrThrow } from "../program.ts";
import { type Figure, findForbidden } from "./measure.ts";

const NOTES = fileURLToPath(new URL("../../bench/apps/notes", import.meta.url));

/** Limits of a function of the notes application, in kilobytes (1,000 bytes). */
interface BuiltFunction {
  readonly name: string;
  /** Folder below `dist/`. */
  readonly folder: string;
  /** Goal for all files together. */
  readonly goal: number;
  /** Limit of `index.mjs`, which each process reads: the reached size and at most 4 KB. */
  readonly entryCeiling: number;
  /** Limit of all files together: the reached size and at most 4 KB. */
  readonly ceiling: number;
  /** Packages that belong to it, although they are forbidden elsewhere. */
  readonly contains?: readonly string[];
}

/** The functions, with limits of what `trellis build` with `precompile` writes. */
const FUNCTIONS: readonly BuiltFunction[] = [
  {
    name: "GET /notes",
    folder: "NotesGet",
    goal: 250,
    entryCeiling: 363,
    ceiling: 467,
    contains: ["drizzle"],
  },
  {
    name: "GET /notes/{id}",
    folder: "NotesByIdGet",
    goal: 250,
    entryCeiling: 362,
    ceiling: 465,
    contains: ["drizzle"],
  },
  {
    name: "POST /notes",
    folder: "NotesPost",
    goal: 250,
    entryCeiling: 363,
    ceiling: 466,
    contains: ["drizzle"],
  },
  {
    name: "the webhook",
    folder: "WebhooksNotes",
    goal: 250,
    entryCeiling: 321,
    ceiling: 419,
    contains: ["drizzle"],
  },
  {
    name: "sign-in and sign-up",
    folder: "Auth",
    // most of it is better-auth
    goal: 949,
    entryCeiling: 1022,
    ceiling: 1022,
    contains: ["better-auth", "drizzle"],
  },
];

/**
 * Builds the notes application of `bench/apps` with the command line of an installed package.
 *
 * @param folder Where the package, esbuild, TypeScript and the application's packages are installed.
 * @returns The folder with one folder for each function.
 */
export async function buildNotes(folder: string): Promise<string> {
  const project = await Deno.makeTempDir({ dir: folder, prefix: "notes-" });
  await runOrThrow("cp", ["-R", `${NOTES}/.`, project]);
  const cli = join(folder, "node_modules", "@trellis", "fn", "cli", "main.js");
  await runOrThrow("node", [cli, "build", "--project", project]);
  return join(project, "dist");
}

/**
 * Measures the files of the built functions, without their source maps.
 *
 * @param dist The folder that {@link buildNotes} returned.
 * @returns Two figures for each function: its entry, and all its files.
 */
export function measureBuilt(dist: string): Figure[] {
  return FUNCTIONS.flatMap((built) => {
    const folder = join(dist, built.folder);
    const files = [...Deno.readDirSync(folder)].map(({ name }) => name)
      .filter((name) => !name.endsWith(".map")).sort();
    const goal = built.goal * 1000;
    const sources = readSources(folder);
    const forbidden = [...findForbidden(sources), ...sources.some(isDrizzle) ? ["drizzle"] : []]
      .filter((what) => !built.contains?.includes(what));
    return [
      { ...sumUp(folder, ["index.mjs"]), what: "index.mjs", ceiling: built.entryCeiling },
      { ...sumUp(folder, files), what: "all files", ceiling: built.ceiling },
    ].map(({ what, ceiling, ...sizes }) => ({
      ...sizes,
      name: `${built.name} by trellis build, ${what}`,
      goal,
      ceiling: ceiling * 1000,
      gzipCeiling: Infinity,
      forbidden,
    }));
  });
}

/** Checks for drizzle: its own source map gives the paths of its sources. */
function isDrizzle(path: string): boolean {
  return /\/(?:drizzle-orm|node_modules)\/(?:src\/)?(?:pg-core|sql)\//.test(path);
}

function sumUp(folder: string, files: readonly string[]) {
  const contents = files.map((file) => Deno.readFileSync(join(folder, file)));
  return {
    bytes: contents.reduce((sum, each) => sum + each.length, 0),
    gzip: contents.reduce((sum, each) => sum + gzipSync(each).length, 0),
    parts: files.map((file, at): [string, number] => [file, contents[at].length]),
  };
}

/** Reads the paths of the entry's modules from its source map. */
function readSources(folder: string): string[] {
  return JSON.parse(Deno.readTextFileSync(join(folder, "index.mjs.map"))).sources;
}
