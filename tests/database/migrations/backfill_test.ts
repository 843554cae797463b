import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { runInBatches } from "../../../database/migrations/backfill.ts";
import { needsBatches } from "../../../distsql/engine.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import {
  connectionLost,
  type LabOptions,
  type MigrationLab,
  serverError,
  withMigrationLab,
} from "./migration_support.ts";

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
  await runInBatches(sql, watermark, context, {
    run: (work) => context.session.transaction(work),
    read: async () => (await read()).at(-1),
    note: (state, mark) =>
      `INSERT INTO noted (state, watermark) VALUES ('${state}', ${
        mark === undefined ? "NULL" : `'${mark}'`
      })`,
  });
  return await read();
}

function withRows(
  count: number,
  options: LabOptions,
  test: (lab: MigrationLab) => Promise<void>,
): Promise<void> {
  const fill = `INSERT INTO big SELECT n, 0 FROM generate_series(1, ${count}) AS n`;
  return withMigrationLab(
    {
      ...options,
      setup: [
        NOTES,
        "CREATE TABLE big (id int PRIMARY KEY, times int)",
        fill,
        ...options.setup ?? [],
      ],
    },
    test,
  );
}

async function getTimes({ rows }: MigrationLab): Promise<unknown> {
  const seen = await rows(
    "SELECT times, count(*)::int AS n FROM big GROUP BY times ORDER BY times",
  );
  return Object.fromEntries(seen.map(({ times, n }) => [String(times), n]));
}

const ADD = "UPDATE big SET times = times + 1";

Deno.test("needsBatches() counts the rows that a statement meets, up to the limit of a transaction", async () => {
  const setup = ["CREATE TABLE small (id int PRIMARY KEY)", "INSERT INTO small VALUES (0)"];
  await withRows(3000, { setup }, async ({ rows }) => {
    const cases: [sql: string, expected: boolean][] = [
      ["UPDATE big SET times = 1", true],
      ["UPDATE big SET times = 1 WHERE id <= 2999", false],
      ["DELETE FROM ONLY big AS b WHERE b.id > 0", true],
      ["DELETE FROM big USING small WHERE small.id = big.times", true],
      ["WITH x AS (SELECT 1 AS one) DELETE FROM big USING x WHERE times < one", false], // cannot be cut
      ["UPDATE big SET times = (SELECT max(times) FROM big)", false], // cannot be cut
      ["UPDATE nowhere SET a = 1", false], // the server refuses it when it runs
      ["INSERT INTO big SELECT id + 9000, 0 FROM big", false],
    ];
    for (const [sql, expected] of cases) {
      assertEquals(await needsBatches(sql, rows), expected, sql);
    }
  });
});

Deno.test("runInBatches() changes each row once in transactions of 1,000, and notes how far it got", async () => {
  await withRows(2500, {}, async (lab) => {
    assertEquals(await batches(lab, ADD), [
      { state: "running", watermark: '["1000"]' },
      { state: "running", watermark: '["2000"]' },
      { state: "running", watermark: '["2500"]' },
      { state: "done", watermark: undefined },
    ]);
    assertEquals(await getTimes(lab), { 1: 2500 });
  });
});

Deno.test("runInBatches() goes on after the key that an earlier run noted", async () => {
  await withRows(1500, {}, async (lab) => {
    const notes = await batches(lab, ADD, '["1200"]');
    assertEquals(notes.map(({ watermark }) => watermark), ['["1500"]', undefined]);
    assertEquals(await getTimes(lab), { 0: 1200, 1: 300 });
  });
});

Deno.test("runInBatches() keeps to the statement's condition, also where it has an OR", async () => {
  await withRows(30, {}, async (lab) => {
    const notes = await batches(lab, `${ADD} WHERE id <= 10 OR id > 25`);
    assertEquals(notes.map(({ watermark }) => watermark), ['["30"]', undefined]);
    assertEquals(await getTimes(lab), { 0: 15, 1: 15 });
    await batches(lab, "DELETE FROM ONLY big AS b WHERE b.times = 1");
    assertEquals(await getTimes(lab), { 0: 15 });
    await batches(lab, "DELETE FROM big");
    assertEquals(await getTimes(lab), {});
  });
});

Deno.test("runInBatches() follows a key of several columns in its order, with any texts", async () => {
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

Deno.test("runInBatches() refuses what the catalog does not let it cut, and changes nothing", async () => {
  const setup = [
    "CREATE TABLE bare (a int)",
    "CREATE TABLE keyed (id int PRIMARY KEY, n int, up int REFERENCES keyed ON DELETE SET NULL)",
    "INSERT INTO keyed VALUES (1, 1, NULL)",
    "CREATE VIEW seen AS SELECT * FROM keyed",
  ];
  await withRows(10, { setup }, async (lab) => {
    const cases: [sql: string, part: string][] = [
      ["UPDATE bare SET a = a + 1", "bare has no primary key"],
      ["UPDATE keyed SET id = id + 1", "it changes the primary key of keyed"],
      ["UPDATE keyed SET n = (SELECT count(*) FROM seen)", "it has a subquery"],
      ["DELETE FROM keyed", "a foreign key of keyed references keyed"],
      ["UPDATE seen SET n = 1", "seen is not an ordinary table"],
      [
        "INSERT INTO keyed VALUES (1)",
        "cannot be split into batches: split it into several statements",
      ],
    ];
    for (const [sql, part] of cases) {
      const error = await assertRejects(() => batches(lab, sql), MigrationError);
      assertEquals(error.code, "MIGRATION");
      assertStringIncludes(error.message, part, sql);
    }
    assertEquals(await lab.rows("SELECT * FROM noted"), []);
  });
});

Deno.test("runInBatches() joins another table by its key", async () => {
  const setup = [
    "CREATE TABLE rates (id int PRIMARY KEY, rate int)",
    "INSERT INTO rates SELECT n, 7 FROM generate_series(1, 2400) AS n",
  ];
  await withRows(2500, { setup }, async (lab) => {
    const update = "UPDATE big AS b SET times = r.rate FROM rates AS r WHERE r.id = b.id";
    const notes = await batches(lab, update);
    assertEquals(notes.map(({ watermark }) => watermark), [
      '["1000"]',
      '["2000"]',
      '["2400"]',
      undefined,
    ]);
    assertEquals(await getTimes(lab), { 0: 100, 7: 2400 });
    await batches(
      lab,
      "DELETE FROM big USING rates AS r WHERE r.id = big.id AND r.id > 100 RETURNING big.id",
    );
    assertEquals(await getTimes(lab), { 0: 100, 7: 100 });
  });
});

Deno.test("runInBatches() goes along a unique index over NOT NULL columns where there is no primary key", async () => {
  const setup = [
    "CREATE TABLE loose (a int, b int, n int DEFAULT 0, CONSTRAINT b_there CHECK (b IS NOT NULL), UNIQUE (b) INCLUDE (a))",
    "INSERT INTO loose SELECT NULL, n, 0 FROM generate_series(1, 1200) AS n",
  ];
  await withRows(0, { setup }, async (lab) => {
    const notes = await batches(lab, "UPDATE loose SET n = n + 1");
    assertEquals(notes.map(({ watermark }) => watermark), ['["1000"]', '["1200"]', undefined]);
    assertEquals(await lab.rows("SELECT n, count(*)::int AS rows FROM loose GROUP BY n"), [{
      n: 1,
      rows: 1200,
    }]);
  });
});

Deno.test("runInBatches() takes one moment for now() in all batches, also in those of a later run", async () => {
  const setup = [
    "ALTER TABLE big ADD COLUMN at timestamptz, ADD COLUMN day date, ADD COLUMN soon timestamp",
  ];
  await withRows(2500, { setup }, async (lab) => {
    const update =
      "UPDATE big SET at = now(), day = CURRENT_DATE, soon = LOCALTIMESTAMP(0) + '1 day'::interval " +
      "WHERE at IS NULL OR at < statement_timestamp()";
    const [first] = await batches(lab, update);
    const moments = "SELECT count(DISTINCT at)::int AS at, count(DISTINCT day)::int AS day, " +
      "count(DISTINCT soon)::int AS soon, count(at)::int AS rows FROM big";
    assertEquals(await lab.rows(moments), [{ at: 1, day: 1, soon: 1, rows: 2500 }]);
    await lab.rows("UPDATE big SET at = NULL WHERE id > 1000"); // as if the first run had died after its first batch
    await batches(lab, update, first.watermark);
    assertEquals(await lab.rows(moments), [{ at: 1, day: 1, soon: 1, rows: 2500 }]);
    assertStringIncludes(first.watermark!, '"moment":');
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
      assertEquals(notes.map(({ watermark }) => watermark), [
        '["1000"]',
        '["2000"]',
        '["2500"]',
        undefined,
      ], what);
      assertEquals(await getTimes(lab), { 1: 2500 }, what);
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
    assertEquals([commits, await getTimes(lab)], [2, { 1: 10 }]);
  });
});

Deno.test("runInBatches() gives up on a connection that is lost nine times in a row, and on an error of the server", async () => {
  for (const [error, tries] of [[connectionLost(), 9], [serverError("23514"), 1]] as const) {
    let commits = 0;
    const options: LabOptions = {
      intercept: (text, run) => text === "COMMIT" ? (commits++, Promise.reject(error)) : run(),
    };
    await withRows(10, options, async (lab) => {
      assertEquals(await assertRejects(() => batches(lab, ADD)), error);
      assertEquals([commits, await getTimes(lab)], [tries, { 0: 10 }]);
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
    assertEquals(await getTimes(lab), { 1: 310 });
    const told = lab.lines.filter((line) => line.endsWith(" batches"));
    assertEquals(told, ["big: 50 batches", "big: 100 batches"]);
  });
});

Deno.test("runInBatches() explains when even a single row is too much", async () => {
  const limits: string[] = [];
  const options: LabOptions = {
    intercept(text, run) {
      limits.push(.../^SELECT .* LIMIT (\d+)\) AS page ORDER/.exec(text)?.slice(1) ?? []);
      return text.startsWith("UPDATE") ? Promise.reject(serverError("54000")) : run();
    },
  };
  await withRows(3, options, async (lab) => {
    const error = await assertRejects(() => batches(lab, ADD), MigrationError);
    assertStringIncludes(
      error.message,
      "One row, with the rows that its foreign keys delete or change",
    );
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
    assertEquals(await getTimes(lab), { 0: 1500, 1: 1000 });
  });
});
