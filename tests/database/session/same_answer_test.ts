// deno-lint-ignore-file no-console -- the seed, and how many values were compared
import { assert, assertEquals } from "@std/assert";
import { integer, pgTable } from "drizzle-orm/pg-core";
import {
  type DrizzleClient,
  executeRows,
  getDrizzleClient,
  type QueryResult,
  withTransaction,
} from "../../../database/mod.ts";
import { eq, sql } from "../../../database/orm.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { findInCauseChain } from "../../../errors/mod.ts";
import {
  LAB_OPTIONS,
  openWithTables,
  type ProviderTarget,
  shareProviders,
} from "../../support/provider_lab.ts";
import { openOracle, type Oracle } from "./pg_oracle.ts";
import { edgeExpressions, nestedExpressions, ValueGenerator } from "./typed_values.ts";
import { testSeed } from "../../support/seed.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const SEED = testSeed;
const GENERATED = IS_FULL ? 20_000 : 100;

const getLab = shareProviders();

interface Provider {
  name: ProviderTarget["name"];
  db: DrizzleClient;
}

async function besidePg(
  test: (providers: Provider[], oracle: Oracle) => Promise<void>,
): Promise<void> {
  const { postgres, targets } = await getLab();
  const oracle = await openOracle(await postgres.createDatabase(`oracle_${crypto.randomUUID()}`));
  try {
    const providers: Provider[] = [];
    for (const { name, config } of targets) {
      providers.push({ name, db: await getDrizzleClient(config) });
    }
    await test(providers, oracle);
  } finally {
    await oracle.end();
  }
}

/** Values are equal and of the same class: a `Buffer` is none but a `Buffer`. */
function assertSame(actual: unknown, expected: unknown, what: string): void {
  assertEquals(actual, expected, what);
  assertEquals(getKind(actual), getKind(expected), what);
}

function getKind(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(getKind);
  return value === null || typeof value !== "object"
    ? typeof value
    : Object.getPrototypeOf(value)?.constructor?.name;
}

/** What the stand-ins refuse as the services do; a refusal is no other answer. */
const REFUSALS: Partial<Record<Provider["name"], RegExp>> = {
  distsql: /^(?:0A000|42704|42883)$/,
  // an array of int8 beyond 2^53 is refused by the driver
  "data-api": /^(?:UnsupportedResultException|RangeError)$/,
};

function getRefusal(error: unknown): string {
  const link = findInCauseChain(error, (candidate) => getSqlState(candidate) !== undefined);
  if (link !== undefined) return String(getSqlState(link));
  return String((error as { cause?: { name?: string } }).cause?.name);
}

interface Tally {
  compared: number;
  refused: number;
}

/** Runs expressions in one statement, or one by one where one of them is refused. */
async function compareAll(
  provider: Provider,
  oracle: Oracle,
  expressions: readonly string[],
  tally: Tally,
): Promise<void> {
  const text = `select ${
    expressions.map((expression, at) => `${expression} as v${at}`).join(", ")
  }`;
  let row: Record<string, unknown>;
  try {
    [row] = await executeRows(provider.db, sql.raw(text));
  } catch (error) {
    if (expressions.length > 1) {
      const half = expressions.length >> 1;
      await compareAll(provider, oracle, expressions.slice(0, half), tally);
      return await compareAll(provider, oracle, expressions.slice(half), tally);
    }
    const refusal = getRefusal(error);
    assert(
      REFUSALS[provider.name]?.test(refusal),
      `${provider.name} refuses ${text}: ${refusal} ${error}`,
    );
    tally.refused++;
    return;
  }
  const { rows: [expected] } = await oracle.query(text);
  expressions.forEach((expression, at) => {
    assertSame(row[`v${at}`], expected[`v${at}`], `${provider.name}, seed ${SEED}: ${expression}`);
  });
  tally.compared += expressions.length;
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}

async function compareOnEach(
  providers: Provider[],
  oracle: Oracle,
  expressions: readonly string[],
  maxRefused = expressions.length / 20,
): Promise<void> {
  for (const provider of providers) {
    const tally: Tally = { compared: 0, refused: 0 };
    for (const part of chunk(expressions, 25)) await compareAll(provider, oracle, part, tally);
    console.log(`${provider.name}: ${tally.compared} values as with pg, ${tally.refused} refused`);
    assert(tally.refused <= maxRefused, provider.name);
  }
}

Deno.test(
  "raw values of every built-in type are those of pg on every provider",
  LAB_OPTIONS,
  async () => {
    await besidePg((providers, oracle) =>
      compareOnEach(providers, oracle, edgeExpressions().map(({ sql }) => sql))
    );
  },
);

Deno.test(
  "arrays of more dimensions are those of pg, or refused by the Data API",
  LAB_OPTIONS,
  async () => {
    await besidePg((providers, oracle) => compareOnEach(providers, oracle, nestedExpressions(), 6));
  },
);

Deno.test("generated raw values are those of pg on every provider", LAB_OPTIONS, async () => {
  console.log(`TRELLIS_SEED=${SEED}`);
  const generator = new ValueGenerator(SEED);
  const expressions = Array.from({ length: GENERATED }, () => generator.expression());
  await besidePg((providers, oracle) => compareOnEach(providers, oracle, expressions));
});

Deno.test("values of an application's own types are those of pg", LAB_OPTIONS, async () => {
  await besidePg(async (providers, oracle) => {
    const ddl = [
      "CREATE TYPE mood AS ENUM ('happy', 'it''s fine')",
      "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
      "CREATE DOMAIN document AS jsonb",
      "CREATE TYPE pair AS (a int, b text)",
    ];
    const expressions = [
      "'happy'::mood",
      "array['happy','it''s fine']::mood[]",
      "7::positive",
      "array[7]::positive[]",
      `'"null"'::document`,
      "row(1,'a,b')::pair",
      "array[row(1,'a')::pair]",
    ];
    for (const statement of ddl) await oracle.query(statement);
    for (const provider of providers) {
      // which has neither
      if (provider.name === "distsql") continue;
      for (const statement of ddl) await provider.db.execute(sql.raw(statement));
      await compareAll(provider, oracle, expressions, { compared: 0, refused: 0 });
    }
  });
});

Deno.test("count(*), sums and averages are those of pg", LAB_OPTIONS, async () => {
  await besidePg((providers, oracle) =>
    compareOnEach(providers, oracle, [
      "(select count(*) from generate_series(1, 3))",
      "(select sum(n) from generate_series(1, 3) as n)",
      "(select sum(n::bigint) from generate_series(1, 3) as n)",
      "(select avg(n) from generate_series(1, 3) as n)",
      "(select array_agg(n) from generate_series(1, 3) as n)",
      "(select array_agg(nullif(n, 2)::text) from generate_series(1, 3) as n)",
      "(select json_agg(n) from generate_series(1, 3) as n)",
      "(select jsonb_build_object('a', null, 'b', '1'))",
      "1 = 1",
      "extract(epoch from timestamptz '2026-01-01 00:00:00+00')",
      "10 / 4.0",
      "2 ^ 70",
      "'2026-01-31'::date - '2026-01-01'::date",
      "'2026-01-31'::timestamp - '2026-01-01'::timestamp",
      "to_jsonb('{\"admin\":true}'::text)",
    ])
  );
});

/** Parameters of `sql`, each with the cast that gives it a type. */
const PARAMETERS: readonly [cast: string, values: readonly unknown[]][] = [
  ["int", [0, -7, 2147483647, "12"]],
  ["bigint", [9007199254740991, 9223372036854775807n, -1n, "9007199254740993"]],
  ["numeric", [1.5, "12345678901234567890.0123456789", 10n]],
  ["float8", [0.1, NaN, Infinity, 1e21]],
  ["boolean", [true, false]],
  ["text", ["", "O'Hara \"\\ ü 🎉", "null", "{a}"]],
  ["timestamptz", [
    new Date("2026-10-25T01:30:00.123Z"),
    new Date("1969-12-31T23:59:59.999Z"),
    "2026-01-31T00:00:00Z",
  ]],
  ["timestamp", [new Date("2026-03-29T02:30:00.456Z")]],
  ["date", [new Date("2026-03-29T12:00:00Z"), "2026-01-31"]],
  ["bytea", [new Uint8Array([0, 1, 39, 92, 255]), new Uint8Array()]],
  ["jsonb", [{ a: [1, { b: null }] }, '"null"', "[1]"]],
  ["uuid", ["00000000-0000-4000-8000-00000000000a"]],
];

Deno.test(
  "parameters of sql templates are those of pg, Dates and bytes too",
  LAB_OPTIONS,
  async () => {
    await besidePg(async (providers, oracle) => {
      for (const [cast, values] of PARAMETERS) {
        for (const value of [...values, null]) {
          const { rows: [expected] } = await oracle.query(`select $1::${cast} as v`, [value]);
          for (const { name, db } of providers) {
            const [row] = await executeRows(db, sql`select ${value}::${sql.raw(cast)} as v`);
            assertSame(row.v, expected.v, `${name}: ${value} as ${cast}`);
          }
        }
      }
      // a Date beside a column, without a cast
      for (const { name, db } of providers) {
        await db.execute(
          sql`CREATE TABLE moments (id int PRIMARY KEY, at timestamptz, local timestamp, flag boolean)`,
        );
        const at = new Date("2026-10-25T01:30:00.123Z");
        await db.execute(sql`INSERT INTO moments VALUES (${1}, ${at}, ${at}, ${true})`);
        const rows = await executeRows(
          db,
          sql`SELECT * FROM moments WHERE at = ${at} AND local <= ${at} AND flag = ${true} AND id = ${1}`,
        );
        assertSame(rows, [{ id: 1, at, local: at, flag: true }], name);
      }
      // arrays and nested arrays, with NULL and what has to be quoted
      for (const { name, db } of providers) {
        const items = ["a", 'b"\\,{}', null, "NULL", ""];
        const [row] = await executeRows(
          db,
          sql`select ${sql.param(items)}::text[] as texts, ${
            sql.param([1, null, 3])
          }::int[] as numbers`,
        );
        assertSame(row, { texts: items, numbers: [1, null, 3] }, name);
      }
    });
  },
);

/** Statements in their order, each with the shape of what it reports. */
const STATEMENTS: readonly string[] = [
  "CREATE TABLE items (id int PRIMARY KEY, n int)",
  "INSERT INTO items VALUES (1, 1), (2, 2), (3, 3)",
  "INSERT INTO items VALUES (1, 9) ON CONFLICT DO NOTHING",
  "INSERT INTO items VALUES (4, 4) RETURNING id",
  "UPDATE items SET n = n + 1 WHERE id < 3",
  "UPDATE items SET n = 0 WHERE id > 100",
  "UPDATE items SET n = 5 WHERE id IN (3, 4) RETURNING id, n",
  "WITH old AS (SELECT id FROM items WHERE id = 3) UPDATE items SET n = 7 FROM old WHERE items.id = old.id",
  "/* a comment ( */ WITH old AS (DELETE FROM items WHERE id = 4 RETURNING *) SELECT * FROM old",
  "SELECT * FROM items ORDER BY id",
  "SELECT * FROM items WHERE false",
  "VALUES (1), (2)",
  "DELETE FROM items WHERE id = 1",
  "DELETE FROM items",
  "DROP TABLE items",
];

Deno.test("what a statement reports is what pg reports", LAB_OPTIONS, async () => {
  await besidePg(async (providers, oracle) => {
    for (const text of STATEMENTS) {
      const expected = await oracle.query(text);
      for (const { name, db } of providers) {
        const { rows, rowCount, command, fields } = await db.execute(sql.raw(text));
        const what = `${name}: ${text}`;
        assertSame(rows, expected.rows, what);
        assertEquals([rowCount, command], [expected.rowCount, expected.command], what);
        assertEquals(
          fields.map((field) => field.name),
          Object.keys(expected.rows[0] ?? {}).length === 0
            ? fields.map((field) => field.name)
            : Object.keys(expected.rows[0]),
          what,
        );
      }
    }
  });
});

const items = pgTable("items", { id: integer("id").primaryKey(), n: integer("n") });

Deno.test("what a builder reports without returning is what pg reports", LAB_OPTIONS, async () => {
  for (const { name, config } of (await getLab()).targets) {
    const db = await openWithTables(config, "CREATE TABLE items (id int PRIMARY KEY, n int)");
    const reports = async (statement: Promise<QueryResult<never>>): Promise<unknown[]> => {
      const { rows, rowCount, command } = await statement;
      return [rows, rowCount, command];
    };
    assertEquals(await reports(db.insert(items).values([{ id: 1 }, { id: 2 }]).execute()), [
      [],
      2,
      "INSERT",
    ], name);
    assertEquals(
      await reports(db.insert(items).values({ id: 1 }).onConflictDoNothing().execute()),
      [[], 0, "INSERT"],
      name,
    );
    assertEquals(await reports(db.update(items).set({ n: 7 }).execute()), [[], 2, "UPDATE"], name);
    await withTransaction(db, async (tx) => {
      assertEquals(
        await reports(tx.update(items).set({ n: 8 }).where(eq(items.id, 9)).execute()),
        [[], 0, "UPDATE"],
        name,
      );
      assertEquals(await reports(tx.delete(items).where(eq(items.id, 1)).execute()), [
        [],
        1,
        "DELETE",
      ], name);
    });
  }
});

Deno.test("one statement is run, and a second one beside it is refused", LAB_OPTIONS, async () => {
  await besidePg(async (providers) => {
    for (const { name, db } of providers) {
      const refused = await db.execute(
        sql.raw("CREATE TABLE one (id int); CREATE TABLE two (id int)"),
      )
        .then(() => undefined, (error) => error);
      // the service of the Data API refuses by itself; its stand-in has PostgreSQL do it
      assertEquals(
        getSqlState(findInCauseChain(refused, (link) => getSqlState(link) !== undefined)),
        "42601",
        name,
      );
    }
  });
});

Deno.test("a result is an object with rows, not an array", LAB_OPTIONS, async () => {
  await besidePg(async (providers) => {
    for (const { name, db } of providers) {
      const result: QueryResult<{ __proto__: number; n: string }> = await db.execute(
        sql`select 1 as "__proto__", 2::int8 as n, 3 as "n 2"`,
      );
      assertEquals(Object.keys(result).sort(), ["command", "fields", "rowCount", "rows"], name);
      assertEquals(
        Object.entries(result.rows[0]),
        [["__proto__", 1], ["n", "2"], ["n 2", 3]],
        name,
      );
      assertEquals(result.fields.map(({ dataTypeID }) => dataTypeID), [23, 20, 23], name);
    }
  });
});
