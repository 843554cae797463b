import { assertEquals } from "@std/assert";
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
  pgTable,
  timestamp,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import { getDrizzleClient, withTransaction } from "../../../database/mod.ts";
import { eq, sql } from "../../../database/orm.ts";
import { withDistSqlServer } from "../../support/distsql_server.ts";

const bytea = customType<{ data: Uint8Array }>({
  dataType: () => "bytea",
  fromDriver: (value) => new Uint8Array(value as Uint8Array),
});

/** The types that the provider stores: no enums, no arrays. */
const samples = pgTable("samples", {
  id: uuid("id").primaryKey(),
  name: varchar("name", { length: 20 }),
  count: integer("count"),
  big: bigint("big", { mode: "bigint" }),
  exact: numeric("exact", { precision: 30, scale: 10 }),
  ratio: doublePrecision("ratio"),
  flag: boolean("flag"),
  day: date("day"),
  at: timestamp("at", { withTimezone: true }),
  local: timestamp("local"),
  plain: json("plain"),
  doc: jsonb("doc"),
  bytes: bytea("bytes"),
});
const DDL =
  `CREATE TABLE samples (id uuid PRIMARY KEY, name varchar(20), count int, big bigint, exact numeric(30,10),
  ratio float8, flag boolean, day date, at timestamptz, local timestamp, plain json, doc jsonb, bytes bytea)`;

type Sample = typeof samples.$inferSelect;
const full: Sample = {
  id: "00000000-0000-4000-8000-00000000000a",
  name: `O'Hara "\\ ü 🎉`,
  count: -7,
  big: 9007199254740993n,
  exact: "12345678901234567890.0123456789",
  ratio: 0.1,
  flag: false,
  day: "2026-02-28",
  at: new Date("2026-03-29T01:30:00.123Z"),
  local: new Date("2026-03-29T02:30:00.456Z"),
  plain: { b: [1, null, "x"] },
  doc: { nested: { quote: `"'\\`, list: [true, 1.5] } },
  bytes: new Uint8Array([0, 255, 39, 92]),
};
const empty: Sample = {
  ...Object.fromEntries(Object.keys(full).map((name) => [name, null])) as unknown as Sample,
  id: "00000000-0000-4000-8000-00000000000b",
};

Deno.test("distsql gives back the values that were stored, by plain, prepared and transactional queries", async () => {
  await withDistSqlServer({}, async (config) => {
    const db = await getDrizzleClient(config);
    await db.execute(sql.raw(DDL));
    await db.insert(samples).values(full);
    await withTransaction(db, (tx) => tx.insert(samples).values(empty));
    const byId = db.select().from(samples).where(eq(samples.id, sql.placeholder("id"))).prepare(
      "sample_by_id",
    );
    for (const sample of [full, empty]) {
      assertEquals(await db.select().from(samples).where(eq(samples.id, sample.id)), [sample]);
      assertEquals(await byId.execute({ id: sample.id }), [sample]);
    }
  });
});
