import { and, eq, getTableColumns, gt, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import type { ApiKeyTable } from "./api_key_options.ts";
import {
  FOUND_COLUMNS,
  getUsageKind,
  type KeyQuery,
  type KeyStatements,
  type UsageKind,
  type UsageStatement,
  type UsageValues,
  USED_COLUMNS,
} from "./api_key_usage_kind.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import { cacheByClient } from "./query_cache.ts";

let lastStatement = 0;

/** Returns the prepared statements of a client and a table. */
export const getKeyStatements: (db: AuthDatabase, table: ApiKeyTable) => KeyStatements =
  cacheByClient(function prepareStatements(db: AuthDatabase, table: ApiKeyTable) {
    const usages: Map<string, UsageStatement> = new Map();
    return {
      find: prepareFind(db, table),
      getUsage(row, plan) {
        const kind = getUsageKind(row, plan);
        if (kind === undefined) return undefined;
        const name = Object.values(kind).join();
        const known = usages.get(name);
        if (known !== undefined) return known;
        const changes = getChanges(table, kind);
        const built = buildUsage(db, table, kind, changes);
        if (hasOtherChanges(table, changes)) return built as unknown as UsageStatement;
        const usage = built.prepare(getName("use")) as unknown as UsageStatement;
        usages.set(name, usage);
        return usage;
      },
    };
  });

/** Returns a distinct name for each statement, because a connection keeps one statement per name. */
function getName(kind: "find" | "use"): string {
  return `trellis_${kind}_api_key_${++lastStatement}`;
}

function prepareFind(db: AuthDatabase, table: ApiKeyTable): KeyQuery {
  // without LIMIT, which drizzle passes as a parameter: PostgreSQL would plan the query again each time
  return db.select(pick(table, FOUND_COLUMNS)).from(table)
    .where(eq(table.key, sql.placeholder("key")))
    .prepare(getName("find")) as unknown as KeyQuery;
}

function pick<Name extends keyof ApiKeyTable>(
  table: ApiKeyTable,
  names: readonly Name[],
): Record<Name, ApiKeyTable["id"]> {
  return Object.fromEntries(names.map((name) => [name, table[name]])) as never;
}

function buildUsage(
  db: AuthDatabase,
  table: ApiKeyTable,
  kind: UsageKind,
  changes: Readonly<Record<string, unknown>>,
) {
  const conditions = [
    eq(table.id, bind("id", table.id)),
    sql`${table.enabled} IS NOT FALSE`,
    ...getQuotaConditions(table, kind),
    ...getCounterConditions(table, kind),
  ];
  return db.update(table).set(changes).where(and(...conditions)).returning(
    pick(table, USED_COLUMNS),
  );
}

/** Creates a placeholder whose value is encoded for a column. */
function bind(name: keyof UsageValues, column: ApiKeyTable["id"]) {
  return sql.param(sql.placeholder(name), column);
}

function getChanges(
  table: ApiKeyTable,
  { quota, counter, isRefused }: UsageKind,
): Record<string, unknown> {
  const now = sql.placeholder("now");
  return {
    // better-auth does not set it for a request that it refuses
    ...(!isRefused && { updatedAt: now }),
    ...(quota === "decrement" && { remaining: sql`${table.remaining} - 1` }),
    ...(quota === "refill" && { remaining: sql.placeholder("refilled"), lastRefillAt: now }),
    ...(counter !== "none" && { lastRequest: now }),
    ...(counter === "increment" && { requestCount: sql`${table.requestCount} + 1` }),
    ...(counter === "start" && { requestCount: 1 }),
  };
}

/** Checks for columns with `$onUpdate`, whose functions drizzle calls when it builds a statement. */
function hasOtherChanges(table: ApiKeyTable, changes: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(getTableColumns(table)).some(([name, { onUpdateFn }]) =>
    onUpdateFn !== undefined && !Object.hasOwn(changes, name)
  );
}

function getQuotaConditions(table: ApiKeyTable, { quota, isFirstRefill }: UsageKind): SQL[] {
  if (quota === "none") return [];
  if (quota === "decrement") return [gt(table.remaining, 0)];
  if (isFirstRefill) return [isNull(table.lastRefillAt)];
  return [eq(truncate(table.lastRefillAt), bind("lastRefillAt", table.lastRefillAt))];
}

/** A Date has milliseconds, but the column has microseconds. */
function truncate(column: ApiKeyTable["id"]): SQL {
  return sql`date_trunc('milliseconds', ${column})`;
}

function getCounterConditions(table: ApiKeyTable, { counter, isFirstRequest }: UsageKind): SQL[] {
  if (counter === "none" || counter === "touch") return [];
  const windowStart = bind("windowStart", table.lastRequest);
  if (counter === "increment") {
    return [
      gt(table.lastRequest, windowStart),
      lt(table.requestCount, bind("rateLimitMax", table.requestCount)),
    ];
  }
  if (isFirstRequest) return [isNull(table.lastRequest)];
  return [lte(truncate(table.lastRequest), windowStart)];
}
