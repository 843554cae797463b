import { OPTIONAL_PACKAGES } from "../cli/terminal/optional_packages.ts";

/** Parts of deno.json for the manifest of the npm package. */
export interface PackageConfig {
  /** The package's name. */
  name: string;
  /** The version. */
  version: string;
  /** SPDX id. */
  license: string;
  /** Entry points: export to source file. */
  exports: Record<string, string>;
  /** The import map. */
  imports: Record<string, string>;
}

/** Files of one export. */
export interface ExportTarget {
  /** The declarations. */
  types: string;
  /** For `import`. */
  import: string;
  /** For `require` of a module (Node 20.19 and later), and all other conditions. */
  default: string;
}

/** The peer that npm installs, because the user's code imports the same copy. */
const REQUIRED = "zod";

/**
 * Optional peers with a range. The others are named in `peerDependenciesMeta` only, which pnpm and Yarn read
 * as an optional peer of any version. npm would download the documents of a peer with a range and of all
 * its peers, even if it does not install the peer: 112 documents for drizzle-orm and better-auth.
 */
const RANGED = ["postgres"];

/**
 * Creates the package.json of the npm package. docs/decisions/package.md explains the kind of each
 * dependency.
 *
 * @param config The content of deno.json.
 * @param exports Files of each entry point.
 * @returns The manifest with keys in a fixed order.
 * @throws {Error} If deno.json has no range for a peer.
 */
export function createManifest(
  config: PackageConfig,
  exports: Record<string, ExportTarget>,
): Record<string, unknown> {
  const range = (name: string): string => {
    const found = /^npm:(?:@[^/]+\/)?[^@]+@(\^[\d.]+)$/.exec(config.imports[name] ?? "")?.[1];
    if (found === undefined) throw new Error(`deno.json names no range of ${name}, such as ^1.2.3`);
    return found;
  };
  const repository = "https://github.com/trellis-fn/trellis";
  return {
    name: config.name,
    version: config.version,
    description: "API backends out of functions: typed handlers, " +
      "sessions, database and observability for AWS Lambda",
    keywords: [
      "lambda",
      "serverless",
      "api",
      "zod",
      "drizzle",
      "better-auth",
      "aurora-dsql",
      "openapi",
      "typescript",
    ],
    license: config.license,
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git` },
    type: "module",
    sideEffects: false,
    engines: { node: ">=20.19" },
    bin: { trellis: exports["./cli"].default.replace(/mod\.js$/, "main.js").replace(/^\.\//, "") },
    main: exports["."].default,
    types: exports["."].types,
    exports: { ...exports, "./package.json": "./package.json" },
    peerDependencies: Object.fromEntries(
      [...RANGED, REQUIRED].map((name) => [name, range(name)]),
    ),
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(OPTIONAL_PACKAGES).map((name) => [name, { optional: true }]),
    ),
    publishConfig: { access: "public" },
  };
}
