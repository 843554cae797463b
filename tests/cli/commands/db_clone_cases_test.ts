import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dbClone } from "../../../cli/commands/db_clone.ts";
import { runMigrations } from "../../../database/mod.ts";
import { startNeonProxy } from "../../support/neon_proxy.ts";
import { startRdsDataServer } from "../../support/rds_data_server.ts";
import { withEnv } from "../../support/with_env.ts";
import {
  digest,
  pg,
  runAll,
  runCommand,
  startStandIn,
  withServer,
} from "../database/clone_support.ts";
import type { CliResult } from "../fixtures/run.ts";

const SMALL = [
  `CREATE TABLE owners (id serial PRIMARY KEY, name text)`,
  `INSERT INTO owners (name) SELECT 'o' || n FROM generate_series(1, 20) AS n`,
  `CREATE TABLE notes (id int PRIMARY KEY, parent_id int REFERENCES notes (id), owner_id int NOT NULL REFERENCES owners (id), title text)`,
  `INSERT INTO notes SELECT n, CASE WHEN n < 100 THEN n + 1 END, 1 + n % 20, ':t' || n FROM generate_series(1, 100) AS n`,
];
const SMALL_ROWS = ["SELECT * FROM owners ORDER BY id", "SELECT * FROM notes ORDER BY id"];

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

function clone(...args: string[]): Promise<CliResult> {
  return runCommand(dbClone, ["--from-url-env", "SOURCE", "--to-url-env", "TARGET", ...args]);
}

Deno.test("trellis db clone overwrites nothing, and says what to do", unsanitized, async () => {
  await withServer(async (make) => {
    const SOURCE = await make("source", SMALL);
    const cases: [
      name: string,
      target: readonly string[],
      args: string[],
      exitCode: number,
      message: string,
    ][] = [
      [
        "same",
        ["CREATE TABLE notes (id int)"],
        [],
        3,
        "has public.notes, and a clone never overwrites tables",
      ],
      ["same2", ["CREATE TABLE notes (id int)"], ["--beside"], 3, "has public.notes, and"],
      [
        "other",
        ["CREATE TABLE other (id int)"],
        [],
        3,
        "is not empty (public.other): use an empty database, or --beside",
      ],
      [
        "other2",
        ["CREATE TABLE other (id int)"],
        ["--beside"],
        0,
        "2 tables, 120 rows: complete",
      ],
      [
        "rows",
        [...SMALL],
        ["--data-only"],
        3,
        "public.notes of the target postgres postgres://postgres@127.0.0.1:",
      ],
      [
        "lacks",
        ["CREATE TABLE owners (id int, name text)"],
        ["--data-only"],
        3,
        "has no table public.notes: run the migrations first",
      ],
      [
        "column",
        ["CREATE TABLE owners (id int, name text)", "CREATE TABLE notes (id int)"],
        ["--data-only"],
        1,
        "error the target's public.notes lacks the column parent_id, owner_id, title",
      ],
      ["tables", [], ["--tables", "nope"], 2, "--tables: postgres postgres://"],
      ["none", [], ["--tables", ","], 2, "--tables is empty"],
      ["both", [], ["--schema-only", "--data-only"], 2, "exclude each other"],
    ];
    for (const [name, statements, args, exitCode, message] of cases) {
      const TARGET = await make(name, statements);
      await withEnv({ SOURCE, TARGET }, async () => {
        const result = await clone(...args);
        assertEquals(result.exitCode, exitCode, `${name}: ${result.stderr}${result.stdout}`);
        assertStringIncludes(result.stderr + result.stdout, message);
      });
    }
    await withEnv({ SOURCE }, async () => {
      const same = await runCommand(dbClone, [
        "--from-url-env",
        "SOURCE",
        "--to-url-env",
        "SOURCE",
      ]);
      assertEquals(same.exitCode, 2);
      assertStringIncludes(same.stderr, "Source and target are the same database");
      const none = await runCommand(dbClone, ["--from-url-env", "SOURCE"]);
      assertStringIncludes(none.stderr, "No target is configured: set TARGET_DATABASE_URL");
    });
  });
});

Deno.test("trellis db clone takes a part: tables, the schema, the rows", unsanitized, async () => {
  await withServer(async (make) => {
    const SOURCE = await make("source", SMALL);
    const expected = await digest(pg(SOURCE), SMALL_ROWS);
    await withEnv({ SOURCE, TARGET: await make("part") }, async () => {
      const { exitCode, stdout, stderr } = await clone("--tables", "notes");
      assertEquals(exitCode, 0, stderr);
      assertStringIncludes(
        stderr,
        "foreign key notes_owner_id_fkey is omitted because public.owners is not cloned",
      );
      assertStringIncludes(stdout, "1 table, 100 rows");
    });
    const TARGET = await make("schema");
    await withEnv({ SOURCE, TARGET }, async () => {
      const schema = await clone("--schema-only");
      assertEquals(schema.exitCode, 0, schema.stderr);
      assertStringIncludes(schema.stdout, "The schema is cloned");
      assertEquals(await runAll(pg(TARGET), ["SELECT count(*)::int AS n FROM notes"]), [{ n: 0 }]);
      // rows that refer to later rows, under foreign keys that are there
      const rows = await clone("--data-only");
      assertEquals(rows.exitCode, 0, rows.stderr);
    });
    assertEquals(await digest(pg(TARGET), SMALL_ROWS), expected);
    const keys = "SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY 1";
    assertEquals(await runAll(pg(TARGET), [keys]), await runAll(pg(SOURCE), [keys]));
    assertEquals(
      await runAll(pg(TARGET), ["INSERT INTO owners (name) VALUES ('x') RETURNING id"]),
      [{ id: 21 }],
    );
  });
});

Deno.test("trellis db clone takes along which migrations are applied", unsanitized, async () => {
  await withServer(async (make) => {
    const migrationsFolder = await Deno.makeTempDir();
    await Deno.writeTextFile(
      `${migrationsFolder}/0001_a.sql`,
      "CREATE TABLE a (id int PRIMARY KEY);",
    );
    const [SOURCE, TARGET] = [await make("source"), await make("target")];
    await runMigrations({ migrationsFolder, database: pg(SOURCE) });
    await withEnv({ SOURCE, TARGET }, async () => assertEquals((await clone()).exitCode, 0));
    await Deno.writeTextFile(
      `${migrationsFolder}/0002_b.sql`,
      "CREATE TABLE b (id int PRIMARY KEY);",
    );
    const { migrations } = await runMigrations({ migrationsFolder, database: pg(TARGET) });
    assertEquals(migrations.map(({ tag }) => tag), ["0002_b"]);
    await Deno.remove(migrationsFolder, { recursive: true });
  });
});

Deno.test(
  "trellis db clone stops at what it cannot take along whole, and names what it leaves",
  unsanitized,
  async () => {
    await withServer(async (make, port) => {
      const SOURCE = await make("source", [
        "CREATE TABLE parts (id int, day date) PARTITION BY RANGE (day)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
        "CREATE TABLE guarded (id int PRIMARY KEY)",
        "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY few ON guarded USING (id > 5)",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
        "CREATE FUNCTION one() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER t BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION one()",
      ]);
      await withEnv({ SOURCE, TARGET: await make("target") }, async () => {
        const { exitCode, stdout, stderr } = await clone();
        assertEquals(exitCode, 1, stderr);
        assertStringIncludes(stdout, "error public.parts is partitioned");
        assertStringIncludes(
          (await clone("--schema-only")).stdout,
          "error public.parts is partitioned",
        );
        for (
          const what of [
            "function one()",
            "trigger t on guarded",
            "policy few on guarded",
            "row level security of guarded",
          ]
        ) {
          assertStringIncludes(stderr, `warning ${what} is not cloned`);
        }
        assertEquals((await clone("--tables", "guarded")).exitCode, 0);
      });
      const READER = `postgres://reader@127.0.0.1:${port}/source`;
      await withEnv({ SOURCE: READER, TARGET: await make("target2") }, async () => {
        const { exitCode, stdout } = await clone("--tables", "guarded");
        assertEquals(exitCode, 1);
        assertStringIncludes(stdout, "policies of public.guarded hide rows from this role");
      });
    });
  },
);

Deno.test(
  "trellis db clone goes on only with --resume, the same source and the same options",
  unsanitized,
  async () => {
    await withServer(async (make) => {
      // the second unique index cannot be made: rows of the source break it there alone
      const SOURCE = await make("source", [
        ...SMALL,
        "CREATE TABLE v (id int PRIMARY KEY, x text)",
        "INSERT INTO v VALUES (1, 'a')",
      ]);
      const TARGET = await make("target", [
        // fails late, after the rows: a view of this name in another schema is no obstacle, an index of the name is
        "CREATE SCHEMA side",
      ]);
      await runAll(pg(SOURCE), [
        "CREATE EXTENSION IF NOT EXISTS plpgsql",
        "CREATE INDEX clash ON notes (title)",
      ]);
      await runAll(pg(TARGET), ["CREATE SEQUENCE clash"]);
      await withEnv({ SOURCE, OTHER: await make("other", SMALL), TARGET }, async () => {
        const stopped = await clone();
        assertEquals(stopped.exitCode, 3);
        assertMatch(
          stopped.stderr,
          /The target rejected a statement for indexes_notes \(SQLSTATE 42P07: relation "clash" already exists\): .*--resume/,
        );
        const again = await clone();
        assertEquals(again.exitCode, 3);
        assertStringIncludes(again.stderr, "continue with --resume, or use an empty target");
        assertStringIncludes(
          (await clone("--resume", "--beside")).stderr,
          "was started with other options",
        );
        const other = await runCommand(dbClone, [
          "--from-url-env",
          "OTHER",
          "--to-url-env",
          "TARGET",
          "--resume",
        ]);
        assertStringIncludes(other.stderr, ", not of postgres postgres://");
        await runAll(pg(TARGET), ["DROP SEQUENCE clash"]);
        const resumed = await clone("--resume");
        assertEquals(resumed.exitCode, 0, resumed.stderr);
        assertStringIncludes(
          resumed.stdout,
          "3 tables, 121 rows (resumed): complete",
        );
      });
      assertEquals(await digest(pg(TARGET), SMALL_ROWS), await digest(pg(SOURCE), SMALL_ROWS));
    });
  },
);

Deno.test("trellis db clone reports numbers of rows that differ", unsanitized, async () => {
  await withServer(async (make) => {
    const SOURCE = await make("source", SMALL);
    // a row that somebody writes meanwhile
    const TARGET = await make("target", [
      "CREATE TABLE owners (id int, name text)",
      "CREATE TABLE notes (id int, parent_id int, owner_id int, title text)",
      "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      "CREATE TRIGGER t BEFORE INSERT ON notes FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION skip()",
    ]);
    await withEnv({ SOURCE, TARGET }, async () => {
      const { exitCode, stdout } = await clone("--data-only");
      assertEquals(exitCode, 1);
      assertMatch(stdout, /^public\.notes +100 +99 +differs$/m);
      assertStringIncludes(stdout, "1 table differs");
    });
  });
});

Deno.test(
  "trellis db clone keeps dates where a server shows them in another way",
  unsanitized,
  async () => {
    await withServer(async (make) => {
      const SOURCE = await make("source", [
        "CREATE TABLE d (id int PRIMARY KEY, day date, span interval)",
        "INSERT INTO d VALUES (1, '2026-02-03', '-1 mon 2 days')",
        "ALTER DATABASE source SET DateStyle = 'German'",
        "ALTER DATABASE source SET IntervalStyle = 'sql_standard'",
      ]);
      const TARGET = await make("target", ["ALTER DATABASE target SET DateStyle = 'SQL, MDY'"]);
      await withEnv({ SOURCE, TARGET }, async () => {
        const { exitCode, stderr } = await clone();
        assertEquals(exitCode, 0, stderr);
      });
      const parts =
        "SELECT extract(month FROM day)::int AS m, extract(month FROM span)::int AS s, extract(day FROM span)::int AS d FROM d";
      assertEquals(await runAll(pg(TARGET), [parts]), [{ m: 2, s: -1, d: 2 }]);
    });
  },
);

Deno.test(
  "trellis db clone reads and writes by the Data API and by Neon's protocol",
  unsanitized,
  async () => {
    await withServer(async (make, port) => {
      const SOURCE = await make("source", SMALL);
      const expected = await digest(pg(SOURCE), SMALL_ROWS);
      const cluster = "arn:aws:rds:eu-central-1:123456789012:cluster:notes";
      const dataApi =
        `rds-data://${cluster}?secretArn=arn:aws:secretsmanager:eu-central-1:1:secret:x&database=api`;
      const through = await make("api");
      const api = await startRdsDataServer(through);
      const { neonConfig } = await import("@neondatabase/serverless");
      const proxy = startNeonProxy(port);
      const former = { ...neonConfig };
      Object.assign(neonConfig, {
        wsProxy: () => `127.0.0.1:${proxy.port}/v1`,
        useSecureWebSocket: false,
        pipelineTLS: false,
        pipelineConnect: false,
      });
      const neon = (await make("neon")).replace("postgres@", "postgres:any@");
      try {
        const env = {
          ...{ SOURCE, API: dataApi, NEON: neon, BACK: await make("back") },
          ...{
            AWS_ACCESS_KEY_ID: "x",
            AWS_SECRET_ACCESS_KEY: "x",
            AWS_ENDPOINT_URL_RDS_DATA: api.url,
          },
        };
        await withEnv(env, async () => {
          const hops: [from: string[], to: string[]][] = [
            [["SOURCE"], ["API"]],
            [["API"], ["NEON", "--to-provider", "branching-pg"]],
            [["NEON", "--from-provider", "branching-pg"], ["BACK"]],
          ];
          for (const [from, to] of hops) {
            const { exitCode, stdout, stderr } = await runCommand(dbClone, [
              "--from-url-env",
              ...from,
              "--to-url-env",
              ...to,
            ]);
            assertEquals(exitCode, 0, `${from} ${to}: ${stderr}${stdout}`);
          }
          assertEquals(await digest(pg(env.BACK), SMALL_ROWS), expected);
        });
      } finally {
        Object.assign(neonConfig, former);
        await proxy.stop();
        await api.stop();
      }
    });
  },
);

Deno.test(
  "trellis db clone makes jsonb of arrays when it is told to, and stays below the provider's limits",
  unsanitized,
  async () => {
    await withServer(async (make) => {
      const SOURCE = await make("source", [
        "CREATE TABLE t (id int PRIMARY KEY, tags text[] DEFAULT '{}', body text)",
        // beyond what a transaction takes: first by the number of rows, 3,000, then by their bytes, 10 MiB
        `INSERT INTO t SELECT n, ARRAY['a', n::text], CASE WHEN n > 3200 THEN repeat('x', 350000) END FROM generate_series(1, 3240) AS n`,
      ]);
      const standIn = await startStandIn(await make("distsql"));
      try {
        await withEnv({ SOURCE, ...standIn.env }, async () => {
          const args = ["--from-url-env", "SOURCE", ...standIn.options("to-")];
          const refused = await runCommand(dbClone, args);
          assertEquals(refused.exitCode, 1, refused.stderr);
          assertStringIncludes(refused.stdout, "Or use --arrays-as-jsonb");
          // a connection that the provider closes, in the middle and at any time
          const cut = setInterval(() => standIn.server.closeIdleConnections(), 100);
          const done = await runCommand(dbClone, [...args, "--arrays-as-jsonb"]).finally(() =>
            clearInterval(cut)
          );
          assertEquals(done.exitCode, 0, done.stderr);
          const sums =
            "SELECT count(*)::int AS n, sum(length(body))::int AS body, sum((tags ->> 1)::int)::int AS tags FROM t";
          assertEquals(await runAll(standIn.config, [sums]), [{
            n: 3240,
            body: 14_000_000,
            tags: 5_250_420,
          }]);
        });
      } finally {
        await standIn.stop();
      }
    });
  },
);
