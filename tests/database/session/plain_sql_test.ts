import { assertEquals, assertStrictEquals } from "@std/assert";
import type { PGlite } from "@electric-sql/pglite";
import { type SQL, sql as drizzleSql } from "drizzle-orm";

import { drizzle } from "drizzle-orm/pglite";
import { executeRows, withTransaction } from "../../../database/mod.ts";
import {
  joinSql,
  PlainSql,
  rawSql,
  sql,
  type SqlValue,
} from "../../../database/session/plain_sql.ts";
import { DataApiDialect } from "../../../database/providers/data_api_dialect.ts";
import type { DrizzleClient } from "../../../database/session/drizzle_client.ts";
import { runSql, runSqlRows, sendAhead, toDrizzle } from "../../../database/session/run_sql.ts";
import { Dialect } from "../../../database/session/dialect.ts";
import { findTransactionState } from "../../../database/session/transaction_guard.ts";
import { createTestDatabase } from "../../../testing/mod.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const VALUES: readonly SqlValue[] = ["a", "", "it's $1", 0, -1.5, true, 10n, null];
const TEXTS = ["", "select ", " + ", `"a""b"`, "'$1'", ":1 ", "\n"];
const DIALECTS = [new Dialect(), new DataApiDialect()];

/** The same template by this package and by drizzle. */
type Both = readonly [plain: PlainSql, original: SQL];

/** Generates a template with values, and with other templates. */
function generate(below: (end: number) => number, depth: number): Both {
  const text = () => TEXTS[below(TEXTS.length)];
  const kind = depth === 0 ? 0 : below(4);
  if (kind === 0) {
    const raw = text();
    return [rawSql(raw), drizzleSql.raw(raw)];
  }
  if (kind === 1) {
    const parts: Both[] = Array.from({ length: 1 + below(4) }, () => generate(below, depth - 1));
    const separator = text();
    return [
      joinSql(parts.map(([plain]) => plain), separator),
      drizzleSql.join(parts.map(([, original]) => original), drizzleSql.raw(separator)),
    ];
  }
  const values = Array.from(
    { length: below(5) },
    (): readonly [SqlValue | PlainSql, SqlValue | SQL] => {
      const value = VALUES[below(VALUES.length)];
      return below(2) === 0 ? [value, value] : generate(below, depth - 1);
    },
  );
  const strings = Array.from({ length: values.length + 1 }, text);
  const template = Object.assign(strings, { raw: strings });
  return [
    sql(template, ...values.map(([plain]) => plain)),
    drizzleSql(template, ...values.map(([, original]) => original)),
  ];
}

Deno.test("sql`` gives the text and parameters of drizzle's template, in all dialects", () => {
  const { below } = createRandom(testSeed);
  for (let run = 0; run < 2_000; run++) {
    const [plain, original] = generate(below, 4);
    for (const dialect of DIALECTS) {
      const expected = dialect.sqlToQuery(original);
      const query = dialect.sqlToQuery(toDrizzle(plain));
      const message = `seed ${testSeed}, run ${run}`;
      assertEquals([query.sql, query.params], [expected.sql, expected.params], message);
      assertEquals(dialect.getCasts(query)?.includes(true) ?? false, false, message);
    }
    assertEquals(plain.text, DIALECTS[0].sqlToQuery(original).sql);
  }
});

Deno.test("PlainSql.with() keeps the text", () => {
  const statement = sql`select ${1} + ${2}`;
  const other = statement.with([3, 4]);
  assertStrictEquals(other.text, statement.text);
  assertEquals([other.text, other.params], ["select $1 + $2", [3, 4]]);
  assertEquals(new DataApiDialect().sqlToQuery(toDrizzle(other)).sql, "select :1 + :2");
});

Deno.test("runSql() gives the result of execute() with drizzle's template", async () => {
  const { db, close } = await createTestDatabase();
  try {
    const values = [9007199254740993n, "it's", null, true] as const;
    const [n, text, none, yes] = values;
    const plain =
      sql`select ${n}::int8 as n, ${text}::text as text, ${none}::int as none, ${yes}::bool as yes`;
    const original =
      drizzleSql`select ${n}::int8 as n, ${text}::text as text, ${none}::int as none, ${yes}::bool as yes`;
    assertEquals(await runSql(db, plain), await db.execute(original));
    assertEquals(await runSqlRows(db, plain), await executeRows(db, original));
    const describe = ({ constructor, message, cause }: Error) => [constructor, message, cause];
    const failed = await runSql(db, sql`select nothing from ${1}`).then(undefined, describe);
    const expected = await db.execute(drizzleSql`select nothing from ${1}`).catch(describe);
    assertEquals(failed, expected);
  } finally {
    await close();
  }
});

Deno.test("runSql() runs in a transaction, on clients of this package and of drizzle", async () => {
  const { db: own, close } = await createTestDatabase();
  try {
    const foreign = drizzle({ client: (own as unknown as { $client: PGlite }).$client });
    for (const db of [own as DrizzleClient, foreign as unknown as DrizzleClient]) {
      await runSql(db, sql`create table notes (id int primary key)`);
      await withTransaction(db, async (tx) => {
        await runSql(tx, sql`insert into notes values (${1})`);
        await sendAhead(tx, findTransactionState(tx)!, sql`insert into notes values (${2})`);
      });
      const failed = await withTransaction(db, async (tx) => {
        await runSql(tx, sql`insert into notes values (${3})`);
        await runSql(tx, sql`insert into notes values (${1})`).then(undefined, () => {});
      }).catch((error) => error);
      assertEquals(failed.cause.code, "23505");
      const rows = await runSqlRows(db, sql`select id from notes where id > ${0} order by id`);
      assertEquals(rows, [{ id: 1 }, { id: 2 }]);
      await runSql(db, sql`drop table notes`);
    }
  } finally {
    await close();
  }
});

Deno.test("sql`` takes a nested template with 200,000 values", () => {
  const params = new Array<number>(200_000).fill(1);
  const list = new PlainSql(["", ...new Array<string>(200_000).fill(", ")], params);
  const nested = sql`SELECT ${list}`;
  assertEquals([nested.params.length, nested.texts.length], [200_000, 200_001]);
});
