import { assertEquals } from "@std/assert";
import * as z from "zod";
import { eq } from "../../database/orm.ts";
import { defineJob, trellisJobs } from "../../jobs/mod.ts";
import { assertDeclared } from "./declared_table.ts";
import { withJobs } from "./jobs_database.ts";

Deno.test("trellisJobs has the columns and indexes that the migration creates", async () => {
  await withJobs((db) => assertDeclared(db, trellisJobs));
});

Deno.test("trellisJobs reads jobs in a query", async () => {
  await withJobs(async (db) => {
    const greet = defineJob({ name: "greet", schema: z.string() })(() => {});
    const id = await greet.enqueue(db, "Ada");
    const [job] = await db.select().from(trellisJobs).where(eq(trellisJobs.id, id));
    assertEquals([job.name, job.payload, job.state, job.attempts], ["greet", '"Ada"', "queued", 0]);
    assertEquals(job.enqueuedAt instanceof Date, true);
  });
});
