import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { installPackage, makeConsumer } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow, runProgram } from "../../scripts/program.ts";

// other tests use TypeScript 5.9
const installed = await installPackage(["drizzle-orm@0.45.4", "typescript@6.0.3", "zod@4.6.7"]);
// apart, because npm warns of the install script of esbuild
const withTools = await pickPackages([
  ...["acorn@8.19.0", "drizzle-orm@0.45.4", "esbuild@0.28.2", "typescript@5.9.3", "zod@4.6.7"],
]);

Deno.test("the package installs in an empty folder in one go, without a warning", () => {
  // what npm says of the machine's own settings is not of the package
  const log = installed.log.replace(/^npm warn Unknown (?:user|env|project|cli) config .*$/gm, "");
  assertNotMatch(log, /warn|deprecated|ERR/i);
  assertMatch(installed.log, /added \d+ packages/);
});

Deno.test("the package brings nothing that was not asked for, and takes at most 9.5 MB itself", async () => {
  const { stdout } = await runOrThrow("npm", ["ls", "--all", "--json"], { cwd: installed.folder });
  assertNotMatch(stdout, /"(invalid|problems|extraneous)"/);
  const modules = join(installed.folder, "node_modules");
  const names = [...Deno.readDirSync(modules)].map(({ name }) => name).filter((name) =>
    !name.startsWith(".")
  );
  assertEquals(names.sort(), ["@trellis", "drizzle-orm", "typescript", "zod"]);
  const { stdout: size } = await runOrThrow("du", ["-sk", join(modules, "@trellis")]);
  assert(parseInt(size) <= 9_500, `${size} KB`);
});

Deno.test("the package can be imported right after the installation", async () => {
  const program = 'import("@trellis/fn").then((fn) => console.log(typeof fn.defineApiHandler))';
  const { stdout, stderr } = await runOrThrow("node", ["-e", program], { cwd: installed.folder });
  assertEquals([stdout.trim(), stderr], ["function", ""]);
});

Deno.test("trellis runs from the package, on a project without any further setting", async () => {
  const folder = await makeConsumer(withTools, {});
  try {
    const trellis = join(withTools.folder, "node_modules", ".bin", "trellis");
    const help = await runOrThrow(trellis, ["--help"], { cwd: folder });
    assertStringIncludes(help.stdout + help.stderr, "generate permissions");
    const wrong = await runProgram(trellis, ["generate", "nonsense"], { cwd: folder });
    assertEquals(wrong.code, 2);
    const functions = join(folder, "src", "functions", "api");
    await Deno.mkdir(functions, { recursive: true });
    await Deno.writeTextFile(
      join(functions, "notes.get.ts"),
      `import { DatabaseOperation, createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
const { defineQuery } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));
const list = defineQuery({ tables: [{ table: "notes", operations: [DatabaseOperation.Select] }] }, async (db) => []);
export const handler = async () => ({ statusCode: 200, body: JSON.stringify(await list()) });
`,
    );
    const generated = await runOrThrow(trellis, ["generate", "permissions", "--json"], {
      cwd: folder,
    });
    assertStringIncludes(generated.stdout, '"role": "fn_notes"');
    await Deno.writeTextFile(
      join(functions, "notes.post.ts"),
      `import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
const schema = z.object({ title: z.string().max(80) });
export const handler = defineApiHandler({ schema })(() => ({ statusCode: 204, body: "" }));
`,
    );
    await runOrThrow(trellis, ["generate", "openapi"], { cwd: folder });
    const document = await Deno.readTextFile(join(folder, "openapi.json"));
    assertStringIncludes(document, '"maxLength": 80');
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("npm asks the registry for the peers with a range alone", async () => {
  const cwd = await Deno.makeTempDir({ prefix: "trellis-documents-" });
  try {
    await Deno.writeTextFile(join(cwd, "package.json"), '{ "private": true }\n');
    const args = ["install", "--loglevel", "http", "--cache", join(cwd, "cache")];
    const { stderr } = await runOrThrow("npm", [...args, installed.tarball, "zod@4.6.7"], { cwd });
    const asked = [...stderr.matchAll(/http fetch GET 200 (\S+)/g)].map(([, url]) => url)
      .filter((url) => !url.endsWith(".tgz")).map((url) => new URL(url).pathname.slice(1));
    assertEquals(asked.sort(), ["postgres", "zod"]);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});

Deno.test("trellis says how to install its parser where it is missing", async () => {
  const { folder } = await pickPackages(["drizzle-orm@0.45.4", "zod@4.6.7"]);
  const args = ["node_modules/@trellis/fn/cli/main.js", "generate", "permissions"];
  const { code, stderr } = await runProgram("node", args, { cwd: folder });
  assertEquals(code, 3);
  assertStringIncludes(
    stderr,
    "trellis generate permissions needs the packages acorn and esbuild, which are not installed.",
  );
  assertStringIncludes(stderr, 'npm install --save-dev "acorn@^8.19.0" "esbuild@>=0.28.2 <1"');
  assertNotMatch(stderr, /node:internal/);
});
