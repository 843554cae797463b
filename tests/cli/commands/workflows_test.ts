import { assertEquals, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import {
  workflowsCancel,
  workflowsList,
  workflowsReplay,
  workflowsRetry,
  workflowsShow,
} from "../../../cli/commands/workflows.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/mod.ts";
import { createJobWorker } from "../../../jobs/mod.ts";
import { defineWorkflow } from "../../../workflows/mod.ts";
import { createWorkflowTables } from "../../workflows/workflow_world.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { getDirectConfig, startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";

const COMMANDS = [workflowsList, workflowsShow, workflowsRetry, workflowsCancel, workflowsReplay];

/** The project's code: as it is in the database, and changed. */
const CODE = `import { defineWorkflow } from "@trellis/fn/workflows";
const input = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
export const pay = defineWorkflow({ name: "pay", input })(async ({ step, waitFor }) => {
  await step("charge", () => { throw new Error("a replay runs no step"); });
  await waitFor("paid", { timeoutSeconds: 60 });
});
export const changed = defineWorkflow({ name: "pay", input })(({ step }) => step("refund", () => {}));
export const other = 1;
`;

Deno.test("trellis workflows lists, shows, retries, replays and cancels workflows", async () => {
  const postgres = await startPostgres();
  const database = getDirectConfig(await postgres.createDatabase("workflows"));
  const root = await Deno.makeTempDir();
  const run = (...args: string[]): Promise<CliResult> =>
    runInProcess(["workflows", ...args], { commands: COMMANDS, cwd: root });
  let isDown = true;
  const pay = defineWorkflow({ name: "pay", input: z.string() })(async ({ step, waitFor }) => {
    await step("charge", { retry: { maxAttempts: 1 } }, () => {
      if (isDown) throw new Error("the bank is down");
    });
    await waitFor("paid", { timeoutSeconds: 60 });
  });
  try {
    const db = await getDrizzleClient(database);
    await withEnv({ DATABASE_URL: database.connectionString }, async () => {
      const early = await run("list");
      assertEquals(early.exitCode, 3);
      assertStringIncludes(
        early.stderr,
        "The table trellis_workflows does not exist, or is that of an earlier release: write a migration",
      );

      await createWorkflowTables(db);
      const id = await pay.start(db, "secret input");
      const worker = createJobWorker({
        getDb: () => db,
        jobs: [pay.job],
        logging: { level: "SILENT" },
        metrics: false,
      });
      await worker.runDue();
      const listed = await run("list", "--state", "failed", "--workflow", "pay");
      assertEquals(listed.exitCode, 0);
      assertStringIncludes(listed.stdout, "the bank is down");
      assertEquals(listed.stdout.includes("secret input"), false);
      const shown = await run("show", id);
      assertStringIncludes(shown.stdout, 'input: "secret input"');
      assertEquals(/00000 +step +charge +failed +1 /.test(shown.stdout), true, shown.stdout);

      isDown = false;
      assertEquals((await run("retry", id)).exitCode, 0);
      await worker.runDue();
      const { workflow } = JSON.parse((await run("show", id, "--json")).stdout);
      assertEquals(workflow.state, "running");
      assertEquals(
        workflow.entries.map(({ kind, state }: Record<string, string>) => `${kind} ${state}`),
        ["step done", "wait pending"],
      );
      await Deno.writeTextFile(`${root}/pay.ts`, CODE);
      const fitting = await run("replay", "pay.ts#pay", "--id", id);
      assertEquals(fitting.exitCode, 0, fitting.stderr);
      const misfit = await run("replay", "pay.ts#changed");
      assertEquals(misfit.exitCode, 1);
      assertStringIncludes(misfit.stdout, 'the code now has step "refund"');
      assertStringIncludes(misfit.stdout, "1 workflow replayed, 1 do not fit");
      assertEquals((await run("replay", "pay.ts#other")).exitCode, 2);

      const cancelled = await captureLogs(() => run("cancel", id));
      // metrics would be part of what --json prints
      assertEquals([cancelled.result.exitCode, cancelled.lines], [0, []]);
      await worker.runDue();
      const again = await run("cancel", id);
      assertEquals(again.exitCode, 1);
      assertStringIncludes(again.stdout, "the workflow is cancelled");
      assertEquals((await run("show", crypto.randomUUID())).exitCode, 1);
      assertEquals((await run("show", "n1")).exitCode, 2);
    });
  } finally {
    await closeDrizzleClient(database);
    await postgres.stop();
    await Deno.remove(root, { recursive: true });
  }
});
