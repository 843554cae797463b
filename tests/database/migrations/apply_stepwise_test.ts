import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { applyStepwise } from "../../../database/migrations/apply_stepwise.ts";
import { toMigrationError } from "../../../database/migrations/context.ts";
import {
  applyAlterToSchema,
  generateRecreationPlan,
  introspectTable,
} from "../../../database/mod.ts";
import { type StepRow, writeStep } from "../../../database/migrations/history.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import type { MigrationStep, PlannedMigration } from "../../../database/migrations/steps.ts";
import {
  connectionLost,
  heldLock,
  type Intercept,
  type LabOptions,
  type MigrationLab,
  serverError,
  withMigrationLab,
} from "./migration_support.ts";

const TAG = "0001_a";
const INDEX = "CREATE UNIQUE INDEX CONCURRENTLY p_n ON p (n)";
const INDEX_JOB: Partial<MigrationStep> = {
  run: "standalone",
  job: { kind: "index", table: "p", name: "p_n" },
};
const SETUP = [
  "CREATE TABLE p (id int PRIMARY KEY, n int)",
  "INSERT INTO p SELECT n, n FROM generate_series(1, 10) AS n",
  "CREATE SCHEMA sys",
  "CREATE TABLE sys.jobs (job_id text, status text, details text, object_name text, start_time timestamptz DEFAULT now())",
];

function step(sql: string, more: Partial<MigrationStep> = {}): MigrationStep {
  return { sql, hash: `hash of ${sql}`, run: "transactional", line: 1, ...more };
}

function planned(...steps: MigrationStep[]): PlannedMigration {
  return {
    file: { tag: TAG, path: `${TAG}.sql`, hash: "h", sql: "", statements: [] },
    steps,
    atomic: false,
    findings: [],
  };
}

function withLab(options: LabOptions, test: (lab: MigrationLab) => Promise<void>): Promise<void> {
  return withMigrationLab({ ...options, setup: [...SETUP, ...options.setup ?? []] }, test);
}

/** Notes a statement as an earlier run did. */
async function note(
  { context, rows }: MigrationLab,
  at: MigrationStep,
  row: Partial<StepRow>,
): Promise<void> {
  await rows(
    writeStep(context.tables, TAG, "earlier", { step: 0, hash: at.hash, state: "running", ...row }),
  );
}

async function notes({ rows }: MigrationLab): Promise<unknown[]> {
  const all = await rows(
    "SELECT step, state, job_id, owner FROM orm.__orm_migrations_steps ORDER BY step",
  );
  return all.map(({ step, state, job_id, owner }) => [step, state, job_id, owner]);
}

async function isApplied({ rows }: MigrationLab): Promise<boolean> {
  return (await rows("SELECT 1 FROM orm.__orm_migrations")).length === 1;
}

async function isThere({ rows }: MigrationLab, name: string): Promise<unknown> {
  return (await rows(`SELECT to_regclass('${name}') IS NOT NULL AS there`))[0].there;
}

/** Does something in place of a statement at some of the times that it comes. */
function at(
  matches: (text: string) => boolean,
  times: readonly number[],
  act: Intercept,
): Intercept {
  let count = 0;
  return (text, run, params) =>
    matches(text) && times.includes(++count) ? act(text, run, params) : run();
}

const lose: Intercept = () => Promise.reject(connectionLost());
const runAndLose: Intercept = async (_, run) => {
  await run();
  throw connectionLost();
};

Deno.test("applyStepwise() goes on after what is done, and forgets the progress at the end", async () => {
  await withLab({}, async (lab) => {
    const first = step("INSERT INTO p VALUES (1, 1)"); // would fail a second time
    const second = step("INSERT INTO p VALUES (11, 11)");
    await note(lab, first, { state: "done" });
    await applyStepwise(planned(first, second), lab.context);
    assertEquals(lab.lines, [
      "0001_a: continues at statement 2 of 2",
      "0001_a: statement 2 of 2: INSERT INTO P",
    ]);
    const applied = await lab.rows(
      "SELECT tag, hash, statements, executed FROM orm.__orm_migrations",
    );
    assertEquals(applied, [{ tag: TAG, hash: "h", statements: 2, executed: true }]);
    assertEquals(await notes(lab), []);
  });
});

Deno.test("applyStepwise() refuses statements that are not those which began", async () => {
  await withLab({}, async (lab) => {
    const [first, second] = [step("SELECT 1"), step("SELECT 2")];
    await note(lab, first, { state: "done" });
    await note(lab, second, { step: 1, state: "running" });
    for (const steps of [[first, step("SELECT 3")], [first]]) {
      const error = await assertRejects(
        () => applyStepwise(planned(...steps), lab.context),
        MigrationError,
      );
      assertEquals([error.code, error.tag, error.statement], ["MIGRATION", TAG, 2]);
      assertStringIncludes(
        error.message,
        "stopped at statement 2 in an earlier run, and its statement 2 has changed since",
      );
    }
    assertEquals([await isApplied(lab), (await notes(lab)).length], [false, 2]);
  });
});

Deno.test("applyStepwise() writes nothing once another run took over", async () => {
  await withLab({ lock: heldLock({ fence: "SELECT 1 WHERE false" }) }, async (lab) => {
    const error = await assertRejects(
      () => applyStepwise(planned(step("DELETE FROM p")), lab.context),
      MigrationError,
    );
    assertEquals(
      error.message,
      "Another run took over the migrations of this database, so this run stops",
    );
    assertEquals((await lab.rows("SELECT count(*)::int AS n FROM p"))[0].n, 10);
  });
});

Deno.test("applyStepwise() checks the lock before each statement and before the end", async () => {
  for (const [lostAt, rows] of [[1, 10], [2, 11], [3, 12], [4, 12]]) {
    let checks = 0;
    const lost = new MigrationError("another run took over");
    const check = (): Promise<void> =>
      ++checks === lostAt ? Promise.reject(lost) : Promise.resolve();
    await withLab({ lock: heldLock({ check }) }, async (lab) => {
      const run = applyStepwise(
        planned(step("INSERT INTO p VALUES (11, 1)"), step("INSERT INTO p VALUES (12, 1)")),
        lab.context,
      );
      if (lostAt === 4) await run;
      else assertEquals(await assertRejects(() => run), lost);
      assertEquals((await lab.rows("SELECT count(*)::int AS n FROM p"))[0].n, rows);
      assertEquals(await isApplied(lab), lostAt === 4);
    });
  }
});

Deno.test("applyStepwise() notes a migration once when the last COMMIT had no answer", async () => {
  for (const [what, act] of [["not done", lose], ["done", runAndLose]] as const) {
    await withLab({ intercept: at((text) => text === "COMMIT", [2], act) }, async (lab) => {
      await applyStepwise(planned(step("INSERT INTO p VALUES (11, 1)")), lab.context);
      assertEquals([await isApplied(lab), await notes(lab)], [true, []], what);
    });
  }
});

Deno.test("applyStepwise() neither repeats nor skips a statement whose COMMIT had no answer", async () => {
  for (const [what, act] of [["not done", lose], ["done", runAndLose]] as const) {
    await withLab({ intercept: at((text) => text === "COMMIT", [1], act) }, async (lab) => {
      await applyStepwise(planned(step("INSERT INTO p VALUES (11, 1)")), lab.context);
      assertEquals((await lab.rows("SELECT count(*)::int AS n FROM p"))[0].n, 11, what);
    });
  }
});

Deno.test("applyStepwise() gives up on a statement whose connection is lost thirteen times", async () => {
  let commits = 0;
  const intercept: Intercept = (text, run) =>
    text === "COMMIT" ? (commits++, Promise.reject(connectionLost())) : run();
  await withLab({ intercept }, async (lab) => {
    const error = await assertRejects(
      () => applyStepwise(planned(step("DELETE FROM p")), lab.context),
      MigrationError,
    );
    assertEquals([error.message, commits], ["0001_a.sql:1 failed at statement 1", 13]);
  });
});

Deno.test("applyStepwise() passes over the errors that a statement ignores, and no others", async () => {
  const statement = "CREATE TABLE p (id int)"; // 42P07
  const cases: [ignores: string[] | undefined, run: MigrationStep["run"], passes: boolean][] = [
    [["42710", "42P07"], "transactional", true],
    [["42710", "42P07"], "standalone", true],
    [["42710"], "transactional", false],
    [["42710"], "standalone", false],
    [undefined, "transactional", false],
  ];
  for (const [ignores, run, passes] of cases) {
    await withLab({}, async (lab) => {
      const apply = (): Promise<boolean> =>
        applyStepwise(planned(step(statement, { run, ignores })), lab.context);
      if (passes) await apply();
      else {assertStringIncludes(
          (await assertRejects(apply, MigrationError)).message,
          "SQLSTATE 42P07",
        );}
      assertEquals([await isApplied(lab), await notes(lab)], [passes, []]);
    });
  }
});

Deno.test("applyStepwise() cuts into batches what is too much for one transaction where the provider limits rows", async () => {
  const tooMuch: Intercept = (text, run) =>
    text.endsWith("n = 0") ? Promise.reject(serverError("54000", "too many rows")) : run();
  const cases: [sql: string, limitsRows: boolean, refusal: string | undefined][] = [
    ["UPDATE p SET n = 0", true, undefined],
    ["UPDATE p SET n = 0", false, "SQLSTATE 54000"],
    ["WITH x AS (SELECT 1) UPDATE p SET n = 0", true, "because it has a WITH clause"],
    ["UPDATE p SET id = id + 1, n = 0", true, "because it changes the primary key of p"],
  ];
  for (const [sql, limitsRows, refusal] of cases) {
    await withLab({ limitsRows, intercept: tooMuch }, async (lab) => {
      const apply = (): Promise<boolean> => applyStepwise(planned(step(sql)), lab.context);
      if (refusal === undefined) await apply();
      else {
        const { message } = await assertRejects(apply, MigrationError);
        assertStringIncludes(message, refusal);
      }
      assertEquals(
        (await lab.rows("SELECT count(*)::int AS n FROM p WHERE n = 0"))[0].n,
        refusal === undefined ? 10 : 0,
        sql,
      );
    });
  }
});

Deno.test("applyStepwise() goes on with batches where an earlier run stopped", async () => {
  await withLab({}, async (lab) => {
    const update = step("UPDATE p SET n = n + 100");
    await note(lab, update, { watermark: '["7"]' });
    await applyStepwise(planned(update), lab.context);
    assertEquals(
      (await lab.rows("SELECT id FROM p WHERE n > 100 ORDER BY id")).map(({ id }) => id),
      [8, 9, 10],
    );
  });
});

Deno.test("applyStepwise() notes a statement that runs alone before it runs, and forgets it when the server said no", async () => {
  let before: unknown[] = [];
  let readNotes: () => Promise<unknown[]>;
  const options: LabOptions = {
    async intercept(text, run) {
      if (text === INDEX) before = await readNotes();
      return await run();
    },
    setup: ["INSERT INTO p VALUES (11, 10)"],
  };
  await withLab(options, async (lab) => {
    readNotes = () => notes(lab);
    const error = await assertRejects(
      () => applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context),
      MigrationError,
    );
    assertStringIncludes(error.message, "0001_a.sql:1 failed at statement 1 (SQLSTATE 23505");
    assertEquals(before, [[0, "running", null, "the-test"]]);
    assertEquals([await notes(lab), await isThere(lab, "p_n")], [[], false]);
  });
});

Deno.test("applyStepwise() leaves an index alone that was there before", async () => {
  await withLab({ setup: ["CREATE INDEX p_n ON p (n)"] }, async (lab) => {
    await lab.rows("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_n'::regclass");
    const error = await assertRejects(
      () => applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context),
      MigrationError,
    );
    assertStringIncludes(error.message, "SQLSTATE 42P07");
    assertEquals([await isThere(lab, "p_n"), await notes(lab)], [true, []]);
  });
});

Deno.test("applyStepwise() asks the catalog about a statement whose connection was lost, and keeps its note", async () => {
  const isIndex = (text: string): boolean => text === INDEX;
  for (
    const [what, act, times] of [["ran", runAndLose, [1]], ["did not run", lose, [1, 2]]] as const
  ) {
    await withLab({ intercept: at(isIndex, times, act) }, async (lab) => {
      await applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context);
      assertEquals([await isThere(lab, "p_n"), await isApplied(lab)], [true, true], what);
    });
  }
  let tries = 0;
  const never: Intercept = (text, run) =>
    isIndex(text) ? (tries++, Promise.reject(connectionLost())) : run();
  await withLab({ intercept: never }, async (lab) => {
    await assertRejects(
      () => applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context),
      MigrationError,
    );
    assertEquals([tries, await notes(lab)], [13, [[0, "running", null, "the-test"]]]);
  });
});

Deno.test("applyStepwise() takes an error of a second try for the first one's work when the catalog says so", async () => {
  // the server did the work and then reported a conflict, so the second try finds the index there
  const conflict: Intercept = async (_, run) => {
    await run();
    throw serverError("40001");
  };
  const isIndex = (text: string): boolean => text === INDEX;
  await withLab({ intercept: at(isIndex, [1], conflict) }, async (lab) => {
    await applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context);
    assertEquals([await isThere(lab, "p_n"), await isApplied(lab)], [true, true]);
  });
  let count = 0;
  const failing: Intercept = (text, run) =>
    isIndex(text) ? Promise.reject(serverError(++count === 1 ? "40001" : "23505")) : run();
  await withLab({ intercept: failing }, async (lab) => {
    const error = await assertRejects(
      () => applyStepwise(planned(step(INDEX, { run: "standalone" })), lab.context),
      MigrationError,
    );
    assertStringIncludes(error.message, "SQLSTATE 23505");
    assertEquals(count, 2);
  });
});

Deno.test("applyStepwise() drops an index that an earlier run left invalid, and builds it again", async () => {
  await withLab({ setup: ["CREATE INDEX p_n ON p (id)"] }, async (lab) => {
    await lab.rows("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_n'::regclass");
    const index = step(INDEX, { run: "standalone" });
    await note(lab, index, {});
    await applyStepwise(planned(index), lab.context);
    assertStringIncludes(
      lab.lines.join("\n"),
      "statement 1 was interrupted: the catalog says invalid",
    );
    const [{ unique }] = await lab.rows(
      "SELECT indisunique AS unique FROM pg_index WHERE indexrelid = 'p_n'::regclass",
    );
    assertEquals(unique, true);
  });
});

Deno.test("applyStepwise() asks onUndecided if the catalog does not decide, and stops without it", async () => {
  const statement = step("CREATE INDEX CONCURRENTLY ON p (n)", { run: "standalone" });
  for (const answer of ["done", "run", undefined] as const) {
    const asked: unknown[] = [];
    const onUndecided = answer && ((question: unknown) => (asked.push(question), answer));
    await withLab({ onUndecided }, async (lab) => {
      await note(lab, statement, {});
      const apply = (): Promise<boolean> => applyStepwise(planned(statement), lab.context);
      if (answer === undefined) {
        const error = await assertRejects(apply, MigrationError);
        assertEquals([error.tag, error.statement], [TAG, 1]);
        assertStringIncludes(error.message, "was interrupted in statement 1 of 0001_a.sql");
        assertStringIncludes(error.message, "answer with onUndecided");
        assertEquals((await notes(lab)).length, 1);
        return;
      }
      await apply();
      assertEquals(asked, [{ tag: TAG, statement: 1, sql: statement.sql }]);
      assertEquals([await isThere(lab, "p_n_idx"), await isApplied(lab)], [answer === "run", true]);
    });
  }
});

/** Answers the index's statement with a job, as the provider does; the job's work is what `build` does. */
function startsJob(jobs: string[], build: (lab: MigrationLab, jobId: string) => Promise<unknown>): {
  intercept: Intercept;
  lab: { current?: MigrationLab };
} {
  const lab: { current?: MigrationLab } = {};
  return {
    lab,
    async intercept(text, run) {
      if (text !== INDEX) return await run();
      const jobId = `job-${jobs.length + 1}`;
      jobs.push(jobId);
      await build(lab.current!, jobId);
      return [{ job_id: jobId }];
    },
  };
}

Deno.test("applyStepwise() notes the job that a statement starts, and waits for it", async () => {
  const jobs: string[] = [];
  let building: unknown[] = [];
  const provider = startsJob(
    jobs,
    (lab, id) => lab.rows(`INSERT INTO sys.jobs VALUES ('${id}', 'processing')`),
  );
  await withLab({ intercept: provider.intercept }, async (lab) => {
    provider.lab.current = lab;
    const { clock } = lab;
    const sleep = clock.sleep;
    clock.sleep = async (ms) => {
      building = await notes(lab);
      await lab.rows("CREATE UNIQUE INDEX p_n ON p (n)");
      await sleep(ms);
    };
    await applyStepwise(planned(step(INDEX, INDEX_JOB)), lab.context);
    assertEquals([jobs, building], [["job-1"], [[0, "building", "job-1", "the-test"]]]);
    assertEquals([await isApplied(lab), clock.sleeps], [true, [200]]);
  });
});

Deno.test("toMigrationError() says what stays of a file, and how a recreation continues", () => {
  const file = planned(step("SELECT 1"), step("SELECT 2"), step("ALTER", { run: "recreate" }));
  const cause = serverError("22P02");
  const ends = [
    [0, file, ")"],
    [1, { ...file, atomic: true }, ")"],
    [1, file, "or this and later statements of the file, and run the migrations again"],
    [2, file, "a recreation continues only with the same statement"],
  ] as const;
  for (const [index, plan, end] of ends) {
    const { message } = toMigrationError(plan, index, cause);
    assert(message.startsWith(`0001_a.sql:1 failed at statement ${index + 1} (SQLSTATE 22P02`));
    assert(message.endsWith(end), message);
  }
});

Deno.test("applyStepwise() reports why a job failed, drops its invalid index, and forgets the statement", async () => {
  const cases: [job: NonNullable<MigrationStep["job"]>, message: string, left: boolean][] = [
    [
      { kind: "index", table: "p", name: "p_n" },
      "0001_a.sql:1: the background job of statement 1 failed (failed: duplicate keys); its invalid index was dropped: fix the rows and run the migrations again",
      false,
    ],
    [
      { kind: "constraint", table: "p", name: "p_c" },
      "0001_a.sql:1: the background job of statement 1 failed (failed: duplicate keys); the constraint only applies to new rows: fix the existing rows and run the migrations again",
      true,
    ],
  ];
  for (const [job, message, left] of cases) {
    const provider = startsJob([], async (lab, id) => {
      await lab.rows("CREATE INDEX p_n ON p (n)");
      await lab.rows("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_n'::regclass");
      await lab.rows(`INSERT INTO sys.jobs VALUES ('${id}', 'failed', 'duplicate keys')`);
    });
    await withLab({ intercept: provider.intercept }, async (lab) => {
      provider.lab.current = lab;
      const error = await assertRejects(
        () => applyStepwise(planned(step(INDEX, { run: "standalone", job })), lab.context),
        MigrationError,
      );
      assertEquals([error.message, error.tag, error.statement], [message, TAG, 1]);
      assertEquals([await isThere(lab, "p_n"), await notes(lab)], [left, []]);
    });
  }
});

Deno.test("applyStepwise() says that a job failed where the provider has forgotten it", async () => {
  const provider = startsJob([], () => Promise.resolve());
  await withLab({ intercept: provider.intercept }, async (lab) => {
    provider.lab.current = lab;
    const error = await assertRejects(
      () => applyStepwise(planned(step(INDEX, INDEX_JOB)), lab.context),
      MigrationError,
    );
    assertStringIncludes(
      error.message,
      "the background job of statement 1 failed; its invalid index was dropped",
    );
  });
});

Deno.test("applyStepwise() begins once more where an earlier run's job is gone without a trace", async () => {
  for (const state of ["building", "running"] as const) {
    const jobs: string[] = [];
    const provider = startsJob(jobs, (lab) => lab.rows("CREATE UNIQUE INDEX p_n ON p (n)"));
    await withLab(
      { intercept: provider.intercept, setup: ["CREATE INDEX p_n ON p (n)"] },
      async (lab) => {
        provider.lab.current = lab;
        await lab.rows("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_n'::regclass");
        const index = step(INDEX, INDEX_JOB);
        await note(lab, index, { state, jobId: state === "building" ? "gone" : undefined });
        await applyStepwise(planned(index), lab.context);
        assertEquals([jobs, await isApplied(lab)], [["job-1"], true]);
      },
    );
  }
});

Deno.test("applyStepwise() starts a lost job once more, not without end", async () => {
  const jobs: string[] = [];
  const provider = startsJob(jobs, () => Promise.resolve());
  await withLab({ intercept: provider.intercept }, async (lab) => {
    provider.lab.current = lab;
    const index = step(INDEX, INDEX_JOB);
    await note(lab, index, { state: "building", jobId: "gone" });
    await assertRejects(
      () => applyStepwise(planned(index), lab.context),
      MigrationError,
      "the background job of statement 1 failed",
    );
    assertEquals([jobs, await notes(lab)], [["job-1"], []]);
  });
});

Deno.test("applyStepwise() waits for the job of an earlier run, and does not start another", async () => {
  const jobs: string[] = [];
  const provider = startsJob(jobs, () => Promise.resolve());
  await withLab(
    { intercept: provider.intercept, setup: ["CREATE UNIQUE INDEX p_n ON p (n)"] },
    async (lab) => {
      provider.lab.current = lab;
      const index = step(INDEX, INDEX_JOB);
      await note(lab, index, { state: "building", jobId: "job-9" });
      await applyStepwise(planned(index), lab.context);
      assertEquals([jobs, await isApplied(lab)], [[], true]);
    },
  );
});

Deno.test("applyStepwise() makes a table again, and goes on by the plan that an earlier run kept", async () => {
  const alter = step("ALTER TABLE p ALTER COLUMN n TYPE text USING n::text", { run: "recreate" });
  const kept: string[] = [];
  await withLab({
    async intercept(text, run) {
      if (text.includes("'running'")) kept.push(text);
      return await run();
    },
  }, async (lab) => {
    await applyStepwise(planned(alter), lab.context);
    const [{ type }] = await lab.rows("SELECT pg_typeof(n)::text AS type FROM p LIMIT 1");
    assertEquals([type, await isApplied(lab), kept.length], ["text", true, 1]);
  });
  await withLab({}, async (lab) => {
    // the plan decides, not the table as it is found: a statement without sense shows it
    const other = step("ALTER TABLE nothing ALTER COLUMN x TYPE int", { run: "recreate" });
    const current = await introspectTable(await lab.context.openClient(), "p");
    const plan = generateRecreationPlan(current, applyAlterToSchema(current, alter.sql), 10);
    await note(lab, other, { watermark: JSON.stringify(plan) });
    await applyStepwise(planned(other), lab.context);
    const [{ type }] = await lab.rows("SELECT pg_typeof(n)::text AS type FROM p LIMIT 1");
    assertEquals(type, "text");
  });
});
