import { COLUMNS, NAME } from "../../database/drizzle_table.ts";
import { loadDrizzle } from "../../database/precompiled/load_drizzle.ts";
import {
  definePrecompiledStatement,
  type PrecompiledStatement,
} from "../../database/queries/precompiled_statement.ts";
import { quoteName } from "../../database/sql/quote.ts";
import type { ApiKeyTable } from "../api_key_options.ts";
import {
  FOUND_COLUMNS,
  getUsageKind,
  type KeyQuery,
  type KeyStatements,
  type UsageKind,
  type UsageStatement,
  type UsageValues,
  USED_COLUMNS,
} from "../api_key_usage_kind.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import { cacheByClient } from "../query_cache.ts";
import {
  constant,
  describeTable,
  given,
  join,
  listSelected,
  sql,
  type SqlPart,
  writeStatement,
} from "./statement_text.ts";
import { type AuthColumn, type AuthTable, loadTables } from "./table.ts";
import { describeUpdate } from "./update_text.ts";

type Columns = Readonly<Record<keyof ApiKeyTable & string, AuthColumn>>;

let lastStatement = 0;

/** Returns the prepared statements of a client and a table, in a bundle without drizzle. */
export const getKeyStatements: (db: AuthDatabase, table: ApiKeyTable) => KeyStatements =
  /* @__PURE__ */ cacheByClient(function prepareStatements(db: AuthDatabase, apikey: ApiKeyTable) {
    const table = apikey as unknown as AuthTable;
    const usages: Map<string, UsageStatement> = new Map();
    const { updatedAt } = table[COLUMNS];
    const load = () => {
      const own = loadTables({ table });
      return loadDrizzle().statements["trellis:api_keys"](db, own.table as never) as KeyStatements;
    };
    return {
      find: definePrecompiledStatement(describeFind(table))(db, () => load().find) as KeyQuery,
      getUsage(row, plan) {
        const kind = getUsageKind(row, plan);
        if (kind === undefined) return undefined;
        // only drizzle has the function that gives the value
        if (kind.isRefused && updatedAt.isUpdated) return load().getUsage(row, plan);
        const name = Object.values(kind).join();
        let usage = usages.get(name);
        if (usage === undefined) {
          const getStatement = definePrecompiledStatement(describeUsage(table, kind));
          usage = getStatement(db, () => load().getUsage(row, plan)!) as UsageStatement;
          usages.set(name, usage);
        }
        return usage;
      },
    };
  });

function getName(kind: "find" | "use"): string {
  return `trellis_${kind}_api_key_lean_${++lastStatement}`;
}

function pick<Name extends keyof Columns>(
  table: AuthTable,
  names: readonly Name[],
): Record<Name, AuthColumn> {
  return Object.fromEntries(names.map((name) => [name, table[COLUMNS][name]])) as never;
}

function describeFind(table: AuthTable): PrecompiledStatement {
  const { key } = table[COLUMNS];
  const selected = listSelected(pick(table, FOUND_COLUMNS));
  const names = selected.map(({ column }) => quoteName(column.name));
  return {
    name: getName("find"),
    ...writeStatement(
      sql`select ${join(names, ", ")} from ${table} where ${key} = ${given("key")}`,
    ),
    cells: selected.map(({ cell }) => cell),
    notNullable: { [table[NAME]]: true },
    metadata: { type: "select", tables: [describeTable(table)] },
  };
}

function describeUsage(table: AuthTable, kind: UsageKind): PrecompiledStatement {
  const columns = table[COLUMNS] as Columns;
  return describeUpdate({
    name: getName("use"),
    table,
    changes: getChanges(columns, kind),
    where: [
      sql`${columns.id} = ${bind("id", columns.id)}`,
      sql`${columns.enabled} IS NOT FALSE`,
      ...getQuotaConditions(columns, kind),
      ...getCounterConditions(columns, kind),
    ],
    returning: pick(table, USED_COLUMNS),
  });
}

function bind(name: keyof UsageValues, column: AuthColumn): SqlPart {
  return given(name, column);
}

function getChanges(
  { remaining, requestCount, lastRequest, lastRefillAt, updatedAt }: Columns,
  { quota, counter, isRefused }: UsageKind,
): Record<string, SqlPart> {
  return {
    ...(!isRefused && { updatedAt: bind("now", updatedAt) }),
    ...(quota === "decrement" && { remaining: sql`${remaining} - 1` }),
    ...(quota === "refill" && {
      remaining: bind("refilled", remaining),
      lastRefillAt: bind("now", lastRefillAt),
    }),
    ...(counter !== "none" && { lastRequest: bind("now", lastRequest) }),
    ...(counter === "increment" && { requestCount: sql`${requestCount} + 1` }),
    ...(counter === "start" && { requestCount: constant(1, requestCount) }),
  };
}

function getQuotaConditions(
  { remaining, lastRefillAt }: Columns,
  { quota, isFirstRefill }: UsageKind,
): SqlPart[] {
  if (quota === "none") return [];
  if (quota === "decrement") return [sql`${remaining} > ${constant(0, remaining)}`];
  if (isFirstRefill) return [sql`${lastRefillAt} is null`];
  return [sql`${truncate(lastRefillAt)} = ${bind("lastRefillAt", lastRefillAt)}`];
}

function getCounterConditions(
  { lastRequest, requestCount }: Columns,
  { counter, isFirstRequest }: UsageKind,
): SqlPart[] {
  if (counter === "none" || counter === "touch") return [];
  const windowStart = bind("windowStart", lastRequest);
  if (counter === "increment") {
    return [
      sql`${lastRequest} > ${windowStart}`,
      sql`${requestCount} < ${bind("rateLimitMax", requestCount)}`,
    ];
  }
  if (isFirstRequest) return [sql`${lastRequest} is null`];
  return [sql`${truncate(lastRequest)} <= ${windowStart}`];
}

/** A Date has milliseconds, but the column has microseconds. */
function truncate(column: AuthColumn): SqlPart {
  return sql`date_trunc('milliseconds', ${column})`;
}
