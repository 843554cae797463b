import { assertEquals, assertThrows } from "@std/assert";
import * as t from "drizzle-orm/pg-core";
import fc from "fast-check";
import { type ApiKeyTable, resolveApiKeyOptions } from "../../auth/api_key_options.ts";
import * as keys from "../../auth/api_key_statements.ts";
import type { ApiKeyRow, UsagePlan } from "../../auth/api_key_usage.ts";
import * as original from "../../auth/column_names.ts";
import type { AuthSettings } from "../../auth/config.ts";
import { type ModelColumns, prepareOrganizationQuery } from "../../auth/organization_query.ts";
import { prepareSessionQuery } from "../../auth/prepare_session_query.ts";
import * as leanKeys from "../../auth/precompiled/api_key_statements.ts";
import { COLUMN_NAMES } from "../../auth/precompiled/column_names.ts";
import * as codecs from "../../auth/precompiled/builtin_tables.ts";
import * as leanOrganization from "../../auth/precompiled/own_organization_query.ts";
import * as ownSessions from "../../auth/precompiled/own_session_query.ts";
import * as ownWrites from "../../auth/precompiled/own_session_writes.ts";
import { getOwnStatements, setOwnStatements } from "../../auth/precompiled/own_statements.ts";
import { getSessionQuery } from "../../auth/precompiled/session_query.ts";
import { STATEMENTS } from "../../auth/precompiled/session_statements.ts";
import * as leanTables from "../../auth/precompiled/session_tables.ts";
import * as leanWrites from "../../auth/precompiled/session_writes.ts";
import { loadTables } from "../../auth/precompiled/table.ts";
import { SESSION_TABLES } from "../../auth/default_tables.ts";
import { resolveSchema } from "../../auth/resolve_schema.ts";
import { AUTH_SESSION_COLUMNS, AUTH_USER_COLUMNS } from "../../auth/schema.ts";
import * as tables from "../../auth/session_tables.ts";
import * as writes from "../../auth/session_writes.ts";
import { NotCompiled } from "../../cli/build/precompile_queries/codecs.ts";
import { getColumns, getTableNames, isTable } from "../../database/drizzle_table.ts";
import type { DrizzleClient } from "../../database/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { createSessionClient } from "../../database/session/client.ts";
import { ConnectionSlots } from "../../database/session/connection_slots.ts";
import type { SqlDriver, Statement } from "../../database/session/driver.ts";
import { testSeed } from "../support/seed.ts";
import { apiKeyColumns } from "./api_keys_database.ts";
import { toLeanSchema } from "./lean_schema.ts";

const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 2_000 : 150;
const at = (ms: number) => new Date(1_800_000_000_000 + ms);

interface Recorder {
  readonly db: DrizzleClient & never;
  readonly sent: Statement[];
}

/** Creates a client that records its statements, and answers with a row of these texts. */
function createRecorder(row: readonly (string | null)[]): Recorder {
  const sent: Statement[] = [];
  const driver: SqlDriver = {
    client: undefined,
    run(statement) {
      sent.push(statement);
      return Promise.resolve({
        columns: row.map((_, index) => ({ name: `c${index}`, type: 25 })),
        rows: [[...row]],
        command: "SELECT",
        rowCount: 1,
      });
    },
    transaction: () => Promise.reject(new Error("not used")),
  };
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema: undefined });
  return { db: db as never, sent };
}

type Run = (recorder: Recorder, isLean: boolean) => Promise<unknown>;

/** Runs both forms, and compares what they send and their rows. */
async function compare(row: readonly (string | null)[], run: Run): Promise<void> {
  const [drizzle, lean] = await Promise.all([false, true].map(async (isLean) => {
    const recorder = createRecorder(row);
    const rows = await run(recorder, isLean);
    // unlike those of drizzle, all compiled statements are named, because they are prepared
    const sent = recorder.sent.map(({ text, params, metadata }) => ({ text, params, metadata }));
    return { sent, rows };
  }));
  assertEquals(lean, drizzle);
}

const name = fc.constantFrom("users", "Käufer", 'a "b"', "order", "t1", "t2", "t3", "people");
const schemaName = fc.constantFrom(undefined, undefined, "auth", 'my "own"');
const idType = fc.constantFrom(
  () => t.uuid(),
  () => t.text(),
  () => t.integer(),
  () => t.varchar(),
);
/** Types of columns of an application, and a value of the server for each. */
const ADDED = {
  text: [() => t.text(), "a text"],
  jsonb: [() => t.jsonb(), '{"a":[1,null]}'],
  json: [() => t.json("js_on"), '"text"'],
  integer: [() => t.integer(), "17"],
  bigint: [() => t.bigint({ mode: "bigint" }), "9007199254740993"],
  bigNumber: [() => t.bigint({ mode: "number" }), "42"],
  numeric: [() => t.numeric(), "1.50"],
  tags: [() => t.text("tags").array(), '{a,"b c",NULL}'],
  local: [() => t.timestamp("lo cal"), "2024-02-29 12:34:56.789"],
  day: [() => t.date(), "2024-02-29"],
  instantText: [
    () => t.timestamp({ withTimezone: true, mode: "string" }),
    "2024-02-29 12:34:56+00",
  ],
  banned: [() => t.boolean(), "t"],
  role: [() => t.text(), "admin"],
  impersonatedBy: [() => t.text("impersonated_by"), "someone"],
} as const satisfies Record<string, readonly [() => unknown, string]>;

const added = fc.uniqueArray(fc.constantFrom(...Object.keys(ADDED) as (keyof typeof ADDED)[]));
const owned = fc.record({ name, schemaName, added, id: idType, updates: fc.boolean() });
const world = fc.record({
  user: owned,
  session: owned,
  organization: owned,
  member: owned,
  other: idType,
  hidden: added,
}).filter((each) => {
  const names = [each.user, each.session, each.organization, each.member].map(({ name }) => name);
  return new Set(names).size === names.length;
});

type Owned = typeof owned extends fc.Arbitrary<infer Value> ? Value : never;
type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

function createTable(
  { name, schemaName, added, id }: Owned,
  columns: Record<string, t.PgColumnBuilderBase>,
) {
  const own = Object.fromEntries(added.map((each) => [each, ADDED[each][0]()]));
  const create =
    (schemaName === undefined ? t.pgTable : t.pgSchema(schemaName).table) as typeof t.pgTable;
  return create(name, { ...columns, ...own, id: id() } as never) as never;
}

function createSchema({ user, session, organization, member, other }: World) {
  return {
    user: createTable(user, AUTH_USER_COLUMNS),
    session: createTable(session, {
      ...AUTH_SESSION_COLUMNS,
      userId: user.id(),
      activeOrganizationId: other(),
    }),
    organization: createTable(organization, { name: t.text(), slug: t.text("Slug") }),
    member: createTable(member, {
      organizationId: other(),
      userId: other(),
      role: t.text(),
    }),
    relations: {},
  };
}

function toSettings(schema: Record<string, unknown>, { hidden }: World): AuthSettings {
  const additionalFields = Object.fromEntries(hidden.map((each) => [each, { returned: false }]));
  const library = { user: { additionalFields }, session: { additionalFields } };
  return { schema: resolveSchema(schema), library } as never;
}

/** A value of the server for each column that drizzle selects. */
function toRow(settings: AuthSettings, nulls: readonly boolean[]): (string | null)[] {
  const recorder = createRecorder([]);
  const query = prepareSessionQuery(recorder.db, settings) as unknown as {
    getQuery(): { sql: string };
  };
  const { sql } = query.getQuery();
  const columns = sql.slice(0, sql.indexOf(" from ")).split(", ");
  const byName = new Map<string, string>();
  for (const table of [settings.schema.user, settings.schema.session]) {
    for (const [property, column] of Object.entries(getColumns(table))) {
      const known = ADDED[property as keyof typeof ADDED]?.[1];
      const value = known ?? (column.dataType === "date" ? "2027-01-02 03:04:05.678+00" : "7");
      byName.set(column.name.replaceAll('"', '""'), value);
    }
  }
  const row = columns.map((text, index) => {
    const [column] = /"(?:[^"]|"")*"$/.exec(text)!;
    return index > 9 && nulls[index % nulls.length] ? null : byName.get(column.slice(1, -1))!;
  });
  return row;
}

const nulls = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });

Deno.test("COLUMN_NAMES has the properties of the built-in columns", () => {
  assertEquals(COLUMN_NAMES, original.COLUMN_NAMES);
});

Deno.test("the tables without drizzle have the names of the built-in ones", () => {
  for (const name of ["authUsers", "authSessions"] as const) {
    const listNames = (table: object) =>
      Object.entries(getColumns(table)).map(([property, column]) => [property, column.name]);
    assertEquals(getTableNames(leanTables[name]), getTableNames(tables[name]));
    assertEquals(listNames(leanTables[name]), listNames(tables[name]));
  }
});

Deno.test("the tables with codecs are those that are rendered from the built-in ones", () => {
  const { authUsers, authSessions } = tables;
  const rendered = toLeanSchema({ user: authUsers, session: authSessions });
  const describe = (table: object) => ({
    ...getTableNames(table),
    columns: Object.entries(getColumns(table)).map(([property, { table: _, ...column }]) => [
      property,
      column,
    ]),
  });
  assertEquals(describe(codecs.users), describe(rendered.user));
  assertEquals(describe(codecs.sessions), describe(rendered.session));
});

Deno.test("the statements of session checks without drizzle are those of drizzle", async () => {
  await fc.assert(
    fc.asyncProperty(world, nulls, async (world, nulls) => {
      const schema = createSchema(world);
      const lean = toSettings(toLeanSchema(schema), world);
      const settings = toSettings(schema, world);
      const joinedRow = ["an id", "a name", "a slug", "a member", "owner"]
        .map((value, index) => nulls[(index >> 2) % nulls.length] ? null : value);
      const row = toRow(settings, nulls);
      await compare(
        row,
        ({ db }, isLean) =>
          (isLean ? ownSessions : { prepareSessionQuery })
            .prepareSessionQuery(db, isLean ? lean : settings)
            .execute({ token: "a token" }),
      );
      await compare([...row, ...joinedRow], ({ db }, isLean) => {
        const { schema } = isLean ? lean : settings;
        const columns = schema as unknown as ModelColumns;
        const prepare = (isLean ? leanOrganization : { prepareOrganizationQuery })
          .prepareOrganizationQuery;
        return prepare(db, isLean ? lean : settings, columns).execute({ token: "a token" });
      });
      await compare(["2027-01-02 03:04:05.678+00"], async ({ db }, isLean) => {
        const [module, given] = isLean ? [ownWrites, lean] : [writes, settings];
        return [
          await module.endSession(db, given, "a token", at(1)),
          await module.extendSession(
            db,
            given,
            { token: "a token", expiresAt: at(2) },
            { expiresAt: at(3), updatedAt: at(4) },
          ),
        ];
      });
    }),
    { seed: testSeed, numRuns: RUNS },
  );
});

const SETTINGS: AuthSettings = { schema: SESSION_TABLES, library: {} } as never;

Deno.test("the statements of the second file are those of drizzle, also for built-in tables", async () => {
  const { extendSession, endSession } = leanWrites;
  const execute = (key: string, db: never, values: object) =>
    (STATEMENTS[key](db, undefined) as { execute(values: object): Promise<unknown> })
      .execute(values);
  const row = toRow(SETTINGS, [false]);
  await compare(
    row,
    ({ db }, isLean) =>
      isLean
        ? getSessionQuery(db, SETTINGS).execute({ token: "a token" })
        : execute("trellis:find_session", db, { token: "a token" }) as never,
  );
  await compare(
    ["an id"],
    ({ db }, isLean) =>
      isLean
        ? endSession(db, SETTINGS, "a token", at(1))
        : execute("trellis:end_session", db, { token: "a token", now: at(1) }),
  );
  await compare(["2027-01-02 03:04:05.678+00"], ({ db }, isLean) => {
    const changes = { expiresAt: at(3), updatedAt: at(4) };
    return isLean
      ? extendSession(db, SETTINGS, { token: "a token", expiresAt: at(2) }, changes)
      : execute("trellis:extend_session", db, { token: "a token", found: at(2), ...changes });
  });
});

Deno.test("the statements are those of drizzle where one table is built-in", async () => {
  const own = { session: t.pgTable("visits", { ...AUTH_SESSION_COLUMNS, role: t.text() }) };
  const settings: AuthSettings = { ...SETTINGS, schema: { ...SESSION_TABLES, ...own } as never };
  const schema = { ...SESSION_TABLES, ...toLeanSchema(own) } as never;
  const lean: AuthSettings = { ...SETTINGS, schema };
  await compare(
    toRow(settings, [false]),
    ({ db }, isLean) =>
      (isLean ? getOwnStatements(lean.schema)! : { prepareSessionQuery })
        .prepareSessionQuery(db, isLean ? lean : settings).execute({ token: "a token" }),
  );
  const { session, user } = loadTables(lean.schema);
  assertEquals([session, user], [own.session, tables.authUsers]);
});

Deno.test("getOwnStatements() refuses tables that the build has not seen", () => {
  const schema = { ...SESSION_TABLES, user: { ...tables.authUsers } as typeof tables.authUsers };
  setOwnStatements(undefined as never);
  assertEquals(getOwnStatements(SESSION_TABLES), undefined);
  assertThrows(() => getOwnStatements(schema), ConfigurationError, "build.precompile");
});

Deno.test("a schema without drizzle refers to the tables of the second file", () => {
  const own = { user: t.pgTable("people", AUTH_USER_COLUMNS), relations: {}, nothing: undefined };
  const lean = toLeanSchema(own);
  assertEquals(Object.keys(lean), Object.keys(own));
  assertEquals([isTable(lean.user), lean.relations, lean.nothing], [true, null, undefined]);
  assertEquals(loadTables({ user: lean.user }), { user: own.user });
});

const QUOTAS = ["none", "decrement", "refill"] as const;
const COUNTERS = ["none", "touch", "start", "increment"] as const;
const plans: UsagePlan[] = QUOTAS.flatMap((quota) =>
  COUNTERS.flatMap((counter) =>
    [undefined, new Error() as never].map((refusal) => ({ quota, counter, refusal }))
  )
);
const ROW = { lastRefillAt: at(-3), lastRequest: at(-2) } as unknown as ApiKeyRow;
const EMPTY = { lastRefillAt: null, lastRequest: null } as unknown as ApiKeyRow;

function createKeyTable({ name, schemaName, added, id, updates }: Owned): ApiKeyTable {
  const columns = {
    ...apiKeyColumns(),
    requestCount: t.bigint("request_count", { mode: "number" }),
    remaining: updates ? t.numeric({ mode: "number" }) : t.integer(),
    lastRequest: t.timestamp("last_request", { withTimezone: updates }),
  };
  const table = createTable({ name, schemaName, added, id, updates }, columns);
  return resolveApiKeyOptions({ schema: { apikey: table } }).table;
}

Deno.test("the statements of API keys without drizzle are those of drizzle", async () => {
  await fc.assert(
    fc.asyncProperty(owned, async (owned) => {
      const table = createKeyTable(owned);
      const { apikey } = toLeanSchema({ apikey: table });
      const found = ["id", "c", "n", "r", "5", "6", "2027-01-02 03:04:05.678", "t", "f", "7", "8"];
      found.push("9", "10", "2027-01-02 03:04:05.678", "2027-01-02", "2027-01-03", "{}", "{}");
      await compare(found, ({ db }, isLean) => {
        const statements = isLean
          ? leanKeys.getKeyStatements(db, apikey)
          : keys.getKeyStatements(db, table);
        return statements.find.execute({ key: "a key" });
      });
      await compare(["id", null, "n", "r", "5", "2027-01-02", "{}"], async ({ db }, isLean) => {
        const { getUsage } = isLean
          ? leanKeys.getKeyStatements(db, apikey)
          : keys.getKeyStatements(db, table);
        const rows: unknown[] = [];
        for (const row of [ROW, EMPTY]) {
          for (const plan of plans) {
            const usage = getUsage(row, plan);
            if (usage === undefined) rows.push(undefined);
            rows.push(
              await usage?.execute({
                id: "a key",
                now: at(0),
                windowStart: at(1),
                rateLimitMax: 3,
                lastRefillAt: row.lastRefillAt,
                refilled: 4,
              }),
            );
          }
        }
        return rows;
      });
    }),
    { seed: testSeed, numRuns: Math.ceil(RUNS / 5) },
  );
});

Deno.test("AuthSchemaRenderer refuses tables for which it cannot write the statements", () => {
  const custom = t.customType<{ data: string }>({ dataType: () => "text" });
  const own = { place: custom("place") };
  const touched = { touchedAt: t.timestamp("touched_at").$onUpdate(() => new Date()) };
  const refusals: [string, Record<string, unknown>][] = [
    ["user.place: columns of type PgCustomColumn are decoded", {
      user: t.pgTable("people", { ...AUTH_USER_COLUMNS, ...own }),
    }],
    ["session.touchedAt: it has $onUpdate", {
      session: t.pgTable("visits", { ...AUTH_SESSION_COLUMNS, ...touched }),
    }],
    ["apikey.touchedAt: it has $onUpdate", {
      apikey: t.pgTable("keys", { ...apiKeyColumns(), ...touched }),
    }],
    ["two tables have the name users", {
      user: t.pgTable("users", AUTH_USER_COLUMNS),
      member: t.pgSchema("other").table("users", { id: t.uuid() }),
    }],
  ];
  for (const [message, schema] of refusals) {
    assertThrows(() => toLeanSchema(schema), NotCompiled, message);
  }
  // columns that no statement reads
  toLeanSchema({ organization: t.pgTable("o", own), apikey: t.pgTable("k", own) });
});
