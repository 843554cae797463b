import { testGrants } from "../fixtures/analyse.ts";

const WORKFLOWS = {
  "get_db.ts": `import { getDrizzleClient } from "@trellis/fn/database";
    export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });`,
  "onboard.ts": `import { defineWorkflow } from "@trellis/fn/workflows"; import { z } from "zod";
    import { addB } from "./queries.ts";
    export const onboard = defineWorkflow({ name: "onboard", input: z.string() })(async ({ step, input }) => {
      await step("add", (tx) => addB.on(tx, input));
    });`,
};

const handler = (body: string, imports: string) =>
  `import { defineQueueHandler } from "@trellis/fn"; import { getDb } from "./get_db.ts"; ${imports}
  export const handler = defineQueueHandler()(async () => { ${body} });`;
const ONBOARD = `import { onboard } from "./onboard.ts";`;

testGrants([
  [
    "grants INSERT to functions that start a workflow, and nothing of its steps",
    "trellis_jobs INSERT, trellis_workflows INSERT",
    { ...WORKFLOWS, "fn.ts": handler(`await onboard.start(await getDb(), "a");`, ONBOARD) },
  ],
  [
    "grants SELECT to functions that read a workflow",
    "trellis_workflow_entries SELECT, trellis_workflows SELECT",
    { ...WORKFLOWS, "fn.ts": handler(`await onboard.get(await getDb(), "a");`, ONBOARD) },
  ],
  [
    "grants INSERT of signals to functions that send one",
    "trellis_jobs INSERT, trellis_workflow_entries INSERT, trellis_workflows SELECT",
    {
      ...WORKFLOWS,
      "fn.ts": handler(
        `await signalWorkflow(await getDb(), "a", "paid");`,
        `import { signalWorkflow } from "@trellis/fn/workflows";`,
      ),
    },
  ],
  [
    "grants a worker of workflows the tables of workflows, jobs and steps",
    "b INSERT, trellis_jobs SELECT+INSERT+UPDATE, trellis_workflow_entries SELECT+INSERT+UPDATE+DELETE, " +
    "trellis_workflows SELECT+INSERT+UPDATE+DELETE",
    {
      ...WORKFLOWS,
      "fn.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs"; ${ONBOARD}
        import { getDb } from "./get_db.ts";
        export const handler = defineJobQueueHandler({ getDb, jobs: [onboard.job] });`,
    },
  ],
]);
