import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { type FunctionFacts, loadFunctions } from "../../../cli/project/load_functions.ts";
import { shareReads } from "../../../cli/sources/share_reads.ts";
import { type Fixture, handler, withProject } from "../fixtures/analyse.ts";

const READER = new URL("../fixtures/definitions_reader.ts", import.meta.url).href;

interface Facts {
  readonly handler?: string;
  readonly options?: Record<string, unknown>;
  readonly definitions: readonly string[];
}

function load(files: Fixture): Promise<{ facts?: Facts; error?: FunctionFacts["error"] }> {
  return withProject(files, async (root) => {
    const [{ facts, error }] = await loadFunctions({
      root,
      functions: [{ name: "Fn", file: join(root, "fn.ts") }],
      readers: [READER],
    });
    return { facts: facts?.[0] as Facts, error };
  });
}

const DEFINITIONS: readonly (readonly [what: string, expected: string[], files: Fixture])[] = [
  ["keeps what the handler names, and drops what it imports only", [
    "defineQuery readA queries.ts:6",
  ], {
    "fn.ts": handler(`import { readA, addB } from "./queries.ts";`, "return readA();"),
  }],
  ["drops definitions in an object that is not used, and follows a factory that is a namespace", [
    "defineQuery run own.ts:5",
  ], {
    "own.ts": `import { createQueryFactory } from "@trellis/fn/database";
      import * as s from "./schema.ts";
      export const queries = createQueryFactory(() => null as any);
      export const unused = { q: queries.defineQuery({ tables: [{ table: s.a, operations: ["SELECT"] }] }, async () => {}) };
      export const run = queries.defineQuery({ tables: [{ table: s.b, operations: ["SELECT"] }] }, async () => {});`,
    "fn.ts": handler(`import { run } from "./own.ts";`, "return run();"),
  }],
  ["runs modules that are imported on demand", [
    "defineQuery readA queries.ts:6",
    "defineQuery addB queries.ts:7",
    "defineQuery dropC queries.ts:8",
  ], {
    "fn.ts": handler("", `const { readA } = await import("./queries.ts"); return readA();`),
  }],
  ["empties the handler of a job that is only enqueued", ["defineJob job job.ts:3"], {
    "job.ts": `import { defineJob } from "@trellis/fn/jobs"; import * as z from "zod";
      import { readA } from "./queries.ts";
      export const job = defineJob({ name: "job", schema: z.null() })(async () => { await readA(); });`,
    "fn.ts": handler(`import { job } from "./job.ts";`, "return job.enqueue(null as any, null);"),
  }],
  ["keeps the handler of a job in a worker", [
    "defineQuery readA queries.ts:6",
    "defineJob job job.ts:3",
    "defineQueueHandler handler fn.ts:2",
  ], {
    "job.ts": `import { defineJob } from "@trellis/fn/jobs"; import * as z from "zod";
      import { readA } from "./queries.ts";
      export const job = defineJob({ name: "job", schema: z.null() })(async () => { await readA(); });`,
    "fn.ts":
      `import { defineJobQueueHandler } from "@trellis/fn/jobs"; import { job } from "./job.ts";
      export const handler = defineJobQueueHandler({ getDb: (() => null) as any, jobs: [job] });`,
  }],
];

for (const [what, expected, files] of DEFINITIONS) {
  Deno.test(`loadFunctions() ${what}`, async () => {
    const { facts, error } = await load(files);
    assertEquals(error, undefined);
    assertEquals(facts!.definitions, expected);
  });
}

Deno.test("loadFunctions() reads options that are computed, with names in place of missing variables", async () => {
  const { facts, error } = await load({
    "options.ts": `import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
      export const options = { timeout: [1, 2].length * 5, operationName: getRequiredEnv("NAME"), x: process.env.X,
        tracing: getOptionalEnv("TRACING") === "on" };`,
    "fn.ts":
      `import { defineApiHandler } from "@trellis/fn/validation"; import { options } from "./options.ts";
      const { x: _, ...rest } = options; export const handler = defineApiHandler(rest as any)(() => {});`,
  });
  assertEquals(error, undefined);
  assertEquals([facts!.handler, facts!.options], ["defineApiHandler", {
    timeout: 10,
    operationName: "${NAME}",
    tracing: false,
  }]);
});

Deno.test("loadFunctions() loads a function that reads a file beside its source", async () => {
  const { facts, error } = await load({
    "page.html": "<p>page</p>",
    "fn.ts":
      `import { defineApiHandler } from "@trellis/fn/validation"; import { readFileSync } from "node:fs";
      const operationName = readFileSync(new URL("./page.html", import.meta.url), "utf8");
      export const handler = defineApiHandler({ operationName })(() => {});`,
  });
  assertEquals(error, undefined);
  assertEquals(facts!.options, { operationName: "<p>page</p>" });
});

const REFUSED: readonly (readonly [what: string, line: number, message: string, code: string])[] = [
  [
    "a module that throws",
    2,
    "no such thing",
    `const text = "x";
if (text) throw new Error("no such thing");`,
  ],
  [
    "a variable that decides what is defined",
    1,
    "MODE decides what the function uses",
    handler("", "return 1;", `{ auth: process.env.MODE ? "none" : "bearer" }`),
  ],
  [
    "a connection to a database",
    3,
    "getDrizzleClient() was called while the module was loaded",
    `import { getDrizzleClient } from "@trellis/fn/database";
const a = 1;
const db = await getDrizzleClient({ provider: "embedded-pg" });`,
  ],
  [
    "a connection to the network",
    2,
    "network",
    `const a = 1;
await fetch("http://127.0.0.1:1/");`,
  ],
];

for (const [what, line, message, code] of REFUSED) {
  Deno.test(`loadFunctions() refuses ${what}, with file and line`, async () => {
    const { error } = await load({ "fn.ts": code });
    assertStringIncludes(error?.message ?? "", message);
    assertEquals([error?.file, error?.line], ["fn.ts", line]);
  });
}

Deno.test("loadFunctions() gives modules no variable of this process", async () => {
  Deno.env.set("TRELLIS_TEST_SECRET", "hidden");
  try {
    const { facts } = await load({
      "fn.ts": `import { defineApiHandler } from "@trellis/fn/validation";
        export const handler = defineApiHandler({ operationName: String(Object.keys(process.env).includes("TRELLIS_TEST_SECRET")) })(() => {});`,
    });
    assertEquals(facts!.options, { operationName: "false" });
  } finally {
    Deno.env.delete("TRELLIS_TEST_SECRET");
  }
});

Deno.test("loadFunctions() starts a new process when what earlier functions left behind ends it", async () => {
  const first = await load({
    "fn.ts": `import { defineApiHandler } from "@trellis/fn/validation";
      setTimeout(() => { throw new Error("left behind"); }, 0);
      export const handler = defineApiHandler({ operationName: "first" })(() => {});`,
  });
  assertEquals(first.facts!.options, { operationName: "first" });
  const second = await load({
    "fn.ts": `import { defineApiHandler } from "@trellis/fn/validation";
      await new Promise((done) => setTimeout(done, 50));
      export const handler = defineApiHandler({ operationName: "second" })(() => {});`,
  });
  assertEquals(second.facts!.options, { operationName: "second" });
});

Deno.test("loadFunctions() names a module that ends the process", async () => {
  const files = {
    "fn.ts": `import process from "node:process"; process.exit(0);
      export const handler = () => {};`,
  };
  await assertRejects(() => load(files), ConfigurationError, "Fn cannot be loaded");
});

Deno.test("loadFunctions() gives functions no variable that others have set", async () => {
  const code = (name: string) =>
    `import { defineApiHandler } from "@trellis/fn/validation";
    export const handler = defineApiHandler({ operationName: ${name} })(() => {});`;
  await load({ "fn.ts": `process.env.LEFT_BEHIND = "kept"; ${code(`"first"`)}` });
  const { facts } = await load({ "fn.ts": code(`String("LEFT_BEHIND" in process.env)`) });
  assertEquals(facts!.options, { operationName: "false" });
});

Deno.test("shareReads() gives readers what was found before, and other readers the same sources", async () => {
  const code = (name: string) =>
    `import { defineApiHandler } from "@trellis/fn/validation";
    export const handler = defineApiHandler({ operationName: "${name}" })(() => {});`;
  const permissions = new URL("../../../cli/grants/read_permissions.ts", import.meta.url).href;
  await withProject({ "fn.ts": code("first") }, async (root) => {
    const file = join(root, "fn.ts");
    const read = async (...readers: string[]) => {
      const [{ facts }] = await loadFunctions({ root, functions: [{ name: "Fn", file }], readers });
      return facts!;
    };
    await shareReads(async () => {
      const [, both] = await read(permissions, READER);
      await Deno.writeTextFile(file, code("second"));
      assertEquals((await read(READER))[0] === both, true);
      const [other] = await read(`${READER}?other`);
      assertEquals((other as Facts).options, { operationName: "first" });
    });
    assertEquals((await read(READER))[0] as Facts, {
      handler: "defineApiHandler",
      options: { operationName: "second" },
      definitions: [],
    });
  });
});
