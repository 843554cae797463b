// deno-lint-ignore-file no-console
/**
 * Runs better-auth's own tests against instances of `createAuth`, each on a separate database.
 *
 *   deno run -A scripts/better_auth_suite.ts --checkout FOLDER --target embedded|postgres|distsql|neon [files]
 *
 * FOLDER is a checkout of better-auth, at the version of deno.json or the next older tag. Its tests are
 * copied to a work folder (`--work`, by default in the temporary folder), with the packages that they need
 * from npm and vitest. `--keep` does not copy this library's sources again. Results go to `<work>/results/<target>.json`.
 */
import { parseArgs } from "node:util";
import { join, relative } from "node:path";
import { startNeonProxy } from "../tests/support/neon_proxy.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { runOrThrow, runProgram } from "./program.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const OWN_FOLDERS = [
  "auth",
  "cli",
  "core",
  "database",
  "env",
  "errors",
  "idempotency",
  "jobs",
  "mail",
  "observability",
  "streaming",
  "testing",
  "triggers",
  "validation",
];
/** Packages of the tests besides those of better-auth, and the drivers. */
const PACKAGES = [
  "@aws-sdk/dsql-signer",
  "@electric-sql/pglite",
  "@neondatabase/serverless",
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/sdk-trace-node",
  "drizzle-orm",
  "happy-dom",
  "kysely@0.28",
  "libpg-query",
  "msw",
  "oauth2-mock-server",
  "pg",
  "postgres",
  "type-fest",
  "typescript@5",
  "vitest@4",
  "ws",
];

/** Results are written after each run. */
const FILES_PER_RUN = 6;

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    checkout: { type: "string" },
    target: { type: "string", default: "embedded" },
    keep: { type: "boolean", default: false },
    work: { type: "string", default: join(Deno.env.get("TMPDIR") ?? "/tmp", "better-auth-suite") },
  },
});
const { work, target, checkout } = values;

if (checkout !== undefined) await prepare(checkout);
if (!values.keep) await copyOwnSources();
const environment = await startDatabases();
const results = join(work, "results", `${target}.json`);
const files = positionals.length > 0 ? positionals : await listDatabaseTests();
const found: Results["testResults"][number][] = [];
for (let at = 0; at < files.length; at += FILES_PER_RUN) {
  found.push(...await runTests(files.slice(at, at + FILES_PER_RUN)));
  await Deno.writeTextFile(results, JSON.stringify({ testResults: found }));
}
await environment.stop();
printSummary({ testResults: found });
Deno.exit(0);

/** Runs test files in one process of vitest, and returns its results. */
async function runTests(paths: readonly string[]): Promise<Results["testResults"]> {
  const output = `${results}.part`;
  const args = ["vitest", "run", "--silent", "--reporter=json", `--outputFile=${output}`, ...paths];
  await runProgram("npx", args, {
    cwd: work,
    env: { SUITE_TARGET: target, ...environment.variables },
  });
  const { testResults }: Results = JSON.parse(await Deno.readTextFile(output));
  for (const { name, assertionResults } of testResults) {
    const passed = assertionResults.filter(({ status }) => status === "passed").length;
    console.log(`${relative(work, name)}: ${passed} of ${assertionResults.length}`);
  }
  return testResults;
}

/** Copies the sources of better-auth and installs the packages. */
async function prepare(folder: string): Promise<void> {
  await Deno.mkdir(join(work, "packages", "better-auth"), { recursive: true });
  const theirs = join(folder, "packages", "better-auth");
  const parts = [join(theirs, "src"), join(theirs, "package.json")];
  await runOrThrow("cp", ["-r", ...parts, join(work, "packages", "better-auth")]);
  const manifest = JSON.parse(await Deno.readTextFile(join(theirs, "package.json")));
  const { version, exports } = manifest as { version: string; exports: Record<string, Entry> };
  const aliases = Object.entries(exports).flatMap(([name, entry]) => {
    const source = entry["dev-source"];
    return source === undefined ? [] : [{
      find: name.replace(".", "better-auth"),
      replacement: join(work, "packages", "better-auth", source),
    }];
  });
  await Deno.writeTextFile(join(work, "aliases.json"), JSON.stringify(aliases));
  await Deno.writeTextFile(join(work, "package.json"), '{ "private": true, "type": "module" }');
  const args = ["install", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await runOrThrow("npm", [...args, `better-auth@${version}`, ...PACKAGES], { cwd: work });
}

interface Entry {
  readonly "dev-source"?: string;
}

/** Copies the sources of this library, and the files of the suite. */
async function copyOwnSources(): Promise<void> {
  await Deno.mkdir(join(work, "trellis"), { recursive: true });
  await Deno.mkdir(join(work, "results"), { recursive: true });
  for (const folder of OWN_FOLDERS) {
    await runOrThrow("cp", ["-r", join(ROOT, folder), join(work, "trellis")]);
  }
  for (const file of ["instance.ts", "targets.ts", "vitest.config.ts"]) {
    const code = await Deno.readTextFile(join(ROOT, "scripts", "better_auth_suite", file));
    await Deno.writeTextFile(join(work, file), code.replaceAll('"../../', '"./trellis/'));
  }
}

/** Starts what the target needs, and returns the variables of the tests. */
async function startDatabases(): Promise<
  { variables: Record<string, string>; stop(): Promise<void> }
> {
  if (target === "embedded") return { variables: {}, stop: () => Promise.resolve() };
  const server = await startPostgres({ settings: ["max_connections=300"] });
  const variables: Record<string, string> = { SUITE_POSTGRES: server.url };
  if (target !== "neon") return { variables, stop: () => server.stop() };
  const proxy = startNeonProxy(server.port);
  variables.SUITE_NEON = `127.0.0.1:${proxy.port}`;
  return {
    variables,
    async stop(): Promise<void> {
      await proxy.stop();
      await server.stop();
    },
  };
}

/** Lists the test files that start an instance with a database. */
async function listDatabaseTests(): Promise<string[]> {
  const found: string[] = [];
  async function visit(folder: string): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = join(folder, name);
      if (isDirectory) await visit(path);
      else if (name.endsWith(".test.ts") && !path.includes("/src/adapters/")) {
        if ((await Deno.readTextFile(path)).includes("getTestInstance")) {
          found.push(relative(work, path));
        }
      }
    }
  }
  await visit(join(work, "packages", "better-auth", "src"));
  return found.sort();
}

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function printSummary({ testResults }: Results): void {
  let passed = 0;
  let total = 0;
  for (const { name, message, assertionResults } of testResults) {
    const path = relative(join(work, "packages", "better-auth", "src"), name);
    const ran = assertionResults.filter(({ status }) => status === "passed" || status === "failed");
    const failed = ran.filter(({ status }) => status === "failed");
    total += ran.length;
    passed += ran.length - failed.length;
    if (ran.length === 0) console.log(`${path}: did not start: ${(message ?? "").slice(0, 200)}`);
    for (const { fullName, failureMessages } of failed) {
      console.log(`${path}: ${fullName}\n  ${(failureMessages[0] ?? "").slice(0, 300)}`);
    }
  }
  console.log(`${target}: ${passed} of ${total} tests of ${testResults.length} files pass`);
}
