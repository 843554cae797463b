import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { denoProjectFiles, type TestProject, writeTestProject } from "./project.ts";

const FUNCTION = `import { withQueryMetrics } from "@trellis/fn/database";
import { AppError, ConfigurationError, UniqueViolationError } from "@trellis/fn/errors";
import { logError, logInfo } from "@trellis/fn/observability";
import { defineApiHandler } from "@trellis/fn/validation";

const duplicate = () => Object.assign(new Error('duplicate key value violates unique constraint "notes_key"'), {
  code: "23505", constraint_name: "notes_key", table_name: "notes", detail: "Key (title)=(secret title) already exists.",
});
const OPERATIONS = {
  plain: () => "plain",
  field: () => logInfo("note created", { noteId: "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e", tries: 2, title: "Milk and bread" }),
  secrets: () => logInfo("a request with token=abcdefghij", { body: { password: "hunter2", url: "https://a:b@example.com?code=1" } }),
  error: () => logError("failed", { error: new AppError("CONFLICT", "twice", { cause: duplicate(), details: { apiKey: "k" } }) }),
  thrown: () => { throw new TypeError("it is password: hunter2", { cause: duplicate() }); },
  async query() {
    try {
      await withQueryMetrics("addNote", () => Promise.reject(duplicate()));
    } catch (error) {
      return JSON.stringify([error instanceof UniqueViolationError, error instanceof AppError, error.message, error.columns]);
    }
  },
};
export const handler = defineApiHandler({ auth: "none" })(async function rare({ event }) {
  const body = await OPERATIONS[event.headers.operation]();
  return { statusCode: 200, body: body ?? "" };
});
export const isConfigurationError = (error) => error instanceof ConfigurationError;
`;
/** The scheme is not in the code, so that its check is in the second file. */
const BEARER = `import { defineApiHandler } from "@trellis/fn/validation";
const logging = JSON.parse('{ "logEvent": true, "level": "DEBUG" }');
export const handler = defineApiHandler({ auth: process.env.AUTH, logging })(() => ({ statusCode: 204 }));
`;
/** Its responses are checked, so that the check is in its bundle. */
const KEPT = `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
export const handler = defineApiHandler({ auth: "none", responses: { 200: z.object({ n: z.number() }) } })(
  () => reply(200, { n: 1, secret: 2 }),
);
`;
const OPERATIONS = ["plain", "field", "secrets", "error", "thrown", "query"];

/** Answers and lines of log, without what differs between two runs. */
async function run(project: TestProject): Promise<Record<string, string>> {
  const results: Record<string, string> = {};
  const call = async (name: string, key: string, options: Parameters<TestProject["call"]>[1]) => {
    const { answer, logged } = await project.call(name, options);
    results[key] = `${JSON.stringify(answer)}\n${logged}`
      .replace(/"(?:timestamp|duration_ms|(?:Query)?Duration)":"?[\d:.TZ-]+"?/gi, "")
      .replace(/"stack":"[^"]*"/g, '"stack":"…"');
  };
  for (const operation of OPERATIONS) {
    await call("Rare", operation, { event: { headers: { operation } } });
  }
  for (const authorization of [undefined, "Bearer right", "Bearer wrong"]) {
    for (const API_BEARER_TOKEN of ["", "right"]) {
      await call("Checked", `${authorization} ${API_BEARER_TOKEN}`, {
        event: { headers: { authorization, "x-api-key": "secret" } },
        env: { AUTH: "bearer", API_BEARER_TOKEN },
      });
    }
  }
  return results;
}

Deno.test("rest.cjs has code that a usual request does not run", async (t) => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/api/rare.post.ts": FUNCTION,
    "src/functions/api/checked.get.ts": BEARER,
    "src/functions/api/kept.get.ts": KEPT,
  });
  const build = async (settings: object): Promise<string> => {
    const config = `export default ${JSON.stringify({ build: settings })};`;
    await Deno.writeTextFile(join(project.root, "trellis.config.ts"), config);
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals(exitCode, 0, stdout + stderr);
    return stdout;
  };
  const inDist = (file: string) => join(project.root, "dist", file);
  try {
    await build({});
    const expected = await run(project);
    await build({ precompile: true });

    await t.step("answers and lines of log are the same", async () => {
      assertEquals(await run(project), expected);
      assertStringIncludes(expected.query, "[true,true,");
      assertStringIncludes(expected.error, '"columns":["title"]');
      assertMatch(expected.thrown, /"error":\{"name":"TypeError"/);
    });
    await t.step("the bundle has none of it", async () => {
      const code = await Deno.readTextFile(inDist("Rare/index.mjs"));
      assertEquals(code.includes("duplicate key value violates|"), false);
      const rest = await Deno.readTextFile(inDist("Rare/rest.cjs"));
      assertStringIncludes(rest, "duplicate key value violates|");
    });
    await t.step("usual requests do not load it", async () => {
      await Deno.rename(inDist("Rare/rest.cjs"), inDist("rest.cjs"));
      for (const operation of ["plain", "field"]) {
        const { answer } = await project.call("Rare", { event: { headers: { operation } } });
        assertEquals(answer.statusCode, 200, JSON.stringify(answer));
      }
    });
    await t.step("options that the code sets do not load it", async () => {
      await Deno.remove(inDist("Kept/rest.cjs"));
      const { answer } = await project.call("Kept");
      assertEquals([answer.statusCode, answer.body], [200, '{"n":1}']);
    });
    await t.step("an error without the file still has an answer and a line", async () => {
      const event = { headers: { operation: "thrown" } };
      const nodeArgs = ["--import", "data:text/javascript,console.error=console.log"];
      const { answer, logged } = await project.call("Rare", { event, nodeArgs });
      assertEquals(answer.statusCode, 500);
      assertStringIncludes(logged, "request failed");
      assertStringIncludes(logged, "rest.cjs");
      assertEquals(logged.includes("hunter2"), false);
    });
  } finally {
    await project.remove();
  }
});
