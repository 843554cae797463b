/** A function with sessions and a database is bundled where no driver and no auth library is installed, with no options. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { installPackage } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow } from "../../scripts/program.ts";
import { IS_FULL } from "./support/tools.ts";

const FUNCTION = `
import { configureSessionAuth } from "@trellis/fn/auth";
import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
const notes = pgTable("notes", { id: uuid("id").primaryKey(), title: text("title") });
const getDb = () => getDrizzleClient({ provider: process.env.PROVIDER ?? "distsql", endpoint: "x.dsql.eu-central-1.on.aws", username: "u" });
const { defineQuery } = createQueryFactory(getDb);
configureSessionAuth(getDb, { secret: "32 random characters, or more of them", baseURL: "https://api.example.com" });
const listNotes = defineQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function listNotes(db) { return await db.select().from(notes); },
);
export const handler = defineApiHandler({ auth: "session", logging: { level: "SILENT" } })(async function getNotes({ context }) {
  return buildValidatedResponse(context, 200, { notes: await listNotes() });
});`;

const CALL = `
const event = { httpMethod: "GET", path: "/", headers: {}, requestContext: { requestId: "r", identity: {} } };
const context = { awsRequestId: "r", functionName: "f", getRemainingTimeInMillis: () => 9000 };
import(process.argv[2]).then(async (module) => {
  // the names that a CommonJS file exports are not always found by import; Lambda requires it
  const { handler } = module.handler === undefined ? await module.default : module;
  console.log((await handler(event, context)).statusCode);
});`;

interface Bundler {
  readonly name: string;
  readonly packages: readonly string[];
  /** The command line, and the file that it makes. */
  readonly args: (entry: string, out: string) => readonly string[];
  readonly file: string;
}

const BUNDLERS: readonly Bundler[] = [
  {
    name: "esbuild",
    packages: ["esbuild@0.28.2"],
    args: (
      entry,
      out,
    ) => ["esbuild", entry, "--bundle", "--platform=node", "--format=esm", `--outdir=${out}`],
    file: "fn.js",
  },
  {
    name: "rollup",
    packages: ["rollup@4", "@rollup/plugin-node-resolve@16"],
    args: (entry, out) => ["rollup", entry, "-p", "node-resolve", "-f", "es", "-d", out],
    file: "fn.js",
  },
  {
    name: "rolldown",
    packages: ["rolldown@1"],
    args: (entry, out) => ["rolldown", entry, "--platform", "node", "-d", out],
    file: "fn.js",
  },
  {
    name: "vite",
    packages: ["vite@8"],
    args: (entry, out) => ["vite", "build", "--ssr", entry, "--outDir", out],
    file: "fn.js",
  },
  {
    name: "webpack",
    packages: ["webpack@5", "webpack-cli@7"],
    args: (entry, out) => [
      ...["webpack", "--mode", "production", "--target", "node", "--entry", entry, "-o", out],
      ...["--output-library-type", "commonjs2", "--output-filename", "fn.cjs"],
    ],
    file: "fn.cjs",
  },
  {
    name: "bun build",
    packages: ["bun@1"],
    args: (entry, out) => ["bun", "build", entry, "--target=node", "--outdir", out],
    file: "fn.js",
  },
];

const SHORT: readonly string[] = ["esbuild", "rollup"];

for (const bundler of BUNDLERS) {
  Deno.test({
    name: `${bundler.name} bundles a session function without options, and the bundle answers`,
    ignore: !IS_FULL && !SHORT.includes(bundler.name),
    fn: () => bundleAndCall(bundler),
  });
}

async function bundleAndCall({ name, packages, args, file }: Bundler): Promise<void> {
  const install = SHORT.includes(name) ? pickPackages : installPackage;
  const { folder } = await install(["drizzle-orm@0.45.4", "zod@4.6.7", ...packages]);
  const work = await Deno.makeTempDir({ dir: folder });
  try {
    await Deno.writeTextFile(join(work, "fn.js"), FUNCTION);
    await Deno.writeTextFile(join(work, "call.mjs"), CALL);
    await Deno.writeTextFile(join(work, "package.json"), '{ "type": "module" }');
    await runOrThrow("npx", ["--no", "--", ...args(join(work, "fn.js"), join(work, "out"))], {
      cwd: work,
    });
    const answer = await runOrThrow("node", [join(work, "call.mjs"), join(work, "out", file)], {
      cwd: work,
    });
    assertEquals(answer.stdout.trim().split("\n").at(-1), "401");
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}
