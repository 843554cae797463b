// deno-lint-ignore-file no-console
/**
 * Bundles small functions with esbuild from the built npm package and compares their size with a
 * goal and a limit. Prints each figure. Exits with 1 if one exceeds its limit or contains a
 * forbidden package.
 *
 *   deno run -A scripts/check_bundles.ts [--package <folder with a build>] [--json]
 *
 * It counts the minified bytes that the runtime reads: the entry, its imports, and the driver.
 * Modules behind an `import()` that the function never executes are not counted.
 *
 * @module
 */
import type { Metafile } from "esbuild";
import * as esbuild from "esbuild";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

interface Bundle {
  readonly name: string;
  /** The function's source. */
  readonly source: string;
  /** Goal for the minified size in kilobytes (1,000 bytes). */
  readonly goal: number;
  /** Limit: the reached size plus a margin. */
  readonly ceiling: number;
  /** Limit of the compressed size in kilobytes. */
  readonly gzipCeiling?: number;
  /**
   * Parts of paths. Chunks that start at such a file are counted although they are loaded later.
   */
  readonly loads?: readonly string[];
}

const checkedValue = (zod: string) =>
  `import { validateSchema } from "@trellis/fn/validation";
import * as z from "${zod}";
const Note = z.object({ title: z.string(), done: z.optional(z.boolean()), tags: z.array(z.string()) });
export const check = (value) => validateSchema(Note, value);`;

const ZOD_HANDLER = (zod: string) =>
  `import { defineApiHandler } from "@trellis/fn/validation";
import { buildValidatedResponse } from "@trellis/fn/core";
import * as z from "${zod}";
const Note = z.object({ title: z.string(), done: z.optional(z.boolean()), tags: z.array(z.string()) });
export const handler = defineApiHandler({ schema: Note })(function createNote({ body, context }) {
  return buildValidatedResponse(context, 201, body, Note);
});`;

const SERVER = `{ provider: "serverless-pg", connectionString: process.env.DATABASE_URL }`;
const CLUSTER = `{ provider: "distsql", endpoint: process.env.DATABASE_ENDPOINT, username: "app" }`;

interface SessionHandler {
  readonly header?: string;
  /** Options of the handler after the first one. */
  readonly options: string;
  readonly database?: string;
}

const sessionHandler = ({ header = "", options, database = SERVER }: SessionHandler) =>
  `import { configureSessionAuth } from "@trellis/fn/auth";
import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { eq } from "@trellis/fn/database/orm";
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
${header}
const notes = pgTable("notes", { id: uuid("id").primaryKey(), userId: uuid("user_id").notNull(), title: text("title").notNull() });
const getDb = () => getDrizzleClient(${database});
const { defineQuery } = createQueryFactory(getDb);
configureSessionAuth(getDb, { secret: process.env.AUTH_SECRET, baseURL: "https://api.example.com" });
const listNotes = defineQuery({ tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function listNotes(db, userId) { return await db.select().from(notes).where(eq(notes.userId, userId)); });
export const handler = defineApiHandler({ auth: "session"${options} })(
  async function getNotes({ userId, context }) {
    return buildValidatedResponse(context, 200, { notes: await listNotes(userId) });
  });`;

const NOTES = fileURLToPath(
  new URL("../bench/apps/notes/src/functions/api/notes/", import.meta.url),
);

/** Modules that the provider loads when it connects. */
const DRIVER = ["database/providers/serverless_pg", "/postgres/"];

const BUNDLES: readonly Bundle[] = [
  {
    name: "./errors, all of it",
    goal: 8,
    ceiling: 9,
    source: `export * from "@trellis/fn/errors";`,
  },
  {
    name: "./client, without openapi-fetch",
    goal: 2.5,
    ceiling: 4,
    gzipCeiling: 2,
    source: `export * from "@trellis/fn/client";`,
  },
  {
    name: "./validation with one zod schema",
    goal: 110,
    ceiling: 110,
    source: checkedValue("zod"),
  },
  {
    name: "./validation with one zod/mini schema",
    goal: 40,
    ceiling: 40,
    source: checkedValue("zod/mini"),
  },
  { name: "a handler with a zod schema", goal: 125, ceiling: 158, source: ZOD_HANDLER("zod") },
  {
    name: "a handler with a zod/mini schema",
    goal: 68,
    ceiling: 87,
    source: ZOD_HANDLER("zod/mini"),
  },
  {
    name: "a session handler with drizzle and postgres.js",
    goal: 260,
    ceiling: 280,
    source: sessionHandler({ options: "" }),
    loads: DRIVER,
  },
  {
    name: "the same with Aurora DSQL, which needs IAM tokens",
    goal: 260,
    ceiling: 283,
    source: sessionHandler({ options: "", database: CLUSTER }),
    loads: ["database/providers/distsql", "database/providers/load_postgres", "/postgres/"],
  },
  {
    name: "the same with a zod query schema",
    goal: 300,
    ceiling: 372,
    source: sessionHandler({
      header: `import * as z from "zod";`,
      options: ", querySchema: z.object({ limit: z.coerce.number().default(20) })",
    }),
    loads: DRIVER,
  },
  {
    name: "GET /notes of bench/apps",
    goal: 120,
    // ten more KB fail
    ceiling: 380,
    source: `export { handler } from ${JSON.stringify(join(NOTES, "index.get.ts"))};`,
    loads: DRIVER,
  },
  {
    name: "POST /notes of bench/apps",
    goal: 250,
    // ten more KB fail
    ceiling: 380,
    source: `export { handler } from ${JSON.stringify(join(NOTES, "index.post.ts"))};`,
    loads: DRIVER,
  },
];

/** Forbidden packages, by a part of the path. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  "better-auth": /node_modules\/(better-auth|@better-auth|better-call)\//,
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

interface Figure {
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
async function measure(folder: string, bundle: Bundle): Promise<Figure> {
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
  const forbidden = new Set<string>();
  for (const file of files) {
    for (const [path, { bytesInOutput }] of Object.entries(metafile.outputs[file].inputs)) {
      if (bytesInOutput === 0) continue;
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? "the function";
      parts.set(name, (parts.get(name) ?? 0) + bytesInOutput);
      for (const [what, pattern] of Object.entries(FORBIDDEN)) {
        if (pattern.test(path)) forbidden.add(what);
      }
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
    forbidden: [...forbidden],
    parts: [...parts].sort((a, b) => b[1] - a[1]).slice(0, 4),
  };
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

/** Packs a build and installs it in a new folder. */
async function install(built: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "trellis-bundles-" });
  await Deno.writeTextFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await npm(folder, ["pack", built, "--silent"]);
  const [archive] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".tgz"));
  const drivers = ["zod", "drizzle-orm", "postgres"];
  await npm(folder, [
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    `./${archive.name}`,
    ...drivers,
  ]);
  return folder;
}

async function npm(cwd: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("npm", {
    args,
    cwd,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`npm ${args.join(" ")} failed:\n${new TextDecoder().decode(stderr)}`);
  }
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;

const isSound = ({ bytes, gzip, ceiling, gzipCeiling, forbidden }: Figure) =>
  bytes <= ceiling && gzip <= gzipCeiling && forbidden.length === 0;

function report(figure: Figure): void {
  const { name, bytes, gzip, goal, ceiling, forbidden } = figure;
  const parts = figure.parts.map(([part, size]) => `${part} ${kilobytes(size)}`).join(", ");
  console.log(
    `${isSound(figure) ? "ok  " : "OVER"} ${kilobytes(bytes).padStart(9)} (gzip ${
      kilobytes(gzip)
    }), ceiling ${kilobytes(ceiling)}, ${
      bytes <= goal ? "goal" : `${kilobytes(bytes - goal)} over the goal of`
    } ${kilobytes(goal)}: ${name}: ${parts}`,
  );
  for (const what of forbidden) console.log(`     contains ${what}`);
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { package: { type: "string", default: "npm" }, json: { type: "boolean" } },
  });
  const folder = await install(await Deno.realPath(values.package));
  try {
    const figures: Figure[] = [];
    for (const bundle of BUNDLES) figures.push(await measure(folder, bundle));
    if (values.json) console.log(JSON.stringify(figures, null, 2));
    else figures.forEach(report);
    if (!figures.every(isSound)) Deno.exitCode = 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
    await esbuild.stop();
  }
}
