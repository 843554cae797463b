import { assertEquals } from "@std/assert";
import { sql } from "drizzle-orm";
import * as t from "drizzle-orm/pg-core";
import fc from "fast-check";
import { resolveApiKeyOptions } from "../../../auth/keys/api_key_options.ts";
import { changesKey, findApiKey, writeApiKeyUse } from "../../../auth/keys/api_key_statements.ts";
import type { ApiKeyRow, UsagePlan } from "../../../auth/keys/api_key_usage.ts";
import { resolveSchema } from "../../../auth/config/resolve_config.ts";
import {
  AUTH_SCHEMA_MAPPING,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
} from "../../../auth/tables/schema.ts";
import { getOrganizationQuery } from "../../../auth/sessions/session_organization.ts";
import {
  endSession,
  extendSession,
  getSessionQuery,
  type SessionSettings,
} from "../../../auth/sessions/session_statements.ts";
import { COLUMN_NAMES, getSessionTables } from "../../../auth/config/session_tables.ts";
import { listColumns } from "../../../database/session/column_sql.ts";
import {
  getColumns,
  getDataType,
  getTableNames,
  isTable,
} from "../../../database/session/drizzle_table.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";
import { DataApiDialect } from "../../../database/providers/data_api_dialect.ts";
import type { DrizzleClient } from "../../../database/mod.ts";
import { createSessionClient } from "../../../database/session/client.ts";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import type { SqlDriver, Statement } from "../../../database/session/driver.ts";
import { testSeed } from "../../support/seed.ts";
import { apiKeyColumns } from "../api_keys_database.ts";
import * as drizzle from "../drizzle_statements.ts";
import { decodeColumn, encodeColumn } from "../../../database/session/column_codec.ts";

const RUNS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 2_000 : 120;
const at = (ms: number) => new Date(1_800_000_000_000 + ms);

type Run = (db: DrizzleClient & never) => Promise<unknown>;

/** Creates a client that records its statements, and answers with a row of these texts. */
function createRecorder(row: readonly (string | null)[], dialect?: DataApiDialect) {
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
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema: undefined, dialect });
  return { db: db as never, sent };
}

/** Leaves out what drizzle does not write: names of columns, and the table in a list of one table's. */
function withoutNames(text: string): string {
  const [statement, returned] = text.replaceAll(/ as "c\d+"/g, "").split(" returning ");
  const list = /^select .*? from (?!.* join )/s.exec(statement)?.[0] ?? "";
  return [statement.slice(list.length), list, returned]
    .map((part, index) => index === 0 ? part : part?.replaceAll(/(?:"(?:[^"]|"")*"\.)+/g, ""))
    .join(" | ");
}

async function record(row: readonly (string | null)[], run: Run, dialect?: DataApiDialect) {
  const { db, sent } = createRecorder(row, dialect);
  const rows = await run(db);
  return {
    rows,
    sent: sent.map(({ text, params, isCast }) => ({
      // drizzle 1.0 writes fewer parentheses
      text: isDrizzleOne ? withoutNames(text).replace(/[()]/g, "") : withoutNames(text),
      params: params.map((each) => each instanceof Date ? each.toISOString() : each),
      isCast: isCast?.some(Boolean) ? isCast : undefined,
    })),
  };
}

/** Compares what the statements of the package and of drizzle send, and their rows. */
async function compare(row: readonly (string | null)[], ours: Run, theirs: Run): Promise<void> {
  // the dialect casts custom types of this package's own statements, with 1.0 not those of drizzle's
  for (const dialect of isDrizzleOne ? [undefined] : [undefined, new DataApiDialect()]) {
    assertEquals(await record(row, ours, dialect), await record(row, theirs, dialect));
  }
}

const custom = t.customType<{ data: { code: string }; driverData: string }>({
  dataType: () => "text",
  fromDriver: (code) => ({ code }),
  toDriver: ({ code }) => code,
});

/** Types of columns of an application, and a value of the server for each. */
const ADDED = {
  text: [() => t.text(), "a text"],
  place: [() => custom(), "a place"],
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
  banReason: [() => t.text(), "spam"],
  role: [() => t.text(), "admin"],
  impersonatedBy: [() => t.text("impersonated_by"), "someone"],
  touchedAt: [() => t.timestamp("touched_at").$onUpdate(() => at(9)), "2024-02-29 12:34:56"],
  version: [() => t.integer("version").$onUpdate(() => sql`version + ${2}`), "3"],
} as const satisfies Record<string, readonly [() => unknown, string]>;

const name: fc.Arbitrary<string> = fc.constantFrom(
  "users",
  "Käufer",
  'a "b"',
  "order",
  "t1",
  "t2",
  "t3",
  "people",
);
const schemaName = fc.constantFrom(undefined, undefined, "auth", 'my "own"');
const idType = fc.constantFrom(
  () => t.uuid(),
  () => t.text(),
  () => t.integer(),
  () => t.varchar(),
);
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
    member: createTable(member, { organizationId: other(), userId: other(), role: t.text() }),
  };
}

function getValue(property: string, column: t.PgColumn): string {
  const known = ADDED[property as keyof typeof ADDED]?.[1];
  return known ?? (column.dataType === "date" ? "2027-01-02 03:04:05.678+00" : "7");
}

/** A value of the server for each column that a session check reads. */
function toRow(schema: ReturnType<typeof createSchema>, nulls: readonly boolean[], all: World) {
  const [user, session] = [schema.user, schema.session].map((table) =>
    getColumns(table) as Record<string, t.PgColumn>
  );
  const names = [
    ...["id", "token", "expiresAt"].map((each) => [session, each] as const),
    ...["id", "email", "name", "image", "emailVerified"].map((each) => [user, each] as const),
    ...["createdAt", "updatedAt", "impersonatedBy"].map((each) => [session, each] as const),
    ...(user.banReason ? [[user, "banned"] as const] : []),
    ...([[user, "user"], [session, "session"]] as const).flatMap(([columns, model]) =>
      Object.keys(columns).filter((each) =>
        !COLUMN_NAMES[model].includes(each) && !all.hidden.includes(each as never)
      ).map((each) => [columns, each] as const)
    ),
  ].filter(([columns, each]) => each in columns);
  return names.map(([columns, each], index) =>
    index > 9 && nulls[index % nulls.length] ? null : getValue(each, columns[each])
  );
}

const nulls = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });

Deno.test("the statements of session checks are those of drizzle", async () => {
  await fc.assert(
    fc.asyncProperty(world, nulls, async (world, nulls) => {
      const schema = createSchema(world);
      const additionalFields = Object.fromEntries(
        world.hidden.map((each) => [each, { returned: false }]),
      );
      const settings = {
        schema: resolveSchema(schema),
        library: { user: { additionalFields }, session: { additionalFields } },
      } as unknown as SessionSettings & never;
      const reference = { ...schema, hidden: world.hidden } as never;
      const row = toRow(schema, nulls, world);
      const joined = ["an id", "a name", "a slug", "a member", "owner"]
        .map((value, index) => nulls[(index >> 2) % nulls.length] ? null : value);
      await compare(
        row,
        (db) => getSessionQuery(db, settings).find(db, "a token"),
        (db) => drizzle.findSession(db, reference, "a token", false),
      );
      await compare(
        [...row, ...joined],
        (db) => getOrganizationQuery(db, settings).find(db, "a token"),
        (db) => drizzle.findSession(db, reference, "a token", true),
      );
      const changes = { expiresAt: at(3), updatedAt: at(4) };
      await compare(
        ["2027-01-02 03:04:05.678+00"],
        async (db) => [
          await endSession(db, settings, "a token", at(1)),
          await extendSession(db, settings, { token: "a token", expiresAt: at(2) }, changes),
        ],
        async (db) => [
          await drizzle.endSession(db, schema.session, "a token", at(1)),
          await drizzle.extendSession(db, schema.session, "a token", at(2), changes),
        ],
      );
    }),
    { seed: testSeed, numRuns: RUNS },
  );
});

const QUOTAS = ["none", "decrement", "refill"] as const;
const COUNTERS = ["none", "touch", "start", "increment"] as const;
const PLANS: UsagePlan[] = QUOTAS.flatMap((quota) =>
  COUNTERS.flatMap((counter) =>
    [undefined, new Error() as never].map((refusal) => ({ quota, counter, refusal }))
  )
).filter(changesKey);
const USED = { id: "a key", rateLimitMax: 3, rateLimitTimeWindow: 1, refillAmount: 5 };
const ROWS = [
  { ...USED, lastRefillAt: at(-3), lastRequest: at(-2) },
  { ...USED, lastRefillAt: null, lastRequest: null },
] as unknown as ApiKeyRow[];

Deno.test("the statements of API keys are those of drizzle", async () => {
  await fc.assert(
    fc.asyncProperty(owned, owned, async (key, user) => {
      const users = createTable({ ...user, name: `${user.name}_u` }, AUTH_USER_COLUMNS);
      const table = createTable({ ...key, id: () => t.text() as never }, {
        ...apiKeyColumns(),
        requestCount: t.bigint("request_count", { mode: "number" }),
        remaining: key.updates ? t.numeric({ mode: "number" }) : t.integer(),
        lastRequest: t.timestamp("last_request", { withTimezone: key.updates }),
      });
      const settings = resolveApiKeyOptions({}, { apikey: table, user: users });
      const found = ["id", "c", "n", "r", "5", "6", "2027-01-02 03:04:05.678", "t", "f", "7", "8"];
      found.push("9", "10", "2027-01-02 03:04:05.678", "2027-01-02", "2027-01-03", "{}", "{}");
      const { banned, banReason } = listColumns(users);
      await compare(
        [...found, "u1", ...(banned && banReason ? ["t"] : [])],
        (db) => findApiKey(db, settings, "a key"),
        (db) => drizzle.findKey(db, table, users, "a key"),
      );
      for (const row of ROWS) {
        for (const plan of PLANS) {
          const use = { row, plan, now: at(0) };
          await compare(
            ["id", null, "n", "r", "5", "2027-01-02", "{}"],
            (db) => writeApiKeyUse(db, settings, use),
            (db) => drizzle.useKey(db, table, use),
          );
        }
      }
    }),
    { seed: testSeed, numRuns: Math.ceil(RUNS / 6) },
  );
});

Deno.test("the built-in tables of session checks are those of drizzle", () => {
  const built = getSessionTables({});
  const values = [at(5), "a text", "t"];
  for (const model of ["user", "session"] as const) {
    const [own, other] = [built[model], AUTH_SCHEMA_MAPPING[model]];
    assertEquals([isTable(own), getTableNames(own)], [true, getTableNames(other)]);
    const describe = (table: object) =>
      Object.entries(listColumns(table)).map(([property, column]) => [
        property,
        column.name,
        column.getSQLType(),
        getDataType(column) === "date",
        getDataType(column) === "date"
          ? [
            encodeColumn(column, values[0]),
            decodeColumn(column, "2027-01-02 03:04:05.678+00"),
          ]
          : values.slice(1).map((value) => [
            encodeColumn(column, value),
            decodeColumn(column, value),
          ]),
      ]);
    assertEquals(describe(own), describe(other));
  }
  for (const [model, names] of Object.entries(COLUMN_NAMES)) {
    assertEquals(names, Object.keys(getColumns(AUTH_SCHEMA_MAPPING[model as "user"])));
  }
});
