import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { unzipSync, zipSync } from "fflate";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createRestApiEvent } from "../../../testing/mod.ts";
import { type ServedFunction, startStageServer } from "../../support/stage_server.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { writeFiles } from "../../support/temp_folder.ts";
import { runInProcess } from "../fixtures/run.ts";
import { createTestProject } from "./fixtures/project.ts";

const MAIN = new URL("../../../cli/main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;
/** `TRELLIS_FULL_TESTS=1` also kills sessions at any moment of their start. */
const KILLS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20 : 1;
const FILE = "src/functions/api/plain.get.ts";
const FUNCTION = "fixture-dev-Plain";

const render = (release: string) =>
  `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler()(function plain({ context }) {
  console.log("called");
  const { AWS_ACCESS_KEY_ID: key, SHELL_ONLY: shell = "unset", SECRET: secret } = process.env;
  return buildValidatedResponse(context, 200, { release: "${release}", key, shell, secret });
});
`;

/** Lambda's side: the code of a function with its variables, in a process of its own. */
const PROGRAM = `
const { handler } = await import(Deno.args[0]);
const context = { functionName: "${FUNCTION}", awsRequestId: "a", getRemainingTimeInMillis: () => 20_000 };
const result = await handler(JSON.parse(Deno.args[1]), context);
console.log("RESULT" + JSON.stringify(result.body ?? result));
`;

Deno.test("trellis dev --stage refuses stages whose data is protected, and options of the local server", async () => {
  const refused = [
    [["--stage", "prod"], 3, "The stage prod keeps its deployed code: only dev and preview… run"],
    [["--stage", "devel"], 3, "Nothing was changed"],
    [["--stage", "dev", "--reset"], 2, "--reset belongs to the local server: it excludes --stage"],
  ] as const;
  for (const [args, code, text] of refused) {
    const { exitCode, stderr } = await runInProcess(["dev", ...args]);
    assertEquals(exitCode, code, stderr);
    assertStringIncludes(stderr, text);
  }
});

Deno.test("trellis dev --stage answers the calls of a stage with local code, and leaves the deployed code behind however it ends", async (t) => {
  const server = startStageServer();
  const project = await createTestProject({
    "package.json": '{ "name": "fixture", "type": "module" }',
    [FILE]: render("local"),
    "src/functions/queue/in-vpc.ts": `import { defineQueueHandler } from "@trellis/fn/triggers";
export const handler = defineQueueHandler()(() => {});
`,
  });
  const deployed = zipSync({
    "index.mjs": new TextEncoder().encode(
      `export const handler = () => ({ body: '{"release":"deployed"}' });`,
    ),
  });
  const fn: ServedFunction = { code: deployed, aliases: { live: "1" } };
  server.functions.set(FUNCTION, fn);
  server.functions.set("fixture-dev-InVpc", { code: deployed, aliases: {}, subnets: ["subnet-1"] });
  const shell = {
    AWS_ACCESS_KEY_ID: "AKIADEVELOPER0000000",
    AWS_SECRET_ACCESS_KEY: "developer",
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: server.url,
    SHELL_ONLY: "a variable of the shell",
  };
  const role = {
    AWS_ACCESS_KEY_ID: "ASIAROLE000000000000",
    AWS_SECRET_ACCESS_KEY: "role",
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: server.url,
    SECRET: "known-to-the-function",
  };
  let packages = 0;

  async function invoke(): Promise<unknown> {
    const folder = join(project.root, ".aws", String(++packages));
    await writeFiles(folder, unzipSync(fn.code));
    const names = ["HOME", "PATH", "DENO_DIR"];
    const known = names.map((name) => [name, Deno.env.get(name)]).filter(([, value]) => value);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", "--config", CONFIG, PROGRAM].concat(
        pathToFileURL(join(folder, "index.mjs")).href,
        JSON.stringify(createRestApiEvent({ method: "GET", path: "/plain" })),
      ),
      clearEnv: true,
      env: { ...role, ...Object.fromEntries(known), NO_COLOR: "1" },
    });
    const { stdout, stderr } = await child.output();
    const text = new TextDecoder().decode(stdout);
    const [, result] = /RESULT(.*)/.exec(text) ?? [];
    assert(result !== undefined, `${text}${new TextDecoder().decode(stderr)}`);
    return JSON.parse(JSON.parse(result));
  }

  /** Starts a session. It is ready when its promise settles, and may be stopped before. */
  function launch() {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", MAIN, "dev", "--stage", "dev", "--project", project.root],
      env: { ...shell, NO_COLOR: "1" },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let text = "";
    const ready = Promise.withResolvers<void>();
    const read = [child.stdout, child.stderr].map(async (stream) => {
      for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (text.includes("Press Ctrl-C")) ready.resolve();
      }
      ready.resolve();
    });
    return {
      ready: ready.promise,
      text: () => text,
      async stop(signal: "SIGKILL" | "SIGTERM"): Promise<number> {
        child.kill(signal);
        await Promise.all(read);
        return (await child.status).code;
      },
    };
  }

  try {
    const session = launch();
    await session.ready;
    await t.step("a call runs here, with the variables and the role of the function", async () => {
      assertStringIncludes(session.text(), "fixture-dev is answered by this machine: 1 function");
      assertStringIncludes(session.text(), "fixture-dev-InVpc: runs in a VPC");
      assertEquals(fn.aliases, { live: "$LATEST" });
      const key = role.AWS_ACCESS_KEY_ID;
      const [shell, secret] = ["unset", role.SECRET];
      assertEquals(await invoke(), { release: "local", key, shell, secret });
      await project.write(FILE, render("edited"));
      assertEquals(await invoke(), { release: "edited", key, shell, secret });
      assertStringIncludes(session.text(), "200  GET /plain");
    });
    await t.step(
      "credentials and variables of the function are neither readable in queues nor printed",
      () => {
        const text = `${server.bodies.join()}${session.text()}`;
        for (const value of [role.AWS_ACCESS_KEY_ID, role.SECRET, "httpMethod"]) {
          assertEquals(text.includes(value), false, value);
        }
      },
    );
    await t.step("the deployed code answers after a kill", async () => {
      await session.stop("SIGKILL");
      assertEquals(await invoke(), { release: "deployed" });
      const random = createRandom(testSeed);
      for (let kill = 1; kill < KILLS; kill++) {
        const ms = random.below(4_500);
        const next = launch();
        await new Promise((resolve) => setTimeout(resolve, ms));
        await next.stop("SIGKILL");
        assertEquals(await invoke(), { release: "deployed" }, `killed after ${ms} ms`);
      }
    });
    await t.step(
      "the next session takes over, and restores code and alias in the end",
      async () => {
        const next = launch();
        await next.ready;
        assertEquals(
          await invoke().then((body) => (body as { release: string }).release),
          "edited",
        );
        assertEquals(await next.stop("SIGTERM"), 0, next.text());
        assertEquals(fn.code, deployed);
        assertEquals(fn.aliases, { live: "1" });
        assertEquals(server.listQueues(), []);
      },
    );
  } finally {
    await server.stop();
    await project.clean();
  }
});
