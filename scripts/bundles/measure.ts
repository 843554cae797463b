import type { Metafile } from "esbuild";
import * as esbuild from "esbuild";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Bundle } from "./functions.ts";

/** Forbidden packages, by a part of the path. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  "better-auth": /node_modules\/(better-auth|@better-auth|better-call)\//,
  "checks of API keys or tokens": /@trellis\/fn\/auth\/(?:keys\/api_key_check|jwt\/jwt_auth)\./,
  "AWS clients": /node_modules\/(@aws-sdk|@smithy)\//,
  "PGlite": /node_modules\/@electric-sql\//,
  "the command line": /@trellis\/fn\/cli\/|node_modules\/typescript\//,
  "testing": /@trellis\/fn\/testing\//,
};

/**
 * Packages that are not counted. better-auth belongs to the sign-in routes, not to these functions.
 * `trellis build` omits them in the same way. With plain `--splitting`, modules that better-auth
 * shares with the function, such as all of zod, would be loaded at once.
 */
const EXTERNAL = ["better-auth", "better-auth/*", "openapi-fetch"];

/** The size of a function. */
export interface Figure {
  readonly name: string;
  readonly bytes: number;
  readonly gzip: number;
  readonly goal: number;
  readonly ceiling: number;
  readonly gzipCeiling: number;
  readonly forbidden: string[];
  /** The largest packages in the bundle. */
  readonly parts: [string, number][];
}

/**
 * Bundles one function in a folder where the package is installed.
 *
 * @param folder The folder.
 * @param bundle The function.
 */
export async function measure(folder: string, bundle: Bundle): Promise<Figure> {
  const { metafile, outputFiles } = await esbuild.build({
    stdin: { contents: bundle.source, resolveDir: folder, sourcefile: "function.js" },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    outdir: join(folder, "out"),
    external: EXTERNAL,
    // for sources outside of the folder
    nodePaths: [join(folder, "node_modules")],
    metafile: true,
    write: false,
    logLevel: "error",
    absWorkingDir: folder,
  });
  const files = getOutputs(metafile, bundle.loads ?? []);
  const parts = new Map<string, number>();
  const inputs: string[] = [];
  for (const file of files) {
    for (const [path, { bytesInOutput }] of Object.entries(metafile.outputs[file].inputs)) {
      if (bytesInOutput === 0) continue;
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? "the function";
      parts.set(name, (parts.get(name) ?? 0) + bytesInOutput);
      inputs.push(path);
    }
  }
  const texts = outputFiles.filter(({ path }) => files.some((file) => path.endsWith(file))).map((
    { contents },
  ) => contents);
  return {
    name: bundle.name,
    bytes: files.reduce((sum, file) => sum + metafile.outputs[file].bytes, 0),
    gzip: texts.reduce((sum, contents) => sum + gzipSync(contents).length, 0),
    goal: bundle.goal * 1000,
    ceiling: bundle.ceiling * 1000,
    gzipCeiling: (bundle.gzipCeiling ?? Infinity) * 1000,
    forbidden: findForbidden(inputs),
    parts: [...parts].sort((a, b) => b[1] - a[1]).slice(0, 4),
  };
}

/**
 * Lists the forbidden packages among modules.
 *
 * @param paths Paths of the modules.
 */
export function findForbidden(paths: readonly string[]): string[] {
  return Object.entries(FORBIDDEN).filter(([, pattern]) => paths.some((path) => pattern.test(path)))
    .map(([what]) => what);
}

/**
 * Lists the loaded outputs: static imports from the entry, and the dynamic imports that the
 * function executes.
 */
function getOutputs(metafile: Metafile, loads: readonly string[]): string[] {
  const entry = Object.keys(metafile.outputs).find((path) =>
    metafile.outputs[path].entryPoint === "function.js"
  )!;
  const reached = new Set([entry]);
  for (const path of reached) {
    for (const imported of metafile.outputs[path].imports) {
      if (imported.external) continue;
      const start = metafile.outputs[imported.path]?.entryPoint ?? "";
      if (imported.kind === "import-statement" || loads.some((part) => start.includes(part))) {
        reached.add(imported.path);
      }
    }
  }
  return [...reached];
}
