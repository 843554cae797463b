import { and, eq, getTableColumns, gt, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import type { ApiKeyTable } from "./api_key_options.ts";
import type { ApiKeyRow, CounterStep, QuotaStep, UsagePlan, UsedKey } from "./api_key_usage.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import { cacheByClient } from "./query_cache.ts";

/** Values for the placeholders of {@link UsageStatement}. Each statement reads only some of them. */
export interface UsageValues {
  /** Id of the key. */
  readonly id: string;
  readonly now: Date;
  /** Start of the window of requests that ends now. */
  readonly windowStart: Date;
  readonly rateLimitMax: number | null;
  /** Time of the last refill, as it was read. */
  readonly lastRefillAt: Date | null;
  /** Remaining requests after a refill. */
  readonly refilled: number;
}

/** A query of the key with a stored text. */
export interface KeyQuery {
  execute(values: { readonly key: string }): Promise<ApiKeyRow[]>;
}

/** An update that writes a plan if its conditions still hold. */
export interface UsageStatement {
  execute(values: UsageValues): Promise<UsedKey[]>;
}

/** The statements of a client and a table. */
export interface KeyStatements {
  readonly find: KeyQuery;
  /** Returns the update for a plan, or `undefined` if there is nothing to write. */
  getUsage(row: ApiKeyRow, plan: UsagePlan): UsageStatement | undefined;
}

/** The facts of a row and its plan on which the text of an update depends. */
interface UsageKind {
  readonly quota: QuotaStep;
  readonly counter: CounterStep;
  readonly isRefused: boolean;
  readonly isFirstRefill: boolean;
  readonly isFirstRequest: boolean;
}

let lastStatement = 0;

/** Returns the prepared statements of a client and a table. */
export const getKeyStatements: (db: AuthDatabase, table: ApiKeyTable) => KeyStatements =
  cacheByClient(function prepareStatements(db: AuthDatabase, table: ApiKeyTable) {
    const usages: Map<string, UsageStatement> = new Map();
    return {
      find: prepareFind(db, table),
      getUsage(row, plan) {
        if (isUnchanged(plan)) return undefined;
        const kind = getKind(row, plan);
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
  return db.select({
    id: table.id,
    configId: table.configId,
    name: table.name,
    referenceId: table.referenceId,
    refillInterval: table.refillInterval,
    refillAmount: table.refillAmount,
    lastRefillAt: table.lastRefillAt,
    enabled: table.enabled,
    rateLimitEnabled: table.rateLimitEnabled,
    rateLimitTimeWindow: table.rateLimitTimeWindow,
    rateLimitMax: table.rateLimitMax,
    requestCount: table.requestCount,
    remaining: table.remaining,
    lastRequest: table.lastRequest,
    expiresAt: table.expiresAt,
    createdAt: table.createdAt,
    permissions: table.permissions,
    metadata: table.metadata,
  }).from(table)
    .where(eq(table.key, sql.placeholder("key")))
    .prepare(getName("find")) as unknown as KeyQuery;
}

/** better-auth writes nothing for a request that it refuses, except its quota. */
function isUnchanged({ quota, counter, refusal }: UsagePlan): boolean {
  return refusal !== undefined && quota === "none" && counter === "none";
}

function getKind(row: ApiKeyRow, { quota, counter, refusal }: UsagePlan): UsageKind {
  return {
    quota,
    counter,
    isRefused: refusal !== undefined,
    isFirstRefill: quota === "refill" && row.lastRefillAt === null,
    isFirstRequest: counter === "start" && row.lastRequest === null,
  };
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
  return db.update(table).set(changes).where(and(...conditions)).returning({
    id: table.id,
    configId: table.configId,
    name: table.name,
    referenceId: table.referenceId,
    remaining: table.remaining,
    expiresAt: table.expiresAt,
    metadata: table.metadata,
  });
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
  // a Date has milliseconds, but the column has microseconds
  const stored = sql`date_trunc('milliseconds', ${table.lastRefillAt})`;
  return [eq(stored, bind("lastRefillAt", table.lastRefillAt))];
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
  return [
    isFirstRequest ? isNull(table.lastRequest) : lte(table.lastRequest, windowStart),
  ];
}
