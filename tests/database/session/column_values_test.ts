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
  type PgColumn,
  pgEnum,
  pgTable,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import {
  createQueryFactory,
  DatabaseOperation,
  type DrizzleClient,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../../database/mod.ts";
import { eq, sql } from "../../../database/orm.ts";
import {
  LAB_OPTIONS,
  openWithTables,
  type ProviderTarget,
  shareProviders,
} from "../../support/provider_lab.ts";
import {
  relations,
  toExtra,
  toOrder,
  toSchema,
  toWhere,
} from "../../support/relational_queries.ts";

const getLab = shareProviders();

/** Texts, and values beside them, that look like something else when they are read twice. */
const JSON_VALUES: readonly unknown[] = [
  ...[
    '{"admin":true}',
    "null",
    "1",
    "[1]",
    "true",
    '"quoted"',
    '"2026-01-31"',
    "2026-01-31",
    "",
    "undefined",
    "-0",
    " 1 ",
  ],
  ...[{ admin: true }, [1, "1", null, ["null"]], 1, -1.5, true, false, {
    text: "null",
    nested: { text: '{"a":1}' },
  }],
];

const owners = pgTable("owners", { id: integer("id").primaryKey() });
const docs = pgTable("docs", {
  id: integer("id").primaryKey(),
  ownerId: integer("owner_id"),
  plain: json("plain"),
  doc: jsonb("doc"),
});
const schema = toSchema({
  owners,
  docs,
  ownersRelations: relations(owners, ({ many }) => ({ docs: many(docs) })),
  docsRelations: relations(
    docs,
    ({ one }) => ({ owner: one(owners, { fields: [docs.ownerId], references: [owners.id] }) }),
  ),
});
type Client = DrizzleClient<typeof schema>;

Deno.test(
  "a JSON value that is a text is read back as that text, on every provider and by every query",
  LAB_OPTIONS,
  async () => {
    for (const { name, config } of (await getLab()).targets) {
      const db: Client = await openWithTables(
        { ...config, schema },
        "CREATE TABLE owners (id int PRIMARY KEY)",
        "CREATE TABLE docs (id int PRIMARY KEY, owner_id int, plain json, doc jsonb)",
      );
      await db.insert(owners).values({ id: 1 });
      const findDoc = definePrepared(db);
      for (const [id, value] of JSON_VALUES.entries()) {
        const row = { id, ownerId: 1, plain: value, doc: value };
        const what = `${name}: ${JSON.stringify(value)}`;
        assertEquals(await db.insert(docs).values(row).returning(), [row], what);
        const byId = eq(docs.id, id);
        const prepared = db.select().from(docs).where(byId).prepare(`doc_${id}`);
        const reads: Record<string, () => Promise<unknown>> = {
          "select": async () => (await db.select().from(docs).where(byId))[0],
          "prepared": async () => (await prepared.execute())[0],
          "prepared again": async () => (await prepared.execute())[0],
          "defined and prepared": async () => (await findDoc(id))[0],
          "relational": () => db.query.docs.findFirst({ where: toWhere(byId) }).execute(),
          "relational, prepared": () =>
            db.query.docs.findFirst({ where: toWhere(byId) }).prepare(`relational_${id}`).execute(),
          "update": async () =>
            (await db.update(docs).set({ doc: value, plain: value }).where(byId).returning())[0],
          "join": async () =>
            (await db.select().from(docs).innerJoin(owners, eq(owners.id, docs.ownerId)).where(
              byId,
            ))[0].docs,
          "left join": async () =>
            (await db.select().from(owners).leftJoin(docs, eq(owners.id, docs.ownerId)).where(
              byId,
            ))[0].docs,
          "subquery": async () =>
            (await db.select().from(db.select().from(docs).where(byId).as("inner")))[0],
          "transaction": () =>
            withTransaction(db, async (tx) => (await tx.select().from(docs).where(byId))[0]),
          "raw": async () =>
            (await executeRows(
              db as never,
              sql`select id, owner_id as "ownerId", plain, doc from docs where id = ${id}`,
            ))[0],
        };
        for (const [read, run] of Object.entries(reads)) {
          assertEquals(await run(), row, `${what}, ${read}`);
        }
        const [expressions] = await db.select({
          doc: sql`${docs.doc}`,
          named: sql`${docs.doc}`.as("named"),
          decoded: sql`${docs.doc}`.mapWith(docs.doc),
          wrapped: sql`jsonb_build_array(${docs.doc})`,
        }).from(docs).where(byId);
        assertEquals(
          expressions,
          { doc: value, named: value, decoded: value, wrapped: [value] },
          what,
        );
        const withExtras = await db.query.docs.findFirst({
          where: toWhere(byId),
          columns: { id: true },
          extras: { copy: toExtra(sql`${docs.doc}`.as("copy")) },
        });
        assertEquals(withExtras, { id, copy: value } as never, what);
      }
      // inside of other rows drizzle makes JSON of all columns
      const nested = await db.query.owners.findFirst({
        with: { docs: { orderBy: toOrder(docs.id) } },
      });
      assertEquals(
        nested?.docs.map(({ doc, plain }) => [doc, plain]),
        JSON_VALUES.map((value) => [value, value]),
        name,
      );
      const upward = await db.query.docs.findMany({
        with: { owner: { with: { docs: { orderBy: toOrder(docs.id) } } } },
        limit: 1,
      });
      assertEquals(upward[0].owner?.docs.map(({ doc }) => doc), [...JSON_VALUES], name);
    }
  },
);

function definePrepared(db: Client): (id: number) => Promise<unknown[]> {
  const { definePreparedQuery } = createQueryFactory(() => db);
  return definePreparedQuery(
    { tables: [{ table: docs, operations: [DatabaseOperation.Select] }] },
    (client, id: number) =>
      client.select().from(docs).where(eq(docs.id, sql.placeholder("id"))).prepare("find_doc")
        .execute({ id }),
  );
}

Deno.test("JSON that is stored as a text is read once by a json column", LAB_OPTIONS, async () => {
  for (const { name, config } of (await getLab()).targets) {
    const ddl = "CREATE TABLE docs (id int PRIMARY KEY, owner_id int, plain text, doc text)";
    const db: Client = await openWithTables({ ...config, schema }, ddl);
    await db.execute(sql`INSERT INTO docs VALUES (1, 1, '{"a":1}', '"null"')`);
    const row = { id: 1, ownerId: 1, plain: { a: 1 }, doc: "null" };
    assertEquals(await db.select().from(docs), [row], name);
    assertEquals(await db.query.docs.findFirst(), row, name);
  }
});

const mood = pgEnum("mood", ["happy", "it's fine"]);
const money = customType<{ data: string }>({
  dataType: () => "money",
  fromDriver: (value) => `m${value}`,
  // the Data API needs it with 1.0
  ...{ codec: "money" },
});
const lists = pgTable("lists", {
  id: integer("id").primaryKey(),
  texts: text("texts").array(),
  ints: integer("ints").array(),
  bigs: bigint("bigs", { mode: "bigint" }).array(),
  longs: bigint("longs", { mode: "number" }).array(),
  exact: numeric("exact").array(),
  ratios: doublePrecision("ratios").array(),
  flags: boolean("flags").array(),
  at: timestamp("at", { withTimezone: true }).array(),
  local: timestamp("local", { mode: "string" }).array(),
  days: date("days").array(),
  ids: uuid("ids").array(),
  docs: jsonb("docs").array(),
  moods: mood("moods").array(),
  prices: money("prices").array(),
  grid: integer("grid").array().array(),
});
type Lists = typeof lists.$inferSelect;

const FULL: Lists = {
  id: 1,
  texts: ["a", "", "NULL", 'b,"c"\\{}', "ü 🎉"],
  ints: [1, -2147483648],
  bigs: [9007199254740993n, -1n],
  longs: [1, 2],
  exact: ["12345678901234567890.0123456789", "0.0"],
  ratios: [0.1, -1e300],
  flags: [true, false],
  at: [new Date("2026-10-25T01:30:00.123Z")],
  local: ["2026-03-29 02:30:00"],
  days: ["2026-02-28"],
  ids: ["00000000-0000-4000-8000-00000000000a"],
  docs: ["null", { a: ["1"] }, '{"admin":true}'],
  moods: ["happy", "it's fine"],
  prices: ["m$1.50"],
  grid: [[1, 2], [3, 4]],
};

/** With a NULL before, between and after the items; drizzle's types know no NULL in an array. */
function withNulls(row: Lists): Lists {
  const entries = Object.entries(row).map(([key, value]) => [
    key,
    Array.isArray(value) && key !== "grid"
      ? [null, ...value.flatMap((item) => [item, null])]
      : value,
  ]);
  return { ...Object.fromEntries(entries), id: row.id + 1, grid: [[null, 2], [3, null]] } as Lists;
}

/** No arrays are stored on distsql; the Data API has no arrays of more dimensions, and no exact int8 in arrays. */
function rowsFor({ name }: ProviderTarget): Lists[] {
  const full = name === "data-api" ? { ...FULL, grid: null, bigs: [1n, -1n] } : FULL;
  const nulls = withNulls(full);
  const empty = Object.fromEntries(
    Object.entries(FULL).map(([key, value]) => [key, key === "id" ? 3 : value && []]),
  );
  const none = Object.fromEntries(
    Object.entries(FULL).map(([key]) => [key, key === "id" ? 4 : null]),
  );
  return [
    full,
    name === "data-api" ? { ...nulls, grid: null } : nulls,
    empty as Lists,
    none as Lists,
  ];
}

const LISTS_DDL =
  `CREATE TABLE lists (id int PRIMARY KEY, texts text[], ints int[], bigs bigint[], longs bigint[],
  exact numeric[], ratios float8[], flags boolean[], at timestamptz[], local timestamp[], days date[], ids uuid[],
  docs jsonb[], moods mood[], prices money[], grid int[][])`;

Deno.test(
  "array columns keep their items and their NULLs, on every provider that stores arrays",
  LAB_OPTIONS,
  async () => {
    for (const target of (await getLab()).targets) {
      const { name, config } = target;
      if (name === "distsql") continue;
      const enumDdl = "CREATE TYPE mood AS ENUM ('happy', 'it''s fine')";
      const db = await openWithTables({ ...config, schema: { lists } }, enumDdl, LISTS_DDL);
      const rows = rowsFor(target);
      for (const row of rows) {
        const { prices } = row;
        const stored = {
          ...row,
          prices: prices?.map((price) => price?.slice(1) ?? null) as string[],
        };
        assertEquals(await db.insert(lists).values(stored).returning(), [row], `${name} ${row.id}`);
      }
      assertEquals(await db.select().from(lists).orderBy(lists.id), rows, name);
      assertEquals(await db.query.lists.findMany({ orderBy: toOrder(lists.id) }), rows, name);
      for (const [key, column] of Object.entries(lists) as [keyof Lists, PgColumn][]) {
        if (key === "id" || column?.name === undefined) continue;
        const values = await db.select({ value: column }).from(lists).orderBy(lists.id);
        assertEquals(
          values.map(({ value }) => value),
          rows.map((row) => row[key]),
          `${name} ${key}`,
        );
      }
    }
  },
);

const tagged = pgTable("tagged", {
  id: integer("id").primaryKey(),
  tags: text("tags").array(),
  counts: integer("counts").array(),
});

Deno.test(
  "arrays of domains keep their items and their NULLs, on every provider that stores arrays",
  LAB_OPTIONS,
  async () => {
    for (const { name, config } of (await getLab()).targets) {
      if (name === "distsql") continue;
      const db = await openWithTables(
        { ...config, schema: { tagged } },
        "CREATE DOMAIN tag AS text",
        "CREATE DOMAIN positive AS int",
        "CREATE TABLE tagged (id int PRIMARY KEY, tags tag[], counts positive[])",
      );
      await db.execute(sql`INSERT INTO tagged VALUES (1, '{a,"b c",NULL}', '{7,NULL}')`);
      const row = { id: 1, tags: ["a", "b c", null], counts: [7, null] } as never;
      assertEquals(await db.select().from(tagged), [row], name);
      assertEquals(await db.query.tagged.findFirst(), row, name);
    }
  },
);

Deno.test(
  "expressions in a builder's select arrive as drizzle's drivers give them: times as texts",
  LAB_OPTIONS,
  async () => {
    for (const { name, config } of (await getLab()).targets) {
      const db = await getDrizzleClient(config);
      const [row] = await db.select({
        count: sql`count(*)`,
        at: sql`max(timestamptz '2026-01-31 12:00:00.123456+00')`,
        local: sql`max(timestamp '2026-01-31 12:00:00.123456')`,
        day: sql`max(date '2026-01-31')`,
        exact: sql`sum(1.50)`,
        big: sql`max(9007199254740993)`,
        doc: sql`to_jsonb('null'::text)`,
        flags: sql`array_agg(true)`,
        number: sql<number>`count(*)`.mapWith(Number),
      }).from(sql`generate_series(1, 2)`);
      assertEquals(row, {
        count: "2",
        at: "2026-01-31 12:00:00.123456+00",
        local: "2026-01-31 12:00:00.123456",
        day: "2026-01-31",
        exact: "3.00",
        big: "9007199254740993",
        doc: "null",
        flags: [true, true],
        number: 2,
      }, name);
    }
  },
);

const accounts = pgTable("accounts", { id: bigint("id", { mode: "bigint" }).primaryKey() });
const entries = pgTable("entries", {
  id: integer("id").primaryKey(),
  accountId: bigint("account_id", { mode: "bigint" }),
  long: bigint("long", { mode: "number" }),
  exact: numeric("exact"),
  ratio: numeric("ratio", { mode: "number" }),
  whole: numeric("whole", { mode: "bigint" }),
  day: date("day"),
  at: timestamp("at", { withTimezone: true }),
  doc: jsonb("doc"),
});
const ledger = toSchema({
  accounts,
  entries,
  accountsRelations: relations(accounts, ({ many }) => ({ entries: many(entries) })),
  entriesRelations: relations(
    entries,
    ({ one }) => ({
      account: one(accounts, { fields: [entries.accountId], references: [accounts.id] }),
    }),
  ),
});

Deno.test(
  "rows of relations keep all digits of bigint and numeric, on every provider",
  LAB_OPTIONS,
  async () => {
    for (const { name, config } of (await getLab()).targets) {
      const db = await openWithTables(
        { ...config, schema: ledger },
        "CREATE TABLE accounts (id bigint PRIMARY KEY)",
        `CREATE TABLE entries (id int PRIMARY KEY, account_id bigint, long bigint, exact numeric(38, 10),
        ratio numeric(38, 10), whole numeric(38, 0), day date, at timestamptz, doc jsonb)`,
      );
      const id = 9007199254740993n;
      const entry = {
        id: 1,
        accountId: id,
        long: 42,
        exact: "12345678901234567890.0123456789",
        ratio: 0.5,
        whole: 12345678901234567890n,
        day: "2026-01-31",
        at: new Date("2026-10-25T01:30:00.123Z"),
        doc: "null",
      };
      const none = {
        ...Object.fromEntries(Object.keys(entry).map((key) => [key, null])),
        id: 2,
        accountId: id,
      };
      await db.insert(accounts).values({ id });
      await db.insert(entries).values([entry, none as never]);
      const account = await db.query.accounts.findFirst({
        with: { entries: { orderBy: toOrder(entries.id) } },
      });
      assertEquals(account, { id, entries: [entry, none] } as never, name);
      const [first] = await db.query.entries.findMany({
        limit: 1,
        with: {
          account: {
            with: {
              entries: { where: toWhere(eq(entries.id, 1)), limit: 1, columns: { exact: true } },
            },
          },
        },
      });
      assertEquals(first, { ...entry, account: { id, entries: [{ exact: entry.exact }] } }, name);
    }
  },
);

const samples = pgTable("samples", {
  id: integer("id").primaryKey(),
  ownerId: integer("owner_id"),
  bigs: bigint("bigs", { mode: "bigint" }).array(),
  exact: numeric("exact").array().array(),
});
const sampled = toSchema({
  owners,
  samples,
  ownersRelations: relations(owners, ({ many }) => ({ samples: many(samples) })),
  samplesRelations: relations(
    samples,
    ({ one }) => ({ owner: one(owners, { fields: [samples.ownerId], references: [owners.id] }) }),
  ),
});

Deno.test("arrays in rows of relations keep all digits", LAB_OPTIONS, async () => {
  for (const { name, config } of (await getLab()).targets) {
    if (name === "distsql") continue;
    const db = await openWithTables(
      { ...config, schema: sampled },
      "CREATE TABLE owners (id int PRIMARY KEY)",
      "CREATE TABLE samples (id int PRIMARY KEY, owner_id int, bigs bigint[], exact numeric[][])",
    );
    const sample = {
      id: 1,
      ownerId: 1,
      bigs: [9007199254740993n, null as never],
      exact: [["12345678901234567890.5"]],
    };
    await db.insert(owners).values({ id: 1 });
    await db.insert(samples).values(sample);
    assertEquals(await db.query.owners.findFirst({ with: { samples: true } }), {
      id: 1,
      samples: [sample],
    }, name);
  }
});
