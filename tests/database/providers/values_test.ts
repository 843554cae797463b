import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { neonConfig } from "@neondatabase/serverless";
import {
  bigint,
  boolean,
  customType,
  date,
  doublePrecision,
  integer,
  json,
  jsonb,
  numeric,
  pgEnum,
  pgTable,
  text,
  timestamp,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import {
  assertRowExists,
  closeDrizzleClient,
  type DatabaseConfig,
  DatabaseError,
  executeRows,
  getDrizzleClient,
  onConnectionInvalidated,
  runMigrations,
  withQueryMetrics,
  withTransaction,
} from "../../../database/mod.ts";
import type { ConnectionInvalidation } from "../../../database/types.ts";
import { CommitOutcomeUnknownError } from "../../../errors/mod.ts";
import { toText } from "../../../database/providers/data_api_values.ts";
import { and, desc, eq, inArray, sql } from "../../../database/orm.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { ConfigurationError, findInCauseChain } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { startNeonProxy } from "../../support/neon_proxy.ts";
import { getDirectConfig, startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { type RdsDataServer, startRdsDataServer } from "../../support/rds_data_server.ts";
import { toWhere } from "../../support/relational_queries.ts";

const bytea = customType<{ data: Uint8Array }>({
  dataType: () => "bytea",
  fromDriver: (value) => new Uint8Array(value as Uint8Array),
  // the Data API needs it with 1.0
  ...{ codec: "bytea" },
});
const mood = pgEnum("mood", ["happy", "it's fine"]);
const samples = pgTable("samples", {
  id: uuid("id").primaryKey(),
  name: varchar("name", { length: 20 }),
  mood: mood("mood"),
  count: integer("count"),
  big: bigint("big", { mode: "bigint" }),
  exact: numeric("exact", { precision: 30, scale: 10 }),
  ratio: doublePrecision("ratio"),
  flag: boolean("flag"),
  day: date("day"),
  at: timestamp("at", { withTimezone: true }),
  local: timestamp("local"),
  localText: timestamp("local_text", { mode: "string" }),
  plain: json("plain"),
  doc: jsonb("doc"),
  tags: text("tags").array(),
  ids: uuid("ids").array(),
  numbers: integer("numbers").array(),
  bytes: bytea("bytes"),
});
const schema = { samples };
const DDL = [
  `CREATE TYPE mood AS ENUM ('happy', 'it''s fine')`,
  `CREATE TABLE samples (id uuid PRIMARY KEY, name varchar(20), mood mood, count int, big bigint, exact numeric(30,10),
    ratio float8, flag boolean, day date, at timestamptz, local timestamp, local_text timestamp, plain json, doc jsonb,
    tags text[], ids uuid[], numbers int[], bytes bytea)`,
];
const ID = "00000000-0000-4000-8000-00000000000a";
const full: typeof samples.$inferInsert = {
  id: ID,
  name: `O'Hara "\\ ü 🎉`,
  mood: "it's fine",
  count: -7,
  big: 9007199254740993n,
  exact: "12345678901234567890.0123456789",
  ratio: 0.1,
  flag: false,
  day: "2026-02-28",
  at: new Date("2026-10-25T01:30:00.123Z"),
  local: new Date("2026-03-29T02:30:00.000Z"),
  localText: "2026-03-29 02:30:00",
  plain: { a: [1, { b: "x:1" }] },
  doc: { text: `it's "quoted" \\ :1`, n: 1.5, nil: null },
  tags: ["a", `b,"c"`, "d e"],
  ids: [ID],
  numbers: [1, -2, 3],
  bytes: new Uint8Array([0, 1, 39, 92, 255]),
};
const empty = Object.fromEntries(Object.keys(full).map((key) => [key, null]));

interface Lab {
  postgres: TestPostgres;
  data: RdsDataServer;
  neonPort: number;
  cutNeon: () => void;
  stop: () => Promise<void>;
}

async function startLab(): Promise<Lab> {
  const postgres = await startPostgres();
  const data = startRdsDataServer(postgres.url);
  const proxy = startNeonProxy(postgres.port);
  for (
    const [name, value] of Object.entries({
      AWS_ENDPOINT_URL_RDS_DATA: data.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    })
  ) Deno.env.set(name, value);
  neonConfig.wsProxy = () => `127.0.0.1:${proxy.port}/v2`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineConnect = false;
  neonConfig.forceDisablePgSSL = true;
  return {
    postgres,
    data,
    neonPort: proxy.port,
    cutNeon: proxy.cut,
    async stop(): Promise<void> {
      // a test that failed leaves its client
      for (let i = 0; i < 4; i++) await closeDrizzleClient();
      await data.stop();
      await proxy.stop();
      await postgres.stop();
    },
  };
}

const ARN = "arn:aws:rds:eu-central-1:123456789012:cluster:test";
const DATA_API =
  `rds-data://${ARN}?secretArn=arn:aws:secretsmanager:eu-central-1:123456789012:secret:s&database=postgres`;

function configs({ postgres }: Lab): Exclude<DatabaseConfig, { provider: "distsql" }>[] {
  return [
    { provider: "embedded-pg", connectionString: "memory://values", instrument: false },
    { provider: "serverless-pg", connectionString: postgres.url, instrument: false },
    { provider: "serverless-pg", connectionString: DATA_API, instrument: false },
    { provider: "branching-pg", connectionString: postgres.url, instrument: false },
  ];
}

function getName(
  { provider, connectionString = "" }: Exclude<DatabaseConfig, { provider: "distsql" }>,
): string {
  return `${provider} ${connectionString.split(":")[0]}`;
}

// the real clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "every provider keeps every value, in drizzle's builders, relational queries and transactions",
  options,
  async () => {
    const lab = await startLab();
    try {
      for (const config of configs(lab)) {
        const name = getName(config);
        const typed = { ...config, schema };
        const db = await getDrizzleClient(typed);
        for (const statement of DDL) await db.execute(sql.raw(statement));
        await db.insert(samples).values(full);
        await db.insert(samples).values(
          { ...empty, id: "00000000-0000-4000-8000-00000000000b" } as never,
        );
        const [row, nothing] = await db.select().from(samples).orderBy(samples.id);
        assertEquals(row, full as typeof row, name);
        assertEquals(
          nothing,
          { ...empty, id: "00000000-0000-4000-8000-00000000000b" } as never,
          name,
        );
        assertEquals(
          await db.query.samples.findFirst({
            where: toWhere(eq(samples.id, ID)),
            columns: { bytes: false, big: false },
          }),
          {
            ...Object.fromEntries(
              Object.entries(full).filter(([key]) => key !== "bytes" && key !== "big"),
            ),
          } as never,
          name,
        );

        // values as parameters of conditions and updates
        const found = await db.select({ id: samples.id }).from(samples).where(and(
          inArray(samples.mood, ["it's fine"]),
          eq(samples.big, 9007199254740993n),
          eq(samples.at, full.at!),
          eq(samples.exact, full.exact!),
          eq(samples.day, full.day!),
        ));
        assertEquals(found, [{ id: ID }], name);
        const prepared = db.select({ n: samples.count }).from(samples).where(
          eq(samples.id, sql.placeholder("id")),
        )
          .prepare("p");
        for (let i = 0; i < 2; i++) {
          assertEquals(await prepared.execute({ id: ID }), [{ n: -7 }], name);
        }
        const [updated] = await db.update(samples).set({ mood: "happy", tags: [], doc: [1] }).where(
          eq(samples.id, ID),
        )
          .returning({ mood: samples.mood, tags: samples.tags, doc: samples.doc });
        assertEquals(updated, { mood: "happy", tags: [], doc: [1] }, name);
        // what is too long is refused, not cut
        const tooLong = await assertRejects(() =>
          db.update(samples).set({ name: "x".repeat(21) }).where(eq(samples.id, ID))
        );
        assertEquals(getCode(tooLong), "22001", name);

        await withTransaction(db, async (tx) => {
          await tx.update(samples).set({ count: 1 }).where(eq(samples.id, ID));
          await tx.transaction(async (inner) => {
            await inner.update(samples).set({ count: 2 }).where(eq(samples.id, ID));
            throw new Error("undo");
          }).catch(() => {});
          assertEquals(
            (await tx.select({ n: samples.count }).from(samples).orderBy(desc(samples.count)).limit(
              2,
            ))[1],
            {
              n: 1,
            },
          );
        });
        await assertRejects(
          () =>
            withTransaction(db, async (tx) => {
              await tx.delete(samples);
              await tx.insert(samples).values({ id: ID }).catch(() => {});
              await tx.insert(samples).values({ id: ID }).catch(() => {});
            }),
        );
        assertEquals(await db.$count(samples), 2, name);
        assertEquals(
          await executeRows(db, sql`SELECT count, flag FROM samples WHERE id = ${ID}::uuid`),
          [{
            count: 1,
            flag: false,
          }],
          name,
        );
        await assertRowExists(db, samples, "id", ID);
        await closeDrizzleClient(config);
        if (config.provider !== "embedded-pg") {
          const cleaning = getDirectConfig(lab.postgres.url);
          const cleaner = await getDrizzleClient(cleaning);
          await cleaner.execute(sql`DROP TABLE samples`);
          await cleaner.execute(sql`DROP TYPE mood`);
          await closeDrizzleClient(cleaning);
        }
      }
    } finally {
      await lab.stop();
    }
  },
);

function getCode(error: unknown): string | undefined {
  return getSqlState(findInCauseChain(error, (link) => getSqlState(link) !== undefined));
}

Deno.test(
  "every provider runs migrations, and a failing one names its statement",
  options,
  async () => {
    const lab = await startLab();
    const folder = await Deno.makeTempDir();
    await Deno.writeTextFile(
      `${folder}/0001_a.sql`,
      "CREATE TABLE a (id int PRIMARY KEY, t text DEFAULT ':1');\nINSERT INTO a VALUES (1, 'x::y');",
    );
    try {
      for (const [index, base] of configs(lab).entries()) {
        const name = getName(base);
        const url = index === 0
          ? base.connectionString
          : await lab.postgres.createDatabase(`m${index}`);
        const isDataApi = base.connectionString?.startsWith("rds-data");
        // the stand-in of the Data API has one database behind it
        const database = isDataApi ? base : { ...base, connectionString: url };
        const target = { migrationsFolder: folder, database, migrationsTable: `__m${index}` };
        assertEquals((await runMigrations(target)).applied, 1, name);
        assertEquals((await runMigrations(target)).applied, 0, name);
        await Deno.writeTextFile(
          `${folder}/0002_b.sql`,
          "CREATE TABLE b (id int);\nCREATE TABLE a (id int);",
        );
        const error = await assertRejects(() => runMigrations(target));
        assertStringIncludes(
          (error as Error).message,
          "0002_b.sql:2 failed at statement 2 (SQLSTATE 42P07",
          name,
        );
        const db = await getDrizzleClient(database);
        assertEquals(
          await executeRows(
            db,
            sql`SELECT to_regclass('b') IS NULL AS gone, (SELECT t FROM a) AS t`,
          ),
          [{
            gone: true,
            t: "x::y",
          }],
          name,
        );
        await Deno.remove(`${folder}/0002_b.sql`);
        await closeDrizzleClient(database);
        if (isDataApi) {
          await (await getDrizzleClient({ ...base, connectionString: lab.postgres.url })).execute(
            sql`DROP TABLE a`,
          );
        }
        await closeDrizzleClient({ ...base, connectionString: lab.postgres.url });
      }
    } finally {
      await lab.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test(
  "serverless-pg by the Data API: SQLSTATEs, a waking cluster, no INSERT twice, a COMMIT without answer",
  options,
  async () => {
    const lab = await startLab();
    const { data } = lab;
    const config = getDirectConfig(DATA_API);
    const restore = setLogOutput(() => {});
    try {
      data.fail({ name: "DatabaseResumingException", times: 2 });
      const db = await getDrizzleClient(config);
      assertEquals(data.requests.length, 3);
      await db.execute(sql`CREATE TABLE t (id int PRIMARY KEY, secret text UNIQUE)`);
      await db.execute(sql`INSERT INTO t VALUES (1, 'marker')`);
      const error = await assertRejects(
        () => withQueryMetrics("q", () => db.execute(sql`INSERT INTO t VALUES (2, 'marker')`)),
        DatabaseError,
      );
      assertEquals(error.sqlState, "23505");
      assert(!String((error.cause as Error).message).includes("marker"));
      // the statement ran and its answer was lost: the SDK must not send it again
      data.fail({
        name: "InternalServerErrorException",
        operation: "ExecuteStatement",
        afterRunning: true,
      });
      await assertRejects(() => db.execute(sql`INSERT INTO t VALUES (3, 'c')`));
      assertEquals((await executeRows(db, sql`SELECT count(*)::int AS n FROM t`))[0].n, 2);
      data.fail({
        name: "InternalServerErrorException",
        operation: "CommitTransaction",
        afterRunning: true,
      });
      await assertRejects(
        () => withTransaction(db, (tx) => tx.execute(sql`INSERT INTO t VALUES (4, 'd')`)),
        CommitOutcomeUnknownError,
      );
    } finally {
      restore();
      await closeDrizzleClient(config);
      await lab.stop();
    }
  },
);

Deno.test("branching-pg replaces connections that end, and reports them", options, async () => {
  const lab = await startLab();
  const events: ConnectionInvalidation[] = [];
  const unregister = onConnectionInvalidated((event) => void events.push(event));
  const config: DatabaseConfig = {
    provider: "branching-pg",
    connectionString: lab.postgres.url,
    instrument: false,
  };
  try {
    const db = await getDrizzleClient(config);
    lab.cutNeon();
    await new Promise((resolve) => setTimeout(resolve, 100));
    assertEquals(await executeRows(db, sql`SELECT 1 AS one`), [{ one: 1 }]);
    assertEquals(events.map(({ provider, reason }) => [provider, reason]), [[
      "branching-pg",
      "ended",
    ]]);
    await assertRejects(() =>
      withTransaction(db, async () => {
        lab.cutNeon();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }), CommitOutcomeUnknownError);
    assertEquals(await executeRows(db, sql`SELECT 1 AS one`), [{ one: 1 }]);
  } finally {
    unregister();
    await closeDrizzleClient(config);
    await lab.stop();
  }
});

Deno.test("toText() gives a field the text of a direct connection", () => {
  assertEquals(
    toText({ stringValue: "2026-01-02 03:04:05" }, "timestamptz"),
    "2026-01-02 03:04:05+00",
  );
  assertEquals(toText({ stringValue: "2026-01-02 03:04:05" }, "timestamp"), "2026-01-02 03:04:05");
  assertEquals(toText({ stringValue: "infinity" }, "timestamptz"), "infinity");
  assertEquals(toText({ longValue: 7 }, "int4"), "7");
  assertEquals(toText({ booleanValue: false }, "bool"), "f");
  assertEquals(toText({ doubleValue: NaN }, "float8"), "NaN");
  assertEquals(toText({ blobValue: new Uint8Array([0, 255]) }, "bytea"), "\\x00ff");
  assertEquals(toText({ isNull: true }, "text"), null);
  assertEquals(
    toText({ arrayValue: { longValues: [1, null as never, 3] } }, "_int4"),
    '{"1",NULL,"3"}',
  );
  assertEquals(
    toText({ arrayValue: { stringValues: ['a"', "NULL", null as never] } }, "_text"),
    '{"a\\"","NULL",NULL}',
  );
  assertEquals(
    toText({ arrayValue: { arrayValues: [{ booleanValues: [true] }] } }, "_bool"),
    '{{"t"}}',
  );
  // JSON has no such integer, and the SDK gives another one
  assertThrows(
    () => toText({ arrayValue: { longValues: [2 ** 53] } }, "_int8"),
    RangeError,
    "cast the array to text[]",
  );
});

const refused: [name: string, connectionString: string, part: string][] = [
  ["a cluster that is none", "rds-data://cluster?secretArn=x", "cluster"],
  ["no secret", `rds-data://${ARN}?database=x`, "secretArn"],
  ["an unknown parameter", `rds-data://${ARN}?secretArn=x&databse=x`, "databse"],
  [
    "TLS that does not verify",
    "postgres://u:hunter2@db.example/x?sslmode=require",
    "sslmode=require",
  ],
  ["no URL", "postgres://u:hunter2%@:x/y z", "percent-encode"],
];
for (const [name, connectionString, part] of refused) {
  Deno.test(`serverless-pg refuses ${name}`, async () => {
    const error = await assertRejects(
      () => getDrizzleClient({ provider: "serverless-pg", connectionString }),
      ConfigurationError,
    );
    assertStringIncludes(error.message, part);
    assert(!error.message.includes("hunter2"));
  });
}
