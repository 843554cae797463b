import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { runInBatches } from "../../../database/migrations/backfill.ts";
import type { Row } from "../../../sql/session.ts";
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

/** Rows of a batch from the statement that the runner sends. */
function readSize(text: string): number | undefined {
  const [, from = "0", to] = /^UPDATE .*?(?:> \('(\d+)'.*)?<= \('(\d+)'/.exec(text) ?? [];
  return to === undefined ? undefined : Number(to) - Number(from);
}

Deno.test("runInBatches() adapts the size of a batch to its duration", async () => {
  const sizes: number[] = [];
  let msPerRow = 1;
  let lab: MigrationLab | undefined;
  const options: LabOptions = {
    async intercept(text, run) {
      const size = readSize(text);
      if (size !== undefined) {
        sizes.push(size);
        await lab!.clock.advance(size * msPerRow);
        if (sizes.length === 4) msPerRow = 0.01;
      }
      return await run();
    },
  };
  await withRows(4000, options, async (opened) => {
    lab = opened;
    await batches(lab, ADD);
    // 1 s for 1,000 rows, and the target is 0.2 s
    assertEquals(sizes.slice(0, 7), [1000, 200, 200, 200, 200, 400, 800]);
    assertEquals(await getTimes(lab), { 1: 4000 });
    const rows = lab.lines.filter((line) => / of about \d+ rows$/.test(line));
    assertEquals(rows.map((line) => line.replace(/about \d+/, "about n")), [
      "big: 1000 of about n rows",
    ]);
    assertEquals(lab.lines.at(-1), "big: 4000 rows in all");
  });
});

/** Answers of `pg_stat_replication`, one after the other. */
function withReplicas(answers: Row[][]): LabOptions {
  return {
    intercept: (text, run) =>
      text.includes("FROM pg_stat_replication")
        ? Promise.resolve(answers.length > 1 ? answers.shift()! : answers[0])
        : run(),
  };
}

const REPLICA = { name: "west", state: "streaming", position: "0/2", is_behind: null };

Deno.test("runInBatches() waits for a replica that is behind, and stops when that takes too long", async () => {
  const behind = [{ ...REPLICA, lag_ms: "12000" }];
  const current = [{ ...REPLICA, lag_ms: null }];
  await withRows(1500, withReplicas([behind, behind, current]), async (lab) => {
    await batches(lab, ADD);
    assertEquals(lab.lines.filter((line) => line.includes("waiting")), [
      "big: waiting: the replica west is 12.0 s behind, and the limit is 5 s",
    ]);
    assertEquals(lab.clock.sleeps.slice(0, 2), [100, 200]);
    assertEquals(await getTimes(lab), { 1: 1500 });
  });
  await withRows(10, withReplicas([behind]), async (lab) => {
    const error = await assertRejects(() => batches(lab, ADD), MigrationError);
    assertStringIncludes(error.message, "has waited for 600 s: the replica west is 12.0 s behind");
    assertStringIncludes(error.message, "they continue after the last batch");
    assertEquals(await getTimes(lab), { 0: 10 });
  });
  // within the limit, or after the time of the run, it does not wait
  await withRows(10, withReplicas([[{ ...REPLICA, lag_ms: "4000" }]]), async (lab) => {
    await batches(lab, ADD);
    assertEquals(lab.clock.sleeps, []);
  });
});

Deno.test("runInBatches() notices a replica that replays nothing, whose lag stands still", async () => {
  // the first answer gives a position of the log, which the replica has not replayed since
  const answers = [[{ ...REPLICA, lag_ms: null }], [{
    ...REPLICA,
    lag_ms: "3",
    is_behind: true,
  }]];
  await withRows(2500, withReplicas(answers), async (lab) => {
    lab.context.lock = { ...lab.context.lock, check: () => lab.clock.advance(3000) };
    await assertRejects(() => batches(lab, ADD), MigrationError, "the replica west is");
    assertEquals(await getTimes(lab), { 0: 500, 1: 2000 });
    const waiting = lab.lines.filter((line) => line.includes("waiting"));
    assertStringIncludes(waiting[0], "waiting: the replica west is 6.0 s behind");
    // a message each 30 s
    assert(waiting.length > 10 && waiting.length < 22, waiting.join("\n"));
  });
});

Deno.test("runInBatches() says once that the lag of replicas cannot be read, and goes on", async () => {
  const hidden = { ...REPLICA, name: "4711", state: null, lag_ms: null };
  await withRows(2500, withReplicas([[hidden]]), async (lab) => {
    await batches(lab, ADD);
    assertEquals(lab.lines.filter((line) => line.includes("lag")), [
      "big: the lag of replicas is not watched: the role may not read pg_stat_replication: grant it pg_monitor",
    ]);
  });
  const options: LabOptions = {
    intercept: (text, run) =>
      text.includes("FROM pg_stat_replication") ? Promise.reject(serverError("0A000")) : run(),
  };
  await withRows(10, options, async (lab) => {
    await batches(lab, ADD);
    assert(
      lab.lines.some((line) => line.includes("not watched: SQLSTATE 0A000")),
      lab.lines.join(),
    );
  });
});

Deno.test("runInBatches() waits while others wait for the table, and after a batch whose rows are locked", async () => {
  const waiting = [2, 1, 0];
  let refusals = 2;
  const options: LabOptions = {
    intercept(text, run) {
      if (text.includes("AS waiting")) return Promise.resolve([{ waiting: waiting.shift() ?? 0 }]);
      const isLocked = text.startsWith("UPDATE") && refusals-- > 0;
      return isLocked ? Promise.reject(serverError("55P03")) : run();
    },
  };
  await withRows(1500, options, async (lab) => {
    const notes = await batches(lab, ADD);
    assertEquals(lab.lines.filter((line) => line.includes("waiting")), [
      "big: waiting: 2 sessions wait for locks of the table",
      "big: waiting: another transaction holds a lock",
    ]);
    // two refusals halved the size twice
    assertEquals(notes[0].watermark, '["250"]');
    assertEquals(await getTimes(lab), { 1: 1500 });
    refusals = Infinity;
    const error = await assertRejects(() => batches(lab, ADD), MigrationError);
    assertStringIncludes(error.message, "for 600 s: another transaction holds a lock");
    // a file with its own lock_timeout keeps it
    lab.context.lockLimits = undefined;
    await assertRejects(() => batches(lab, ADD), Error, "server error");
  });
});

Deno.test("runInBatches() stops between two batches when the time of the run is over", async () => {
  await withRows(2500, {}, async (lab) => {
    let calls = 0;
    lab.context.isOver = () => ++calls > 2;
    const notes = await batches(lab, ADD);
    assertEquals(notes.at(-1), { state: "running", watermark: '["2000"]' });
    assertEquals(lab.lines.at(-1), "big: 2000 rows so far");
  });
});
