import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  bigint,
  boolean,
  char,
  customType,
  date,
  doublePrecision,
  integer,
  interval,
  json,
  numeric,
  pgEnum,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
  time,
  timestamp,
  uuid,
  varchar,
} from "drizzle-orm/pg-core";
import { sql } from "../../database/orm.ts";
import { executeRows } from "../../database/mod.ts";
import { readChangeEnvelope } from "../../jobs/changes/change_envelope.ts";
import { decodeRow, readChangedTable } from "../../jobs/changes/changed_table.ts";
import { crc32c } from "../../jobs/changes/crc32c.ts";
import { parseExactJson } from "../../jobs/changes/exact_json.ts";
import { createChangeStreamEvent, createTestDatabase } from "../../testing/mod.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";

const ROWS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 5000 : 200;

const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => "bytea" });
const mood = pgEnum("mood", ["good", "bad"]);

const samples = pgTable("samples", {
  id: uuid("id").primaryKey(),
  small: smallint("small"),
  whole: integer("whole"),
  large: bigint("large", { mode: "bigint" }),
  counted: bigint("counted", { mode: "number" }),
  price: numeric("price", { precision: 30, scale: 10 }),
  ratio: doublePrecision("ratio"),
  single: real("single"),
  isOpen: boolean("is_open"),
  title: text("title"),
  label: varchar("label", { length: 40 }),
  code: char("code", { length: 5 }),
  content: bytea("content"),
  day: date("day"),
  dayDate: date("day_date", { mode: "date" }),
  hour: time("hour"),
  local: timestamp("local", { mode: "string" }),
  localDate: timestamp("local_date"),
  moment: timestamp("moment", { withTimezone: true, mode: "string" }),
  momentDate: timestamp("moment_date", { withTimezone: true }),
  data: json("data"),
  mood: mood("mood"),
});

/**
 * The row as Aurora DSQL serializes it, written in SQL from its user guide ("Data type
 * serialization", 2026-07), so that nothing of the code under test is used.
 */
const SERIALIZED = sql.raw(`select json_build_object(
  'id', id, 'small', small, 'whole', whole, 'large', large, 'counted', counted,
  'price', price::text,
  'ratio', case when ratio::text in ('NaN', 'Infinity', '-Infinity') then to_json(ratio::text) else to_json(ratio) end,
  'single', case when single::text in ('NaN', 'Infinity', '-Infinity') then to_json(single::text) else to_json(single) end,
  'is_open', is_open, 'title', title, 'label', label, 'code', rtrim(code),
  'content', replace(encode(content, 'base64'), E'\\n', ''),
  'day', day - date '1970-01-01', 'day_date', day_date - date '1970-01-01',
  'hour', (extract(epoch from hour) * 1000000)::bigint,
  'local', case local when 'infinity' then 9223372036825200000 when '-infinity' then -9223372036832400000
    else (extract(epoch from local) * 1000000)::bigint end,
  'local_date', (extract(epoch from local_date) * 1000000)::bigint,
  'moment', case moment when 'infinity' then 9223372036825200000 when '-infinity' then -9223372036832400000
    else (extract(epoch from moment) * 1000000)::bigint end,
  'moment_date', (extract(epoch from moment_date) * 1000000)::bigint,
  'data', data::text, 'mood', mood
)::text as row from samples order by id`);

/** Rows of generated values, with the ends of each range, in SQL. */
const GENERATE = (count: number, seed: number) =>
  sql.raw(`insert into samples select gen_random_uuid(),
  case when random() < 0.2 then null when random() < 0.2 then -32768 else (random() * 60000 - 30000)::int end,
  case when random() < 0.2 then 2147483647 else (random() * 4e9 - 2e9)::bigint end,
  case when random() < 0.3 then 9223372036854775807 when random() < 0.3 then -9223372036854775808 else (random() * 1e18)::bigint end,
  (random() * 9007199254740990)::bigint,
  case when random() < 0.1 then 'NaN' else (random() * 1e15 - 5e14)::numeric(30, 10) end,
  case when random() < 0.1 then 'NaN' when random() < 0.1 then '-Infinity' when random() < 0.1 then 1e17 when random() < 0.1 then 5e-324
    when random() < 0.1 then '-0' else (random() - 0.5) * 10 ^ (random() * 300) end,
  case when random() < 0.1 then 'Infinity' else ((random() - 0.5) * 10 ^ (random() * 30))::real end,
  random() < 0.5,
  case when random() < 0.1 then '' else E'a "quoted" \\\\ \\u00e9 \\U0001F600 \\n 12345678901234567890 ' || n end,
  repeat('x', (random() * 40)::int),
  substr('abcde', 1, 1 + (random() * 4)::int),
  decode(md5(n::text), 'hex'),
  date '0001-01-01' + (random() * 1500000)::int - (random() * 100000)::int,
  date '1970-01-01' + (random() * 40000 - 20000)::int,
  time '00:00' + random() * interval '24 hours',
  case when random() < 0.1 then 'infinity' when random() < 0.1 then '-infinity' when random() < 0.1 then '0044-03-15 12:00:00.5 BC'
    when random() < 0.1 then '290000-12-31 23:59:59.999999' else timestamp '1970-01-01' + (random() - 0.5) * interval '4000 years' end,
  timestamp '1970-01-01' + (random() - 0.5) * interval '200 years',
  case when random() < 0.1 then '-infinity' else timestamptz '1970-01-01 00:00+00' + (random() - 0.5) * interval '4000 years' end,
  timestamptz '1970-01-01 00:00+00' + (random() - 0.5) * interval '200 years',
  case when random() < 0.1 then 'null' when random() < 0.1 then '"text"' else json_build_object('n', n, 'b', 12345678901234567890) end,
  case when random() < 0.5 then 'good' else 'bad' end::mood
  from (select setseed(${seed})) s, generate_series(1, ${count}) n`);

Deno.test("decodeRow() returns what a query returns, for every type", async () => {
  const { db, close } = await createTestDatabase({ schema: { samples } });
  try {
    await db.execute(sql`set timezone to 'UTC'`);
    await db.execute(sql`create type mood as enum ('good', 'bad')`);
    await db.execute(
      sql.raw(`create table samples (id uuid primary key, small smallint, whole integer,
      large bigint, counted bigint, price numeric(30, 10), ratio double precision, single real,
      is_open boolean, title text, label varchar(40), code char(5), content bytea, day date,
      day_date date, hour time, local timestamp, local_date timestamp, moment timestamptz,
      moment_date timestamptz, data json, mood mood)`),
    );
    await db.execute(GENERATE(ROWS, (testSeed % 1000) / 1000));
    const rows = await db.select().from(samples).orderBy(samples.id);
    const table = readChangedTable(samples);
    const serialized = await executeRows<{ row: string }>(db, SERIALIZED);
    assertEquals(serialized.length, ROWS);
    for (const [at, { row }] of serialized.entries()) {
      const decoded = decodeRow(table, parseExactJson(row) as Record<string, unknown>);
      assertEquals(decoded, rows[at], row);
    }
    // the event of ./testing has the same content
    const isUsual = (row: { local: unknown; moment: unknown; day: unknown }) =>
      !/infinity|BC|\d{5}-/.test(`${row.local} ${row.moment} ${row.day}`);
    assert(rows.filter(isUsual).length > ROWS / 3);
    for (const row of rows.filter(isUsual)) {
      const { Records: [record] } = createChangeStreamEvent(samples, [{
        operation: "update",
        after: row,
      }]);
      const envelope = readChangeEnvelope(record.kinesis.data);
      if (envelope.type !== "full") throw new Error("not full");
      assertEquals(decodeRow(table, envelope.after!), row as never);
    }
  } finally {
    await close();
  }
});

Deno.test("decodeRow() fills columns that the row lacks with null, but not renamed or required ones", () => {
  const notes = readChangedTable(
    pgTable("notes", {
      id: integer("id").primaryKey(),
      title: text("title").notNull(),
      mark: text("mark"),
    }),
  );
  assertEquals(decodeRow(notes, { id: 1, title: "a" }), { id: 1, title: "a", mark: null } as never);
  assertEquals(
    decodeRow(notes, { id: 1, title: "a", mark: "b", later: 1 }),
    { id: 1, title: "a", mark: "b" } as never,
  );
  for (
    const [row, field] of [
      [{ id: 1, title: "a", sign: "b" }, "other columns than the table: it lacks mark"],
      [{ id: 1 }, "notes.title is missing or null"],
      [{ id: 1, title: null }, "notes.title is missing or null"],
      [{ id: "x", title: "a" }, "notes.id is no value of integer"],
      [{ id: 1, title: 5 }, "notes.title is no value of text"],
    ] as const
  ) {
    const error = assertThrows(() => decodeRow(notes, row)) as { details?: { reason?: string } };
    assertEquals(error.details?.reason?.includes(field), true, error.details?.reason);
  }
});

Deno.test("readChangedTable() refuses tables whose changes it cannot tell apart or describe", () => {
  const id = () => integer("id").primaryKey();
  assertThrows(
    () => readChangedTable(pgTable("log", { at: text("at") })),
    Error,
    "The table log has no primary key",
  );
  assertThrows(
    () => readChangedTable(pgTable("spans", { id: id(), length: interval("length") })),
    Error,
    "type interval exactly, which spans.length has",
  );
  assertThrows(
    () => readChangedTable(pgTable("tags", { id: id(), names: text("names").array() })),
    Error,
    "text[]",
  );
  const items = pgTable("items", { a: integer("a"), b: integer("b") }, (table) => [
    primaryKey({ columns: [table.a, table.b] }),
  ]);
  assertEquals(readChangedTable(items).key.map(({ name }) => name), ["a", "b"]);
});

Deno.test("parseExactJson() keeps every digit of integers, and leaves texts alone", () => {
  const random = createRandom(testSeed).next;
  for (let round = 0; round < 300; round++) {
    const value = {
      text: Array.from({ length: 10 }, () => '\\" 1234567890123456789{}-e.'.charAt(random() * 27))
        .join(""),
      number: (random() - 0.5) * 10 ** -Math.floor(random() * 300),
      small: Math.floor(random() * 1e15),
      list: [-1, 0, 1.5e-7, true, null],
    };
    assertEquals(parseExactJson(JSON.stringify(value)), value);
  }
  assertEquals(parseExactJson('{"n":-9223372036854775808,"m":[1705318200125483291]}'), {
    n: "-9223372036854775808",
    m: ["1705318200125483291"],
  });
});

Deno.test("crc32c() has the known values", () => {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue
  assertEquals(crc32c("123456789"), 0xe3069283);
  assertEquals(crc32c("\0".repeat(32)), 0x8a9136aa);
  assertEquals(crc32c(""), 0);
});
