import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { canBatch, runInBatches } from "../../../database/migrations/backfill.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import type { MigrationStep } from "../../../database/migrations/steps.ts";
import {
  connectionLost,
  type LabOptions,
  type MigrationLab,
  serverError,
  withMigrationLab,
} from "./migration_support.ts";

function step(sql: string, batch?: MigrationStep["batch"]): MigrationStep {
  return { sql, hash: "h", run: "together", batch };
}

interface Noted {
  state: string;
  watermark: string | undefined;
}

/** Notes kept in a table, as the runner keeps them: they are there when their transaction is. */
const NOTES = "CREATE TABLE noted (n int GENERATED ALWAYS AS IDENTITY, state text, watermark text)";

async function batches(lab: MigrationLab, sql: string, watermark?: string): Promise<Noted[]> {
  const { context, rows } = lab;
  const read = async (): Promise<Noted[]> =>
    (await rows("SELECT state, watermark FROM noted ORDER BY n")).map(({ state, watermark }) => ({
      state: String(state),
      watermark: watermark === null ? undefined : String(watermark),
    }));
  await runInBatches(step(sql), watermark, context, {
    run: (work) => context.session.transaction(work),
    read: async () => (await read()).at(-1),
    note: (state, mark) =>
      `INSERT INTO noted (state, watermark) VALUES ('${state}', ${mark === undefined ? "NULL" : `'${mark}'`})`,
  });
  return await read();
}

function withRows(count: number, options: LabOptions, test: (lab: MigrationLab) => Promise<void>): Promise<void> {
  const fill = `INSERT INTO big SELECT n, 0 FROM generate_series(1, ${count}) AS n`;
  return withMigrationLab(
    { ...options, setup: [NOTES, "CREATE TABLE big (id int PRIMARY KEY, times int)", fill, ...options.setup ?? []] },
    test,
  );
}

async function timesOf({ rows }: MigrationLab): Promise<unknown> {
  const seen = await rows("SELECT times, count(*)::int AS n FROM big GROUP BY times ORDER BY times");
  return Object.fromEntries(seen.map(({ times, n }) => [String(times), n]));
}

const ADD = "UPDATE big SET times = times + 1";

Deno.test("canBatch() takes an UPDATE or DELETE of one table, and leaves the rest whole", () => {
  const cases: [sql: string, expected: boolean][] = [
    ["UPDATE t SET a = 1", true],
    ["UPDATE ONLY t AS x SET a = 1 WHERE b", true],
    ["DELETE FROM t", true],
    ["DELETE FROM t WHERE a", true],
    ["UPDATE t SET a = 1 FROM u WHERE t.id = u.id", false],
    ["UPDATE t SET a = 1 RETURNING a", false],
    ["UPDATE t SET a = 1 WHERE b RETURNING a", false],
    ["UPDATE t SET a = 1 WHERE CURRENT OF c", false],
    ["UPDATE t", false],
    ["UPDATE t WHERE a", false],
    ["DELETE FROM t USING u WHERE t.id = u.id", false],
    ["DELETE FROM t RETURNING a", false],
    ["DELETE t", false],
    ["INSERT INTO t VALUES (1)", false],
    ["WITH x AS (SELECT 1) UPDATE t SET a = 1", false],
  ];
  for (const [sql, expected] of cases) assertEquals(canBatch(step(sql)), expected, sql);
  assertEquals(canBatch(step("SELECT 1", { verb: "delete", table: "t" })), true);
});

Deno.test("runInBatches() changes each row once in transactions of 1,000, and notes how far it got", async () => {
  await withRows(2500, {}, async (lab) => {
    assertEquals(await batches(lab, ADD), [
      { state: "running", watermark: '["1000"]' },
      { state: "running", watermark: '["2000"]' },
      { state: "running", watermark: '["2500"]' },
      { state: "done", watermark: undefined },
    ]);
    assertEquals(await timesOf(lab), { 1: 2500 });
  });
});

Deno.test("runInBatches() goes on after the key that an earlier run noted", async () => {
  await withRows(1500, {}, async (lab) => {
    const notes = await batches(lab, ADD, '["1200"]');
    assertEquals(notes.map(({ watermark }) => watermark), ['["1500"]', undefined]);
    assertEquals(await timesOf(lab), { 0: 1200, 1: 300 });
  });
});

Deno.test("runInBatches() keeps to the statement's condition, also where it has an OR", async () => {
  await withRows(30, {}, async (lab) => {
    const notes = await batches(lab, `${ADD} WHERE id <= 10 OR id > 25`);
    assertEquals(notes.map(({ watermark }) => watermark), ['["30"]', undefined]);
    assertEquals(await timesOf(lab), { 0: 15, 1: 15 });
    await batches(lab, "DELETE FROM ONLY big AS b WHERE b.times = 1");
    assertEquals(await timesOf(lab), { 0: 15 });
    await batches(lab, "DELETE FROM big");
    assertEquals(await timesOf(lab), {});
  });
});

Deno.test("runInBatches() goes along a key of several columns in its order, whatever its texts hold", async () => {
  const setup = [
    NOTES,
    'CREATE TABLE wide (b text, "A ""x" int, c int, times int DEFAULT 0, PRIMARY KEY ("A ""x", b) INCLUDE (c))',
    // 1,500 rows of each number: the border of a batch lies between texts, and one of the texts is a quote
    `INSERT INTO wide SELECT CASE n WHEN 700 THEN 'it''s \\ "' ELSE 'k' || n END, a, 1
     FROM generate_series(1, 1500) AS n, generate_series(9, 10) AS a`,
  ];
  await withMigrationLab({ setup }, async (lab) => {
    const notes = await batches(lab, "UPDATE wide SET times = times + 1");
    assertEquals(notes.length, 4);
    assert(notes[0].watermark?.startsWith('["9","'), notes[0].watermark);
    assert(notes[2].watermark?.startsWith('["10","'), notes[2].watermark);
    const [{ n }] = await lab.rows("SELECT count(*)::int AS n FROM wide WHERE times = 1");
    assertEquals(n, 3000);
  });
});

Deno.test("runInBatches() takes a key with a quote and a backslash as text when it goes on after it", async () => {
  const setup = [
    NOTES,
    'CREATE TABLE odd (id text COLLATE "C" PRIMARY KEY, times int DEFAULT 0)',
    String.raw`INSERT INTO odd VALUES ('a'), ('b''; DROP TABLE odd; --'), ('b\'), ('c')`,
  ];
  await withMigrationLab({ setup }, async (lab) => {
    await batches(lab, "UPDATE odd SET times = 1", JSON.stringify(["b'; DROP TABLE odd; --"]));
    await batches(lab, "UPDATE odd SET times = 2", JSON.stringify(["b\\"]));
    const seen = await lab.rows("SELECT id, times FROM odd ORDER BY id");
    assertEquals(seen.map(({ times }) => times), [0, 0, 1, 2]);
  });
});

Deno.test("runInBatches() refuses a table without a key, a change of the key, and what is no change of rows", async () => {
  const setup = [NOTES, "CREATE TABLE bare (a int)", 'CREATE TABLE keyed (id int PRIMARY KEY, "Two" int, n int)'];
  await withMigrationLab({ setup }, async (lab) => {
    const cases: [sql: string, part: string][] = [
      ["UPDATE bare SET a = 1", "bare has no primary key"],
      ["UPDATE keyed SET id = id + 1", "update of the primary key of keyed"],
      ["UPDATE keyed SET n = 1, ID = 2", "update of the primary key of keyed"],
      ["UPDATE keyed SET (n, id) = (1, 2)", "update of the primary key of keyed"],
      ["INSERT INTO keyed VALUES (1)", "cannot be cut into batches"],
    ];
    for (const [sql, part] of cases) {
      const error = await assertRejects(() => batches(lab, sql), MigrationError);
      assertEquals(error.code, "MIGRATION");
      assertStringIncludes(error.message, part, sql);
    }
    assertEquals((await batches(lab, 'UPDATE keyed SET "Two" = 1, n = 2')).length, 1);
  });
});

Deno.test("runInBatches() neither repeats nor skips a batch whose COMMIT had no answer", async () => {
  for (const [what, isCommitted] of [["before", false], ["after", true]] as const) {
    let commits = 0;
    const options: LabOptions = {
      async intercept(text, run) {
        if (text !== "COMMIT" || ++commits !== 2) return await run();
        if (isCommitted) await run();
        throw connectionLost();
      },
    };
    await withRows(2500, options, async (lab) => {
      const notes = await batches(lab, ADD);
      assertEquals(notes.map(({ watermark }) => watermark), ['["1000"]', '["2000"]', '["2500"]', undefined], what);
      assertEquals(await timesOf(lab), { 1: 2500 }, what);
      assertEquals(commits, isCommitted ? 4 : 5, what);
    });
  }
});

Deno.test("runInBatches() is done when the last COMMIT had no answer and its note is there", async () => {
  let commits = 0;
  const options: LabOptions = {
    async intercept(text, run) {
      const rows = await run();
      if (text === "COMMIT" && ++commits === 2) throw connectionLost();
      return rows;
    },
  };
  await withRows(10, options, async (lab) => {
    assertEquals((await batches(lab, ADD)).at(-1)?.state, "done");
    assertEquals([commits, await timesOf(lab)], [2, { 1: 10 }]);
  });
});

Deno.test("runInBatches() gives up on a connection that is lost twelve times, and on an error of the server", async () => {
  for (const [error, tries] of [[connectionLost(), 12], [serverError("23514"), 1]] as const) {
    let commits = 0;
    const options: LabOptions = {
      intercept: (text, run) => text === "COMMIT" ? (commits++, Promise.reject(error)) : run(),
    };
    await withRows(10, options, async (lab) => {
      assertEquals(await assertRejects(() => batches(lab, ADD)), error);
      assertEquals([commits, await timesOf(lab)], [tries, { 0: 10 }]);
    });
  }
});

Deno.test("runInBatches() takes smaller batches when the server says that one is too large", async () => {
  let largest = 0;
  const options: LabOptions = {
    async intercept(text, run) {
      const rows = await run();
      if (!text.startsWith("UPDATE")) return rows;
      const [, from = "0", to] = /(?:> \('(\d+)'.*)?<= \('(\d+)'/.exec(text)!;
      if (Number(to) - Number(from) > 5) throw serverError("54000");
      largest = Math.max(largest, Number(to) - Number(from));
      return rows;
    },
  };
  await withRows(310, options, async (lab) => {
    const notes = await batches(lab, ADD);
    assertEquals([largest, notes.length], [3, 105]); // 1000, 250, 62, 15, 3
    assertEquals(await timesOf(lab), { 1: 310 });
    const told = lab.lines.filter((line) => line.includes("batches"));
    assertEquals(told, ["big: 50 batches", "big: 100 batches"]);
  });
});

Deno.test("runInBatches() throws when even a single row is too much", async () => {
  const error = serverError("54000");
  const limits: string[] = [];
  const options: LabOptions = {
    intercept(text, run) {
      limits.push(.../LIMIT (\d+)/.exec(text)?.slice(1) ?? []);
      return text.startsWith("UPDATE") ? Promise.reject(error) : run();
    },
  };
  await withRows(3, options, async (lab) => {
    assertEquals(await assertRejects(() => batches(lab, ADD)), error);
    assertEquals(limits, ["1000", "250", "62", "15", "3", "1"]);
  });
});

Deno.test("runInBatches() stops before the next batch when the lock is lost", async () => {
  await withRows(2500, {}, async (lab) => {
    let checks = 0;
    const lost = new MigrationError("another run took over");
    lab.context.lock = {
      ...lab.context.lock,
      check: () => ++checks === 2 ? Promise.reject(lost) : Promise.resolve(),
    };
    assertEquals(await assertRejects(() => batches(lab, ADD)), lost);
    assertEquals(await timesOf(lab), { 0: 1500, 1: 1000 });
  });
});
