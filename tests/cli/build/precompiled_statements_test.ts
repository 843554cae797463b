import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as core from "drizzle-orm";
import { eq, lte, sql } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import fc from "fast-check";
import { SESSION } from "../../../database/session/statement_session.ts";
import { prepareSessionQuery } from "../../../auth/prepare_session_query.ts";
import { getDefaultSessionQuery } from "../../../auth/precompiled_session_query.ts";
import { authSessions, authUsers } from "../../../auth/session_tables.ts";
import { describeStatement } from "../../../cli/build/precompile_queries/describe_statement.ts";
import { NotCompiled } from "../../../cli/build/precompile_queries/codecs.ts";
import { renderStatement } from "../../../cli/build/precompile_queries/statement_code.ts";
import * as codecs from "../../../database/queries/column_codecs.ts";
import { definePrecompiledStatement } from "../../../database/queries/precompiled_statement.ts";
import {
  closeDrizzleClient,
  type DrizzleClient,
  getDrizzleClient,
  sendAhead,
  withTransaction,
} from "../../../database/mod.ts";
import { startPostgres } from "../../support/postgres.ts";
import { testSeed } from "../../support/seed.ts";
import { withSharedDatabase } from "../../support/shared_database.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const numRuns = isFull ? 5_000 : 40;

const mood = pg.pgEnum("mood", ["sad", "ok"]);
const things = pg.pgTable("things", {
  id: pg.integer("id").primaryKey(),
  small: pg.smallint("small"),
  big: pg.bigint("big", { mode: "number" }),
  huge: pg.bigint("huge", { mode: "bigint" }),
  amount: pg.numeric("amount"),
  price: pg.numeric("price", { mode: "number" }),
  total: pg.numeric("total", { mode: "bigint" }),
  ratio: pg.doublePrecision("ratio"),
  single: pg.real("single"),
  isOn: pg.boolean("is_on"),
  title: pg.text("title"),
  code: pg.varchar("code", { length: 20 }),
  fixed: pg.char("fixed", { length: 3 }),
  uid: pg.uuid("uid"),
  mood: mood("mood"),
  data: pg.jsonb("data"),
  raw: pg.json("raw"),
  at: pg.timestamp("at", { withTimezone: true }),
  local: pg.timestamp("local"),
  atText: pg.timestamp("at_text", { withTimezone: true, mode: "string" }),
  day: pg.date("day"),
  date: pg.date("date", { mode: "date" }),
  time: pg.time("time"),
  span: pg.interval("span"),
  ip: pg.inet("ip"),
  tags: pg.text("tags").array(),
  counts: pg.integer("counts").array(),
  huges: pg.bigint("huges", { mode: "bigint" }).array(),
  times: pg.timestamp("times", { withTimezone: true }).array(),
  documents: pg.jsonb("documents").array(),
  matrix: pg.integer("matrix").array().array(),
  moods: mood("moods").array(),
});
const owners = pg.pgTable("owners", {
  id: pg.integer("id").primaryKey(),
  thingId: pg.integer("thing_id"),
  name: pg.text("name"),
  since: pg.timestamp("since", { withTimezone: true }),
});
const CREATE = [
  "CREATE TYPE mood AS ENUM ('sad', 'ok')",
  ...[things, owners].map((table) => {
    const { name, columns } = pg.getTableConfig(table);
    return `CREATE TABLE ${name} (${
      columns.map((column) => `${column.name} ${column.getSQLType()}`).join(", ")
    })`;
  }),
];

type Build = (db: DrizzleClient) => pg.PgPreparedQuery<pg.PreparedQueryConfig>;

/** The statement as `trellis build` writes it. Throws if it would be built with drizzle. */
function compile(build: Build, db: DrizzleClient): ReturnType<Build> {
  const code = renderStatement(describeStatement((db) => build(db as DrizzleClient), { core, pg }));
  const body = code.replace(/^import .*$/gm, "").replace("export const statement =", "return");
  const names = ["definePrecompiledStatement", ...Object.keys(codecs)];
  const define = new Function(...names, body);
  const statement = define(definePrecompiledStatement, ...Object.values(codecs));
  return statement(db, () => {
    throw new Error("the statement was built with drizzle");
  });
}

const date = fc.date({
  min: new Date("0001-01-01T00:00:00Z"),
  max: new Date("9999-12-31T23:59:59Z"),
  noInvalidDate: true,
});
const plainText = fc.string({ unit: "grapheme", maxLength: 12 })
  .map((text) => text.replaceAll("\0", ""));
const int = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const json = fc.jsonValue({ maxDepth: 2 }).map((value) =>
  // PostgreSQL refuses NUL in jsonb, and -0 is 0 there
  JSON.parse(JSON.stringify(value).replaceAll("\\u0000", "").replaceAll("-0", "0"))
).filter((value) => value !== null);
const list = <T>(item: fc.Arbitrary<T>) => fc.array(fc.option(item, { freq: 4 }), { maxLength: 4 });
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 4 });
const row = fc.record({
  small: nullable(fc.integer({ min: -32768, max: 32767 })),
  big: nullable(fc.maxSafeInteger()),
  huge: nullable(int64),
  amount: nullable(fc.constantFrom("0", "-1.50", "NaN", "123456789012345678901234567890.12")),
  price: nullable(fc.constantFrom(0, -1.5, 1e20)),
  total: nullable(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })),
  ratio: nullable(fc.double()),
  single: nullable(fc.float()),
  isOn: nullable(fc.boolean()),
  title: nullable(plainText),
  code: nullable(fc.constantFrom("", "a", 'a "b" \\ c')),
  fixed: nullable(fc.constantFrom("", "a", "abc")),
  uid: nullable(fc.uuid()),
  mood: nullable(fc.constantFrom("sad", "ok")),
  data: nullable(json),
  raw: nullable(json),
  at: nullable(date),
  local: nullable(date),
  atText: nullable(fc.constantFrom("2024-02-29 12:34:56.123456+00", "0044-03-15 00:00:00+00 BC")),
  day: nullable(fc.constantFrom("2024-02-29", "0044-03-15 BC", "infinity")),
  date: nullable(date),
  time: nullable(fc.constantFrom("00:00:00", "23:59:59.123456")),
  span: nullable(fc.constantFrom("1 year 2 mons", "-00:00:01")),
  ip: nullable(fc.constantFrom("10.0.0.1", "2001:db8::/32")),
  tags: nullable(list(fc.oneof(plainText, fc.constantFrom("NULL", "", '"', "\\", "{,}")))),
  counts: nullable(list(int)),
  huges: nullable(list(int64)),
  times: nullable(list(date)),
  documents: nullable(list(json)),
  matrix: nullable(fc.constantFrom([], [[1, 2], [3, null]], [[-1]])),
  moods: nullable(list(fc.constantFrom("sad", "ok"))),
});
const COLUMNS = core.getTableColumns(things);
const NAMES = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];
const placeholders = Object.fromEntries(NAMES.map((name) => [name, sql.placeholder(name)]));
const EXPRESSIONS = {
  number: sql<number>`length(${things.title})`.mapWith(Number),
  upper: sql<string>`upper(${things.title})`.as("upper"),
  column: sql`${things.at}`.mapWith(things.at),
  plain: sql`${things.huge}`,
};
const JOINS = ["innerJoin", "leftJoin", "rightJoin", "fullJoin"] as const;
const query = fc.record({
  names: fc.subarray(NAMES, { minLength: 1 }),
  expressions: fc.subarray(Object.keys(EXPRESSIONS) as (keyof typeof EXPRESSIONS)[]),
  join: fc.option(fc.constantFrom(...JOINS)),
  isNested: fc.boolean(),
  max: fc.integer({ min: 0, max: 3 }),
});

/** A select of generated fields, with and without a join, nested and flat. */
function createSelect(
  { names, expressions, join, isNested }: typeof query extends fc.Arbitrary<infer T> ? T : never,
): Build {
  const fields = {
    ...Object.fromEntries(names.map((name) => [name, COLUMNS[name]])),
    ...Object.fromEntries(expressions.map((name) => [name, EXPRESSIONS[name]])),
  };
  const owner = { name: owners.name, since: owners.since };
  return function select(db) {
    const from = isNested && join !== null
      ? db.select({ thing: fields, owner, id: things.id })
      : db.select(join === null ? fields : { ...fields, ...owner });
    const builder = from.from(things).$dynamic();
    if (join !== null) builder[join](owners, eq(owners.thingId, things.id));
    return builder.where(core.or(core.isNull(things.id), lte(things.id, sql.placeholder("max"))))
      .orderBy(things.id, ...join === null ? [] : [owners.id]).limit(sql.placeholder("limit"))
      .prepare("select_things") as unknown as ReturnType<Build>;
  };
}

const insert: Build = (db) =>
  db.insert(things).values(placeholders as never).returning().prepare("insert_thing") as never;
const update: Build = (db) =>
  db.update(things).set({ at: sql.placeholder("at"), tags: sql.placeholder("tags") } as never)
    .where(eq(things.id, sql.placeholder("id"))).returning({ at: things.at, t: things.tags })
    .prepare("update_thing") as never;
const remove: Build = (db) => db.delete(things).prepare("delete_things") as never;

async function compareAll(db: DrizzleClient): Promise<void> {
  for (const text of CREATE) await db.execute(sql.raw(text));
  await db.execute(sql.raw("INSERT INTO owners VALUES (1, 1, 'Ada', now()), (2, 9, NULL, NULL)"));
  const [add, change, empty] = [insert, update, remove].map((build) => compile(build, db));
  const cases = fc.asyncProperty(row, row, query, async (first, second, selected) => {
    const values = [{ id: 1, ...first }, { id: 2, ...second }];
    for (const each of values) {
      assertEquals(await add.execute(each), await insert(db).execute({ ...each }));
    }
    const select = createSelect(selected);
    const given = { max: selected.max, limit: 50 };
    const rows = await compile(select, db).execute(given);
    const expected = await select(db).execute(given);
    assertEquals(rows, expected);
    // the order of properties, and which are absent
    assertEquals(Deno.inspect(rows, { depth: 9 }), Deno.inspect(expected, { depth: 9 }));
    const changes = { id: 1, at: second.at, tags: second.tags };
    assertEquals(await change.execute(changes), await update(db).execute(changes));
    const emptied = await empty.execute() as { rowCount: number };
    assertEquals(emptied.rowCount, 4);
  });
  await fc.assert(cases, { seed: testSeed, numRuns });
}

Deno.test("definePrecompiledStatement() gives drizzle's rows for generated queries and values on PGlite", async () => {
  await withSharedDatabase(async (connection) => {
    await compareAll(await connection.createClient(undefined));
  });
});

Deno.test("definePrecompiledStatement() gives drizzle's rows for generated queries and values on PostgreSQL", async () => {
  const server = await startPostgres();
  const config = { provider: "postgres", connectionString: server.url } as const;
  try {
    await compareAll(await getDrizzleClient(config));
  } finally {
    await closeDrizzleClient(config);
    await server.stop();
  }
});

Deno.test("definePrecompiledStatement() runs in the transaction whose client it gets", async () => {
  const add = definePrecompiledStatement({
    name: "add_mark",
    text: "insert into marks values ($1)",
    params: [{ placeholder: "id" }],
  });
  const execute = (db: object, id: number) =>
    (add(db, () => ({})) as pg.PgPreparedQuery<pg.PreparedQueryConfig>).execute({ id });
  await withSharedDatabase(async (connection) => {
    const db = await connection.createClient(undefined);
    await db.execute(sql`CREATE TABLE marks (id int PRIMARY KEY)`);
    await execute(db, 1);
    await withTransaction(db, async (tx) => {
      await execute(tx, 2);
      sendAhead(tx, add(tx, () => ({})) as ReturnType<Build>, { id: 3 });
    });
    await assertRejects(() =>
      withTransaction(db, (tx) => execute(tx, 4).then(() => execute(tx, 1)))
    );
    // a failure that the work hides still rolls back, as for statements of drizzle
    await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await execute(tx, 5);
        await execute(tx, 1).catch(() => {});
      })
    );
    const { rows } = await db.execute(sql`SELECT id FROM marks ORDER BY id`);
    assertEquals(rows, [{ id: 1 }, { id: 2 }, { id: 3 }]);
  });
});

Deno.test("describeStatement() throws when a value depends on code of the application", () => {
  const cents = pg.customType<{ data: number; driverData: string }>({
    dataType: () => "numeric",
    fromDriver: Number,
  });
  const prices = pg.pgTable("prices", { id: pg.integer("id"), price: cents("price") });
  const refused: [build: (db: DrizzleClient) => unknown, message: string][] = [
    [(db) => db.select().from(prices).prepare("a"), "columns of type PgCustomColumn are decoded"],
    [
      (db) => db.update(prices).set({ price: sql.placeholder("p") } as never).prepare("a"),
      "values of type PgCustomColumn are encoded",
    ],
    [
      (db) =>
        db.select({ n: sql`1`.mapWith((value: string) => value.length) }).from(prices).prepare("a"),
      "an expression has a decoder of its own",
    ],
    [
      (db) => db.select().from(things).where(eq(sql`id`, new Date(0))).prepare("a"),
      "a parameter is neither a placeholder nor a string, number or boolean",
    ],
    [(db) => db.select().from(things), "it is not a select, insert, update or delete"],
  ];
  for (const [build, message] of refused) {
    const describe = () => describeStatement((db) => build(db as DrizzleClient), { core, pg });
    assertThrows(describe, NotCompiled, message);
  }
});

Deno.test("describeStatement() throws when the installed drizzle decodes a column otherwise", () => {
  const column = Object.create(things.at, {
    mapFromDriverValue: { value: (text: string) => `on ${text}` },
  });
  const build = (db: DrizzleClient) => db.select({ column }).from(things).prepare("a");
  assertThrows(
    () => describeStatement((db) => build(db as DrizzleClient), { core, pg }),
    NotCompiled,
    "this version of drizzle-orm reads or writes PgTimestamp otherwise",
  );
});

Deno.test("definePrecompiledStatement() builds with drizzle when the client is not of this package", () => {
  const statement = definePrecompiledStatement({ name: "a", text: "select 1", params: [] });
  const built = {};
  assert(statement({ _: { session: {} } }, () => built) === built);
  const session = { bind: () => ({}), statements: { hasOwnText: true } };
  assert(statement({ [SESSION]: session }, () => built) === built);
});

Deno.test("getDefaultSessionQuery() has the text and the columns that drizzle builds", () => {
  const settings = { schema: { user: authUsers, session: authSessions }, library: {} };
  const { name: _, ...built } = describeStatement(
    (db) => prepareSessionQuery(db as never, settings as never),
    { core, pg },
  );
  let bound: { query: { sql: string; params: unknown } } | undefined;
  const session = {
    bind: (statement: typeof bound) => bound = statement,
    statements: {},
  };
  const db = { [SESSION]: session } as never;
  getDefaultSessionQuery(db, settings.schema as never, () => ({}));
  assertEquals(bound!.query, { sql: built.text, params: built.params as unknown });
  const source = Deno.readTextFileSync(
    new URL("../../../auth/precompiled_session_query.ts", import.meta.url),
  );
  const cells = [...source.matchAll(/path: \["(\w+)"\](?:, decode: (\w+))?/g)]
    .map(([, path, decode]) => ({ path: [path], decode }));
  assertEquals(
    cells.map(({ path, decode }) => ({ path, decode, table: undefined, isJson: undefined })),
    built.cells,
  );
});
