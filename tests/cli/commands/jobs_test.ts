import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import {
  jobsCancel,
  jobsList,
  jobsPause,
  jobsResume,
  jobsRetry,
  jobsShow,
  jobsStats,
} from "../../../cli/commands/jobs.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { createJobWorker, defineJob } from "../../../jobs/mod.ts";
import { createJobsTable } from "../../jobs/jobs_database.ts";
import { getDirectConfig, startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const COMMANDS = [
  jobsList,
  jobsStats,
  jobsShow,
  jobsRetry,
  jobsCancel,
  jobsPause,
  jobsResume,
];
const ABSENT = "00000000-0000-4000-8000-000000000000";

Deno.test("trellis jobs lists, shows, retries and cancels jobs", async () => {
  const postgres = await startPostgres();
  const database = getDirectConfig(await postgres.createDatabase("jobs"));
  const root = await Deno.makeTempDir();
  const run = (...args: string[]): Promise<CliResult> =>
    runInProcess(["jobs", ...args], { commands: COMMANDS, cwd: root });
  const job = defineJob({ name: "fail", schema: z.string(), retry: { maxAttempts: 1 } })(() => {
    throw new Error("the mail server is down");
  });
  try {
    const db = await getDrizzleClient(database);
    await withEnv({ DATABASE_URL: database.connectionString }, async () => {
      const early = await run("list");
      assertEquals(early.exitCode, 3);
      assertStringIncludes(
        early.stderr,
        "The table trellis_jobs does not exist, or is that of an earlier release: write a migration",
      );
    });
    await createJobsTable(db);
    const ids = await job.enqueueMany(db, ["a", "b", "secret payload"]);
    const work = () =>
      createJobWorker({
        getDb: () => getDrizzleClient(database),
        jobs: [job],
        logging: { level: "SILENT" },
        metrics: false,
      }).runDue();
    await work();
    await withEnv({ DATABASE_URL: database.connectionString }, async () => {
      const listed = await run("list", "--state", "dead", "--job", "fail");
      assertEquals(listed.exitCode, 0);
      for (const id of ids) assertStringIncludes(listed.stdout, id);
      assertStringIncludes(listed.stdout, "the mail server is down");
      assertEquals(listed.stdout.includes("secret payload"), false);
      assertStringIncludes((await run("show", ids[2])).stdout, 'payload: "secret payload"');
      await job.enqueue(db, "waits");
      const { stdout } = await run("stats", "--json");
      const [dead, queued] = JSON.parse(stdout).jobs;
      assertEquals([dead.name, dead.state, dead.jobs, dead.due], ["fail", "dead", 3, 0]);
      assertEquals([queued.state, queued.jobs, queued.due], ["queued", 1, 1]);
      await db.execute(sql`delete from trellis_jobs where state = 'queued'`);
      assertStringIncludes((await run("stats")).stdout, "3 jobs");
      let shown = "";
      const slow = defineJob({ name: "slow", schema: z.string(), limit: { concurrency: 1 } })(
        async () => {
          shown ||= (await run("list", "--job", "slow")).stdout + (await run("stats")).stdout;
        },
      );
      await slow.enqueueMany(db, ["a", "b"]);
      const getDb = () => getDrizzleClient(database);
      await createJobWorker({ getDb, jobs: [slow], logging: { level: "SILENT" }, metrics: false })
        .runDue();
      assertMatch(shown, /slow +queued, waits for its limit/);
      assertMatch(shown, /slow +queued +1 +1 +\d+ s +1\n/);
      await db.execute(sql`delete from trellis_jobs where name = 'slow'`);
      assertEquals((await run("show", ABSENT)).exitCode, 1);
      assertEquals((await run("show", "n1")).exitCode, 2);
      assertEquals((await run("list", "--state", "lost")).exitCode, 2);
      assertEquals((await run("list", "--limit", "0")).exitCode, 2);
      assertEquals((await run("retry")).exitCode, 2);
      assertEquals((await run("retry", ids[0], "--dead")).exitCode, 2);

      assertEquals((await run("cancel", ids[0])).exitCode, 0);
      const again = await run("cancel", ids[0]);
      assertEquals(again.exitCode, 1);
      assertStringIncludes(
        again.stdout,
        "the job is cancelled, and only queued and dead jobs can be cancelled",
      );
      const absent = await run("retry", ABSENT);
      assertEquals(absent.exitCode, 1);
      assertStringIncludes(absent.stdout, "no job has this id");
      const retried = await run("retry", "--dead", "--job", "fail", "--json");
      assertEquals(JSON.parse(retried.stdout).changed.toSorted(), ids.slice(1).toSorted());
      await work();
      const { jobs } = JSON.parse((await run("list", "--json")).stdout);
      const states = Object.fromEntries(
        jobs.map(({ id, state }: { id: string; state: string }) => [id, state]),
      );
      assertEquals(ids.map((id) => states[id]), ["cancelled", "dead", "dead"]);
      await db.execute(
        sql`update trellis_jobs set state = 'running', finished_at = null, due_at = now() + interval '1 hour'
          where id = ${ids[1]}`,
      );
      assertStringIncludes((await run("cancel", ids[1])).stdout, "--running");
      assertEquals((await run("cancel", ids[1], "--running")).exitCode, 0);
      await run("retry", ids[1]);
      assertEquals((await run("pause", "fail")).exitCode, 0);
      assertStringIncludes((await run("pause", "fail")).stdout, "jobs fail were paused already");
      assertStringIncludes((await run("list", "--state", "paused")).stdout, "fail");
      assertEquals((await work()).dead, 0);
      assertStringIncludes((await run("resume", "fail")).stdout, "the jobs fail are resumed");
      assertEquals((await run("resume", "fail")).exitCode, 1);
      assertEquals((await work()).dead, 1);
    });
  } finally {
    await closeDrizzleClient(database);
    await postgres.stop();
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("trellis jobs names the tab of trellis dev while that has the local database open", async () => {
  await withTempFolder({}, async (root) => {
    await Deno.mkdir(`${root}/.trellis/dev/pg`, { recursive: true });
    // a running process that is not this one
    await Deno.writeTextFile(`${root}/.trellis/dev/lock`, String(Deno.ppid));
    await withEnv({ DATABASE_URL: undefined, DATABASE_ENDPOINT: undefined }, async () => {
      const { exitCode, stderr } = await runInProcess(["jobs", "list"], {
        commands: COMMANDS,
        cwd: root,
      });
      assertEquals(exitCode, 3);
      assertStringIncludes(stderr, "Use the tab Jobs of its page, or stop it first.");
    });
  });
});
