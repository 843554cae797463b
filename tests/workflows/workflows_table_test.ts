import { trellisWorkflowEntries, trellisWorkflows } from "../../workflows/mod.ts";
import { assertDeclared } from "../jobs/declared_table.ts";
import { openWorkflowWorld } from "./workflow_world.ts";

Deno.test("trellisWorkflows and trellisWorkflowEntries have the columns and indexes that the migration creates", async () => {
  await using world = await openWorkflowWorld();
  await assertDeclared(world.db, trellisWorkflows);
  await assertDeclared(world.db, trellisWorkflowEntries);
});
