import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { denoProjectFiles, type TestProject, writeTestProject } from "../build/project.ts";

const API = "src/functions/api";
const DATABASE =
  `import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";
const endpoint = getOptionalEnv("DATABASE_ENDPOINT");
export const getDb = () => getDrizzleClient(endpoint === undefined
  ? { provider: "embedded-pg" }
  : { provider: "distsql", endpoint, username: "app" });
export const { defineQuery } = createQueryFactory(getDb);
export const ping = defineQuery({ tables: [{ table: "notes", operations: [DatabaseOperation.Select] }] },
  async function pingNotes(db) { return (await db.execute("select 1")).length; });
`;

const FILES = {
  [`${API}/health.get.ts`]: `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
const Health = z.object({ status: z.string() });
export const handler = defineApiHandler({ responseSchema: Health })(function health({ context }) {
  return buildValidatedResponse(context, 200, { status: "ok" }, Health);
});
`,
  [`${API}/broken.get.ts`]: `import { defineApiHandler } from "@trellis/fn/validation";
interface Reason {
  readonly text: string;
}
function explode(reason: Reason): never {
  throw new TypeError(reason.text);
}
export const handler = defineApiHandler({})(function broken() {
  return explode({ text: "boom" });
});
`,
  [`${API}/ping.get.ts`]: `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { ping } from "../../database.ts";
export const handler = defineApiHandler({})(async function pong({ context }) {
  return buildValidatedResponse(context, 200, { rows: await ping() });
});
`,
  [`${API}/me.get.ts`]: `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../auth.ts";
export const handler = defineApiHandler({ auth: "session" })(({ context, userId }) =>
  buildValidatedResponse(context, 200, { userId }));
`,
  [`${API}/auth/sign-in/email.post.ts`]:
    `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../../../auth.ts";
export const handler = createAuthHandler(getConfiguredSessionAuth);
`,
  "src/functions/queue/work.ts":
    `export async function handler(event: { n: number }) { return { n: event.n + 1 }; }\n`,
  "src/auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
import { getDb } from "./database.ts";
configureSessionAuth(getDb, { secret: "0123456789012345678901234567890123456789", baseURL: "https://example.com" });
`,
  "src/database.ts": DATABASE,
};

interface JsonResult {
  exitCode: number;
  functions: {
    name: string;
    change: string;
    bytes: number;
    sha256: string;
    providers: string[];
    packages: { name: string; bytes: number }[];
    modules?: { path: string }[];
  }[];
  removed: string[];
  errors: { file: string; line: number; message: string }[];
  warnings: string[];
}

async function buildJson(project: TestProject, ...options: string[]): Promise<JsonResult> {
  const { stdout, stderr } = await project.build("--json", ...options);
  assert(stdout !== "", stderr);
  return JSON.parse(stdout);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

Deno.test("build makes functions that run in Node, out of a project of Deno's", async (test) => {
  await using project = await writeTestProject({ ...await denoProjectFiles(), ...FILES });
  const { root } = project;
  const first = await buildJson(project, "--analyze");
  assertEquals([first.exitCode, first.errors], [0, []]);
  const byName = new Map(first.functions.map((fn) => [fn.name, fn]));
  const getPackages = (name: string) => byName.get(name)!.packages.map((each) => each.name);

  await test.step("answers an event, and keeps the names that logs and metrics use", async () => {
    const { answer, logged } = await project.call("Health");
    assertEquals([answer.statusCode, answer.body], [200, '{"status":"ok"}']);
    assertStringIncludes(logged, '"operation":"health"');
    assertEquals((await project.call("Work", { event: { n: 1 } })).answer, { n: 2 } as object);
    assertStringIncludes(
      await Deno.readTextFile(join(root, "dist/Ping/index.mjs")),
      '"pingNotes"',
    );
  });

  await test.step("gives a function the drivers and the auth library that it calls for, and no more", () => {
    assertEquals(byName.get("Ping")!.providers, ["distsql"]);
    for (const name of ["Ping", "Me", "AuthSignInEmail"]) {
      assert(getPackages(name).includes("postgres"), name);
      for (
        const other of [
          "@aws-sdk/dsql-signer",
          "@smithy/core",
          "@neondatabase/serverless",
          "@electric-sql/pglite",
          "@aws-sdk/client-rds-data",
        ]
      ) {
        assertFalse(getPackages(name).includes(other), `${name} has ${other}`);
      }
      assertEquals(getPackages(name).includes("better-auth"), name === "AuthSignInEmail", name);
    }
    assertEquals(getPackages("Health"), ["zod", "@trellis/fn", "(own code)"]);
    assertEquals(getPackages("Work"), ["(own code)"]);
  });

  await test.step("says why a provider is not there", async () => {
    const { answer, logged } = await project.call("Ping");
    assertEquals(answer.statusCode, 500);
    assertStringIncludes(
      logged,
      "trellis build omitted the provider embedded-pg from this function",
    );
  });

  await test.step("loads nothing costly before it is used", async () => {
    const text = await Deno.readTextFile(join(root, "dist/AuthSignInEmail/index.mjs"));
    const imported = [...text.matchAll(/from"(?:node:)?([a-z0-9_/]+)"/g)].map(([, name]) => name);
    for (const costly of ["http", "https", "tls", "net", "crypto"]) {
      assertFalse(imported.includes(costly), costly);
    }
  });

  await test.step("maps stack traces to the sources", async () => {
    const { logged } = await project.call("Broken", { nodeArgs: ["--enable-source-maps"] });
    assertMatch(logged, /boom/);
    assertMatch(logged, /explode \(?[^"]*src\/functions\/api\/broken\.get\.ts:6/);
  });

  await test.step("gives the same bytes again, with fewer functions too, and writes nothing then", async () => {
    for (const name of ["broken.get.ts", "ping.get.ts", "me.get.ts"]) {
      await Deno.remove(join(root, API, name));
    }
    const second = await buildJson(project);
    assertEquals(second.removed, ["Broken", "Me", "Ping"]);
    assertEquals(
      second.functions.map(({ name, sha256, change }) => [name, sha256, change]),
      ["AuthSignInEmail", "Health", "Work"].map(
        (name) => [name, byName.get(name)!.sha256, "unchanged"],
      ),
    );
    assertFalse(await exists(join(root, "dist/Ping")));
  });
});

Deno.test("build resolves as Node does: tsconfig's paths, package.json's imports, CommonJS packages", async () => {
  const project = await writeTestProject({
    "package.json": `{ "type": "module", "imports": { "#lib/*": "./src/lib/*" } }`,
    "tsconfig.json": `{ "compilerOptions": { "paths": { "@app/*": ["./src/app/*"] } } }`,
    "src/lib/one.ts": `export const one: number = 1;`,
    "src/app/two.ts": `export const two: number = 2;`,
    "node_modules/old/package.json": `{ "name": "old", "main": "index.js" }`,
    "node_modules/old/index.js":
      `const { sep } = require("node:path"); exports.three = sep.length + 2; exports.at = __dirname;`,
    "src/functions/standalone/sum.ts": `import { one } from "#lib/one.ts";
import { two } from "@app/two.js";
import { at, three } from "old";
export async function handler() {
  if (at === "") return {};
  throw new RangeError("sum " + (one + two + three));
}
`,
    "src/functions/standalone/plain.ts": `export const handler = async () => ({});\n`,
  });
  try {
    const { exitCode, stdout } = await project.build();
    assertEquals(exitCode, 0, stdout);
    const { answer } = await project.call("Sum", { nodeArgs: ["--enable-source-maps"] });
    assertMatch(
      answer.thrown!,
      /RangeError: sum 6\n\s+at .*src\/functions\/standalone\/sum\.ts:6:9/,
    );
    assertFalse(
      (await Deno.readTextFile(join(project.root, "dist/Plain/index.mjs"))).includes(
        "createRequire",
      ),
    );
  } finally {
    await project.remove();
  }
});

Deno.test("build --check writes nothing and exits with 1 when a function is over its budget", async () => {
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "trellis.config.ts": `export default { build: { budgets: { "*": 5000, Large: 2_000 } } };`,
    "src/functions/standalone/large.ts": `export const handler = async () => "${
      "large ".repeat(500)
    }";`,
    "src/functions/standalone/small.ts": `export const handler = async () => "${
      "small ".repeat(500)
    }";`,
  });
  const { exitCode, stdout } = await project.build("--check");
  assertEquals(exitCode, 1);
  assertMatch(
    stdout,
    /error Large has (\d+) bytes and exceeds its budget of 2000 by \d+: \(own code\) 3\.\d kB \(build\.budgets\.Large\)\n/,
  );
  assertFalse(stdout.includes("error Small"));
  assertFalse(await exists(join(project.root, "dist")));
  const written = await project.build();
  assertEquals(written.exitCode, 0);
  assertMatch(written.stderr, /warning Large has/);
});

Deno.test("build takes the AWS SDK from the Lambda runtime, except for container images", async () => {
  const use =
    `import { client } from "@aws-sdk/client-any";\nexport const handler = async () => client;\n`;
  const config = (build: string) =>
    `export default { build: ${build}, infra: { functions: { Image: { image: { uri: "a/b:1" } } } } };`;
  const project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "trellis.config.ts": config("{}"),
    "node_modules/@aws-sdk/client-any/package.json":
      `{ "name": "@aws-sdk/client-any", "main": "index.js", "type": "module" }`,
    "node_modules/@aws-sdk/client-any/index.js": `export const client = "${"sdk ".repeat(500)}";`,
    "src/functions/standalone/plain.ts": use,
    "src/functions/standalone/image.ts": use,
    "src/functions/standalone/own_image.ts":
      `${use}export const infra = { image: { uri: "a/b:1" } };\n`,
  });
  const listBundled = async () => {
    const { functions, errors } = await buildJson(project);
    assertEquals(errors, []);
    return functions.filter(({ packages }) =>
      packages.some(({ name }) => name === "@aws-sdk/client-any")
    ).map(({ name }) => name);
  };
  try {
    assertEquals(await listBundled(), ["Image", "OwnImage"]);
    const write = (build: string) =>
      Deno.writeTextFile(join(project.root, "trellis.config.ts"), config(build));
    await write(`{ awsSdk: "runtime" }`);
    assertEquals(await listBundled(), []);
    await write(`{ awsSdk: "bundle", budgets: { "*": 100 } }`);
    assertEquals(await listBundled(), ["Image", "OwnImage", "Plain"]);
    const { stdout } = await project.build("--check");
    assertMatch(
      stdout,
      /error Plain has \d+ bytes .* @aws-sdk\/client-any 2\.\d kB .*\(build\.budgets\["\*"\]; build\.awsSdk: "runtime" leaves out 2\.\d kB of the AWS SDK\)/,
    );
  } finally {
    await project.remove();
  }
});

Deno.test("build bundles signers of the AWS SDK with all their parts, which the Lambda runtime may lack", async () => {
  const project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    ...Object.fromEntries(["a-signer", "parts", "client-any"].map((name) => [
      `node_modules/@aws-sdk/${name}/package.json`,
      `{ "name": "@aws-sdk/${name}", "main": "index.js", "type": "module" }`,
    ])),
    "node_modules/@aws-sdk/a-signer/index.js":
      `import { part } from "@aws-sdk/parts";\nexport const sign = (text) => [part, text];`,
    "node_modules/@aws-sdk/parts/index.js": `export const part = "signed";`,
    "node_modules/@aws-sdk/client-any/index.js": `export const client = "client";`,
    "src/functions/standalone/sign.ts": `import { sign } from "@aws-sdk/a-signer";
export const handler = async () => sign(typeof (await import("@aws-sdk/client-any")));\n`,
  });
  try {
    const { functions: [{ packages }] } = await buildJson(project);
    const names = packages.map(({ name }) => name).filter((name) => name.startsWith("@aws-sdk/"));
    assertEquals(names.sort(), ["@aws-sdk/a-signer", "@aws-sdk/parts"]);
  } finally {
    await project.remove();
  }
});

Deno.test("build writes nothing when a function cannot be bundled, and names the place", async () => {
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "src/functions/standalone/good.ts": `export const handler = async () => 1;`,
    "src/functions/standalone/bare.ts": `export const handle = async () => 1;`,
  });
  assertEquals((await buildJson(project)).errors, [
    {
      file: "src/functions/standalone/bare.ts",
      line: 1,
      column: 1,
      message: "does not export a handler",
    } as never,
  ]);
  await Deno.writeTextFile(
    join(project.root, "src/functions/standalone/bare.ts"),
    `const a = 1;\nimport "./missing.ts";\nexport const handler = () => a;`,
  );
  const { exitCode, stdout } = await project.build();
  assertEquals(exitCode, 1);
  assertMatch(
    stdout,
    /error src\/functions\/standalone\/bare\.ts:2:8: Could not resolve "\.\/missing\.ts"/,
  );
  assertMatch(stdout, /Nothing was written\.\n$/);
  assertFalse(await exists(join(project.root, "dist/Good")));
});

Deno.test("build leaves somebody else's files alone", async () => {
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "src/functions/standalone/mine.ts": `export const handler = async () => 1;`,
    "dist/Mine/index.mjs": `export const handler = 2;`,
  });
  const { exitCode, errors } = await buildJson(project);
  assertEquals([exitCode, errors.map(({ file }) => file)], [1, ["dist/Mine/index.mjs"]]);
  assertEquals(
    await Deno.readTextFile(join(project.root, "dist/Mine/index.mjs")),
    `export const handler = 2;`,
  );
});

Deno.test("build rejects invalid settings", async () => {
  const cases: readonly [settings: string, message: RegExp][] = [
    [`{ budgets: { Other: 1 } }`, /build\.budgets: Other does not match a function/],
    [`{ dir: "src" }`, /build\.dir is src, which contains the sources/],
    [`{ dir: "." }`, /build\.dir is \., which contains the sources/],
    [
      `{ target: "es2020" }`,
      /build\.target must be a version of Node, such as node22, got "es2020"/,
    ],
    [`{ budgets: { "*": -1 } }`, /build\.budgets must be an object/],
    [
      `{ databaseProviders: ["mysql"] }`,
      /build\.databaseProviders must be a list of postgres, distsql/,
    ],
    [`{ sourceMaps: "inline" }`, /build\.sourceMaps must be "beside", "apart" or "none"/],
  ];
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "src/functions/standalone/mine.ts": `export const handler = async () => 1;`,
  });
  for (const [settings, message] of cases) {
    await Deno.writeTextFile(
      join(project.root, "trellis.config.ts"),
      `export default { build: ${settings} };`,
    );
    const { exitCode, stderr } = await project.build();
    assertEquals(exitCode, 3, settings);
    assertMatch(stderr, message);
  }
});

Deno.test("build puts source maps where the settings say, and names a provider's missing package", async () => {
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "trellis.config.ts": `export default { build: { sourceMaps: "apart" } };`,
    "src/functions/standalone/mine.ts": `export const handler = async () => 1;`,
  });
  const { root } = project;
  await project.build();
  assertFalse(
    (await Deno.readTextFile(join(root, "dist/Mine/index.mjs"))).includes("sourceMappingURL"),
  );
  const { sources } = JSON.parse(
    await Deno.readTextFile(join(root, "dist.maps/Mine/index.mjs.map")),
  );
  assertEquals(sources, ["../../src/functions/standalone/mine.ts"]);
  await Deno.writeTextFile(
    join(root, "trellis.config.ts"),
    `export default { build: { sourceMaps: "none" } };`,
  );
  await project.build();
  assertFalse(await exists(join(root, "dist/Mine/index.mjs.map")));
});

Deno.test("build warns of zod's messages in all languages, and of what is for tests", async () => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/schemas.ts": `import type { core } from "zod";\n\nimport {\n  z,\n} from "zod";
export const Input: core.$ZodType & z.ZodType = z.object({});\n`,
    "src/functions/standalone/all.ts":
      `import { Input } from "../../schemas.ts";\nexport const handler = async (event: unknown) => Input.parse(event);\n`,
    // a package that brings them cannot be changed
    "src/functions/standalone/packaged.ts":
      `import { parse } from "../../../node_modules/with-zod/index.js";\nexport const handler = async (event: unknown) => parse(event);\n`,
    "node_modules/with-zod/package.json":
      `{ "name": "with-zod", "main": "index.js", "type": "module" }`,
    "node_modules/with-zod/index.js":
      `import { z } from "zod";\nexport const parse = (value) => z.object({}).parse(value);\n`,
    "src/functions/standalone/lean.ts":
      `import * as z from "zod";\nexport const handler = async (event: unknown) => z.object({}).parse(event);\n`,
    "src/functions/standalone/test.ts":
      `import { createRestApiEvent } from "@trellis/fn/testing";\nexport const handler = async () => createRestApiEvent();\n`,
  });
  try {
    const { warnings } = await buildJson(project, "--check");
    assertEquals(warnings.length, 2);
    assertMatch(
      warnings[0],
      /^src\/schemas\.ts:3:1: this import brings zod's messages in all languages \(\d+ kB\) into All: write import \* as z from "zod"/,
    );
    assertEquals(
      warnings[1],
      "@trellis/fn/testing or @trellis/fn/cli is bundled into Test: import it in tests only",
    );
  } finally {
    await project.remove();
  }
});
