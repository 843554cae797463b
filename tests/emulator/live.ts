/** Calls of a deployed stage that run on the machine of a developer, on an emulator of AWS. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { renderHealth } from "./project.ts";
import {
  checkPlanIsEmpty,
  deployFirst,
  destroyStage,
  type Suite,
  testOnEmulator,
} from "./suite.ts";

/** `TRELLIS_FULL_TESTS=1` kills sessions at more moments. */
const KILLS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20 : 3;
const HEALTH = "src/functions/api/health.get.ts";

/** A process of `trellis dev --stage dev`. */
interface Session {
  /** Settles when the functions are replaced, or when the process has ended. */
  readonly started: Promise<void>;
  /** Settles with the exit code when the process ends. */
  readonly ended: Promise<number>;
  text(): string;
  /** Sends a signal, unless it has ended. Returns the exit code. */
  stop(signal: Deno.Signal): Promise<number>;
}

function startSession({ startTrellis }: Suite): Session {
  const child = startTrellis("dev --stage dev");
  const started = Promise.withResolvers<void>();
  let text = "";
  const read = [child.stdout, child.stderr].map(async (stream) => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("Press Ctrl-C")) started.resolve();
    }
  });
  let hasEnded = false;
  const ended = Promise.all([child.status, ...read, child.stdin.close().catch(() => {})])
    .then(([{ code }]) => code);
  ended.then(() => {
    hasEnded = true;
    started.resolve();
  });
  return {
    started: started.promise,
    ended,
    text: () => text,
    stop(signal): Promise<number> {
      if (!hasEnded) child.kill(signal);
      return ended;
    },
  };
}

testOnEmulator("calls of a stage run here, and a kill leaves its deployed code", async (suite) => {
  const { emulator, root, step, trellis } = suite;
  let api = "";
  const readRelease = async () =>
    (await (await emulator.request(`${api}/health`)).json()).release as string;

  await step("deploy", async () => void (api = await deployFirst(suite)));

  await step("calls run here, with the role of their function, and edits are live", async () => {
    const session = startSession(suite);
    await session.started;
    assertStringIncludes(session.text(), "app-dev is answered by this machine: ");
    for (const release of ["local", "edited"]) {
      await Deno.writeTextFile(join(root, HEALTH), renderHealth(release));
      assertEquals(await readRelease(), release, session.text());
    }
    const posted = await emulator.request(`${api}/notes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "posted here" }),
    });
    assertEquals(posted.status, 201, await posted.text());
    assertStringIncludes(session.text(), "201  POST /notes");
    assertEquals(await session.stop("SIGTERM"), 0, session.text());
    assertEquals(await readRelease(), "first");
  });

  await step("sessions that are killed at any moment leave a stage that works", async () => {
    const random = createRandom(testSeed);
    for (let kill = 1; kill <= KILLS; kill++) {
      const session = startSession(suite);
      const ms = random.below(9_000);
      await new Promise((resolve) => setTimeout(resolve, ms));
      await session.stop("SIGKILL");
      assertEquals(await readRelease(), "first", `killed after ${ms} ms: ${session.text()}`);
    }
  });

  await step("a deployment ends a session, and restores the functions", async () => {
    const session = startSession(suite);
    await session.started;
    assertEquals(await readRelease(), "edited", session.text());
    await Deno.writeTextFile(join(root, HEALTH), renderHealth("first"));
    const { code, text } = await trellis("deploy --stage dev --yes");
    assertEquals(code, 0, text);
    assertStringIncludes(text, "functions restored after trellis dev --stage");
    // it notices when its present request for messages ends
    assertEquals(await session.ended, 3, session.text());
    assertEquals(await readRelease(), "first");
  });

  await step("a plan is empty", () => checkPlanIsEmpty(suite));

  await step("destroy leaves nothing", () => destroyStage(suite));
});
