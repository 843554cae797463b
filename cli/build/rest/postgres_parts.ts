import type { PluginBuild } from "esbuild";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ModulePaths } from "../module_paths.ts";
import { LOADER, POSTGRES, REST } from "./specifiers.ts";

/** How `index.js` of postgres.js 3.4 uses the modules that are replaced. */
const USES = [
  "subscribe = options.no_subscribe || Subscribe(Postgres, { ...options })",
  "subscribe.sql ? subscribe.sql.end({ timeout: 0 }) : []",
  "largeObject: largeObject.bind(null, sql)",
];

/** The replacements. Logical replication opens its own client, which waits for the first use. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  subscribe: `export default function Subscribe(postgres, options) {
  let real;
  function subscribe(...parameters) {
    real ??= load().subscribe(postgres, options);
    return real(...parameters);
  }
  return Object.defineProperty(subscribe, "sql", { get: () => real?.sql });
}
`,
  large: `export default function largeObject(...parameters) {
  return load().large(...parameters);
}
`,
};

/**
 * Moves logical replication and large objects of postgres.js to the second file: 5 KB that only code
 * with `db.$client` can reach. Does nothing for a version of postgres.js that uses them otherwise.
 *
 * @param onModule Called with the path of a replaced module.
 */
export function replacePostgresParts(
  build: PluginBuild,
  paths: ModulePaths,
  onModule: (path: string) => void,
): void {
  const filter = /[/\\]src[/\\](?:large|subscribe)\.js$/;
  build.onLoad({ filter, namespace: "file" }, async ({ path }) => {
    if (paths.getPackage(path) !== "postgres") return undefined;
    const index = await readFile(join(dirname(path), "index.js"), "utf8").catch(() => "");
    const code = await readFile(path, "utf8");
    // a copy of another module could have a state of its own
    if (!USES.every((use) => index.includes(use)) || /from ['"]\./.test(code)) return undefined;
    onModule(path);
    const name = basename(path, ".js");
    const contents = `import { load } from "${REST}${POSTGRES}#${name}";\n${REPLACEMENTS[name]}`;
    return { contents, loader: "js" };
  });
}

/** Renders the import by which a bundle marks that it uses a part. */
export function renderPostgresLink(): string {
  return `import { load as loadFile } from "${LOADER}";
export function load() { return loadFile({}); }
`;
}
