/** Each optional package that is missing is named with the command that installs it. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow, runProgram } from "../../scripts/program.ts";

const installed = await pickPackages(["drizzle-orm@0.45.4", "zod@4.6.7"]);

/** Runs a module in the installed folder and returns how its error reads. */
async function getError(code: string): Promise<string> {
  const program = `
try {
  await (async () => { ${code} })();
  console.log("nothing was thrown");
} catch (error) {
  console.log(error.name + ": " + error.message);
}
process.exit();`;
  const { stdout } = await runOrThrow("node", ["--input-type=module", "-e", program], {
    cwd: installed.folder,
    env: { LOG_LEVEL: "SILENT", METRICS_DISABLED: "true" },
  });
  return stdout.trim();
}

const CLIENT = `const { getDrizzleClient } = await import("@trellis/fn/database");`;

const CASES: Readonly<Record<string, string>> = {
  "postgres":
    `${CLIENT} await getDrizzleClient({ provider: "serverless-pg", connectionString: "postgres://u@127.0.0.1:1/d" });`,
  "@neondatabase/serverless":
    `${CLIENT} await getDrizzleClient({ provider: "branching-pg", connectionString: "postgres://u:p@127.0.0.1/d" });`,
  "@electric-sql/pglite": `
const { createTestDatabase } = await import("@trellis/fn/testing");
await createTestDatabase();`,
  "libpg-query": `
const { startDistSqlServer } = await import("@trellis/fn/testing/distsql");
await startDistSqlServer({ backend: "embedded" });`,
  "better-auth": `
const { drizzle } = await import("drizzle-orm/pg-proxy");
const { createAuth } = await import("@trellis/fn/auth");
const auth = createAuth(drizzle(() => Promise.resolve({ rows: [] })), {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "https://api.example.com",
});
await auth.api.getSession({ headers: new Headers() });`,
};

for (const [name, code] of Object.entries(CASES)) {
  Deno.test(`what needs ${name} says how to install it when it is missing`, async () => {
    const message = await getError(code);
    assertStringIncludes(
      message,
      `needs the package ${name}, which is not installed. Install it: npm install "${name}@`,
    );
    assertMatch(message, /^ConfigurationError: /);
  });
}

Deno.test("trellis names all packages that are missing, before it reads the project", async () => {
  const folder = await Deno.makeTempDir({ dir: installed.folder, prefix: "no-esbuild-" });
  try {
    const trellis = join(installed.folder, "node_modules", ".bin", "trellis");
    const { code, stderr } = await runProgram(trellis, ["build"], { cwd: folder });
    assertEquals(code, 3, stderr);
    assertStringIncludes(
      stderr,
      "trellis build needs the packages acorn and esbuild, which are not installed. Install them: " +
        'npm install --save-dev "acorn@^8.19.0" "esbuild@>=0.28.2 <1"',
    );
    // the repository of a web page has neither
    await Deno.writeTextFile(
      join(folder, "openapi.json"),
      JSON.stringify({ openapi: "3.1.0", info: { title: "t", version: "1" }, paths: {} }),
    );
    const client = ["generate", "client", "--from", "openapi.json"];
    const generated = await runProgram(trellis, client, { cwd: folder });
    assertEquals(generated.code, 0, generated.stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("trellis init --ci needs no optional package to write a project, and repeated names what is in the way", async () => {
  const folder = await Deno.makeTempDir({ dir: installed.folder, prefix: "init-" });
  try {
    const trellis = join(installed.folder, "node_modules", ".bin", "trellis");
    const first = await runProgram(trellis, ["init", "b", "--ci", "--yes"], { cwd: folder });
    assertEquals([first.code, first.stderr], [0, ""]);
    assertMatch(first.stdout, /b is ready\. Next:\n[^]*The workflow needs:\n/);
    const second = await runProgram(trellis, ["init", "b", "--ci"], { cwd: folder });
    assertEquals([second.code, second.stderr], [1, ""]);
    assertStringIncludes(second.stdout, "contains .github/workflows/deploy.yml, infra-ci/main.tf.");
    await Deno.remove(join(folder, "b", ".github"), { recursive: true });
    await Deno.remove(join(folder, "b", "infra-ci"), { recursive: true });
    const third = await runProgram(trellis, ["init", "b", "--ci"], { cwd: folder });
    assertEquals(third.code, 3);
    assertMatch(third.stderr, /needs the package \S+, which is not installed\. Install it: npm/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const WITH_DRIZZLE = ["/auth", "/auth/schema", "/database", "/database/orm"];
const WITHOUT = [
  ...["", "/auth/jwt", "/core", "/env", "/errors", "/observability", "/validation"],
  ...["/cli", "/testing", "/testing/distsql"],
];

Deno.test("an entry point needs no optional package but drizzle-orm, which the runtime names", async () => {
  const { folder } = await pickPackages(["zod@4.6.7"]);
  const program = `
const errors = {};
for (const entry of ${JSON.stringify([...WITH_DRIZZLE, ...WITHOUT])}) {
  await import("@trellis/fn" + entry).catch((error) => errors[entry] = error.message);
}
console.log(JSON.stringify(errors));`;
  const { stdout } = await runOrThrow("node", ["--input-type=module", "-e", program], {
    cwd: folder,
  });
  const errors: Record<string, string> = JSON.parse(stdout);
  assertEquals(Object.keys(errors), WITH_DRIZZLE);
  for (const message of Object.values(errors)) {
    assertMatch(message, /^Cannot find package 'drizzle-orm'/);
  }
});
