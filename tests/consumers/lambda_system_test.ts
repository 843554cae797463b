import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { createRestApiEvent, createScheduleEvent } from "@trellis/fn/testing";
import { join } from "node:path";
import { DATABASE_PACKAGES, makeConsumer } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow, runProgram } from "../../scripts/program.ts";
import { type Outcome, startRuntimeApi } from "./support/runtime_api.ts";
import { findTool, NODES, type Tool } from "./support/tools.ts";

const installed = await pickPackages(DATABASE_PACKAGES);

interface Result {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

function getResult(outcome: Outcome): Result {
  assertEquals(outcome.kind, "response");
  return outcome.body as Result;
}

/** Bundles a program, with nothing but what a beginner writes: packages that are not installed must not get into the way. */
async function withBundle(
  fn: (folder: string) => Promise<void>,
  program = "api_function.ts",
  options: readonly string[] = [],
): Promise<void> {
  const esbuild = await findTool("esbuild");
  if (esbuild === undefined) return;
  const folder = await makeConsumer(installed, {
    [program]: undefined,
    "runtime_client.mjs": undefined,
  });
  try {
    const { stderr } = await runOrThrow(join(esbuild, "bin", "esbuild"), [
      `index=${program}`,
      "--bundle",
      "--minify",
      "--platform=node",
      "--target=node20",
      "--format=esm",
      "--outdir=bundle",
      "--out-extension:.js=.mjs",
      "--log-level=warning",
      ...options,
    ], { cwd: folder });
    assertEquals(stderr, "");
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function runFunction(
  { tool, folder, handler }: { tool: Tool; folder: string; handler: string },
  use: (invoke: (event: unknown) => Promise<Outcome>) => Promise<void>,
): Promise<{ code: number; stdout: string }> {
  const node = await findTool(tool);
  assert(node !== undefined, `${tool} cannot be installed here`);
  const api = await startRuntimeApi();
  const ended = runProgram(join(node, "bin", "node"), ["runtime_client.mjs"], {
    cwd: folder,
    env: {
      AWS_LAMBDA_RUNTIME_API: api.host,
      AWS_LAMBDA_FUNCTION_NAME: "notes",
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "512",
      _HANDLER: handler,
    },
  });
  try {
    await use(api.invoke);
  } finally {
    await api.stop();
  }
  return await ended;
}

for (const tool of NODES) {
  Deno.test(`a bundled handler answers and fails as Lambda expects on ${tool}`, async () => {
    await withBundle(async (folder) => {
      const post = (body: unknown) => createRestApiEvent({ method: "POST", path: "/notes", body });
      const { stdout } = await runFunction(
        { tool, folder, handler: "./bundle/index.mjs#handler" },
        async (invoke) => {
          const created = getResult(await invoke(post({ title: "Milk" })));
          assertEquals([created.statusCode, JSON.parse(created.body)], [201, {
            title: "Milk",
            coldStart: true,
          }]);
          const again = getResult(await invoke(post({ title: "Eggs" })));
          assertEquals(JSON.parse(again.body), { title: "Eggs", coldStart: false });
          const invalid = getResult(await invoke(post({ title: "" })));
          assertEquals([invalid.statusCode, Object.keys(JSON.parse(invalid.body).errors)], [400, [
            "title",
          ]]);
          assertEquals(getResult(await invoke(post({ title: "gone" }))).statusCode, 404);
          // an API handler never throws: the platform would answer 502 without a word
          const broken = getResult(await invoke(post({ title: "broken" })));
          assertEquals([broken.statusCode, JSON.parse(broken.body).message], [
            500,
            "Internal Server Error",
          ]);
          assertNotMatch(broken.body, /hunter2/);
        },
      );
      // the logs leave with the invocation that they belong to, one line of JSON each
      const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
      assert(lines.some(({ level }) => level === "ERROR"), stdout);
      assert(lines.every((line) => "level" in line || "_aws" in line), stdout);
      assertMatch(stdout, /1-5759e988-bd862e3fe1be46a994272793/);
    });
  });

  Deno.test(`a bundled handler of a trigger hands its failure to the platform on ${tool}`, async () => {
    await withBundle(async (folder) => {
      await runFunction({ tool, folder, handler: "./bundle/index.mjs#nightly" }, async (invoke) => {
        assertEquals(await invoke({ ...createScheduleEvent(), id: "good" }), {
          kind: "response",
          body: { done: "good" },
          errorType: undefined,
        });
        const failed = await invoke({ ...createScheduleEvent(), id: "bad" });
        assertEquals([failed.kind, failed.errorType], ["error", "Function.Error"]);
        assertEquals((failed.body as { errorMessage: string }).errorMessage, "the job failed");
        // and the process continues
        assertEquals((await invoke({ ...createScheduleEvent(), id: "next" })).body, {
          done: "next",
        });
      });
    });
  });
}

Deno.test("a bundle that cannot start says why to the platform", async () => {
  await withBundle(async (folder) => {
    await Deno.writeTextFile(
      join(folder, "wrong.mjs"),
      `import { defineApiHandler } from "@trellis/fn"; export const handler = defineApiHandler({ retryAttempts: 5 })(() => {});`,
    );
    const { code } = await runFunction(
      { tool: "node20", folder, handler: "./wrong.mjs#handler" },
      async (invoke) => {
        const failed = await invoke({});
        assertEquals(failed.kind, "init error");
        assertStringIncludes(
          (failed.body as { errorMessage: string }).errorMessage,
          "retryAttempts",
        );
      },
    );
    assertEquals(code, 1);
  });
});

Deno.test("a bundled session handler works without the drivers and the auth library that it does not use", async () => {
  await withBundle(
    async (folder) => {
      // apart from node_modules, as Lambda runs it
      const alone = await Deno.makeTempDir();
      try {
        await Deno.rename(join(folder, "bundle"), join(alone, "bundle"));
        await Deno.copyFile(join(folder, "runtime_client.mjs"), join(alone, "runtime_client.mjs"));
        const handler = "./bundle/index.mjs#handler";
        await runFunction({ tool: "node20", folder: alone, handler }, async (invoke) => {
          assertEquals(getResult(await invoke(createRestApiEvent())).statusCode, 401);
          // the database is asked, by the driver that is in the bundle, and is not there
          const headers = { Authorization: `Bearer ${"t".repeat(32)}` };
          const failed = getResult(await invoke(createRestApiEvent({ headers })));
          assert(failed.statusCode >= 500, failed.body);
          assertNotMatch(failed.body, /ECONNREFUSED|127\.0\.0\.1/);
        });
      } finally {
        await Deno.remove(alone, { recursive: true });
      }
    },
    "session_function.ts",
    // as docs/decisions/package.md says
    ["--splitting"],
  );
});
