/**
 * Bundles functions with esbuild alone: those that send only statements of this package must not load
 * drizzle. Their client comes from a module of its own, which is not bundled.
 */
import { assert, assertEquals } from "@std/assert";
import { build, type Metafile, type Plugin, stop } from "esbuild";

const ROOT = new URL("../../", import.meta.url).pathname;

/** As `"sideEffects": false` in the package. */
const WITHOUT_EFFECTS: Plugin = {
  name: "without-effects",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === "resolved") return undefined;
      const { kind, importer, resolveDir } = options;
      const found = await resolve(path, { kind, importer, resolveDir, pluginData: "resolved" });
      return { ...found, sideEffects: false };
    });
  },
};

async function bundle(contents: string): Promise<Metafile> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    plugins: [WITHOUT_EFFECTS],
    bundle: true,
    splitting: true,
    packages: "external",
    external: ["application/*"],
    format: "esm",
    platform: "node",
    treeShaking: true,
    outdir: "unused",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  return metafile;
}

/** Lists the packages that the entry loads before its first `import()`. */
function listLoaded({ outputs }: Metafile): Set<string> {
  const [entry] = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint === "<stdin>");
  const packages = new Set<string>();
  const open = [entry[0]];
  for (const path of open) {
    for (const { path: next, kind, external } of outputs[path].imports) {
      if (kind === "dynamic-import") continue;
      if (external) packages.add(next);
      else if (!open.includes(next)) open.push(next);
    }
  }
  return packages;
}

const ANSWER = `() => ({ statusCode: 204, body: "" })`;
const FUNCTIONS: Readonly<Record<string, string>> = {
  "a session": `
    import { configureSessionAuth } from "./auth/session_auth.ts";
    import { defineApiHandler } from "./validation/mod.ts";
    configureSessionAuth(getDb, { secret: "s".repeat(32), baseURL: "http://localhost" });
    export const handler = defineApiHandler({ auth: "session" })(${ANSWER});`,
  "an API key": `
    import { defineAuth } from "./auth/define_auth.ts";
    import { defineApiHandler } from "./validation/mod.ts";
    const { apiKey } = defineAuth(getDb, config);
    export const handler = defineApiHandler({ auth: apiKey() })(${ANSWER});`,
  "rate limits": `
    import { configureRateLimits } from "./database/mod.ts";
    import { defineApiHandler } from "./validation/mod.ts";
    configureRateLimits(getDb);
    export const handler = defineApiHandler({
      rateLimit: { limit: 1, windowSeconds: 60, by: "address" },
    })(${ANSWER});`,
  "idempotency": `
    import { createIdempotencyStore } from "./idempotency/mod.ts";
    import { defineApiHandler } from "./validation/mod.ts";
    const store = createIdempotencyStore({ database: getDb });
    export const handler = defineApiHandler({ idempotency: { store } })(${ANSWER});`,
  "a job worker": `
    import { createJobWorker, defineJob, defineJobQueueHandler } from "./jobs/mod.ts";
    const jobs = [defineJob({ name: "ship", schema: {} as never })(() => {})];
    export const worker = createJobWorker({ jobs, getDb });
    export const handler = defineJobQueueHandler({ jobs, getDb });`,
  "a job relay": `
    import { defineJobRelayHandler } from "./jobs/mod.ts";
    export const handler = defineJobRelayHandler({ getDb });`,
  "a change stream": `
    import { defineChangeStreamHandler } from "./jobs/mod.ts";
    export const handler = defineChangeStreamHandler({ name: "n", table: {} as never, getDb })(() => {});`,
  "sockets": `
    import { createConnectionStore, createPublisher } from "./realtime/mod.ts";
    export const connections = createConnectionStore(getDb);
    export const publisher = createPublisher({ connections, endpoint: () => "http://localhost" });`,
  "references between rows": `
    import { assertRowExists } from "./database/mod.ts";
    export const handler = async () => assertRowExists(await getDb(), "notes", "id", 1);`,
};

Deno.test("functions that send only statements of this package load no drizzle", async () => {
  for (const [name, source] of Object.entries(FUNCTIONS)) {
    const metafile = await bundle(`import { getDb } from "application/database";${source}`);
    const loaded = listLoaded(metafile);
    assert(loaded.has("application/database"), name);
    assertEquals([...loaded].filter((path) => path.startsWith("drizzle-orm")), [], name);
  }
});

Deno.test("the search for drizzle finds it in the client of an application", async () => {
  const loaded = listLoaded(
    await bundle(`export { getDrizzleClient as handler } from "./database/mod.ts";
      export { AUTH_USER_COLUMNS } from "./auth/tables/schema.ts";`),
  );
  assert(loaded.has("drizzle-orm/pg-core"));
  await stop();
});
