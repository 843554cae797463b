import {
  columnSql,
  equalsSql,
  type Fields,
  listColumns,
  ReturnedColumns,
  type SqlColumn,
  tableSql,
  updateSql,
} from "../../database/session/column_sql.ts";
import { bindSql, type PlainSql, sql, type SqlValue } from "../../database/session/plain_sql.ts";
import { API_KEY_COLUMNS, type ApiKeySettings, type ApiKeyTable } from "./api_key_options.ts";
import type { ApiKeyRow, UsagePlan, UsedKey } from "./api_key_usage.ts";
import { type BanColumns, findBanColumns } from "../config/ban.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import { cacheByClient } from "../sessions/session_statements.ts";

/** A stored key with its owner. */
export interface OwnedApiKeyRow extends ApiKeyRow {
  /** The user whose id is the key's `referenceId`. */
  readonly user?: Partial<BanColumns<unknown>> & { readonly id: unknown };
  /** The organization whose id is the key's `referenceId`. */
  readonly organization?: { readonly id: unknown };
}

const FOUND_COLUMNS = API_KEY_COLUMNS.filter((name) => name !== "key" && name !== "updatedAt");

const USED_COLUMNS = [
  "id",
  "configId",
  "name",
  "referenceId",
  "remaining",
  "expiresAt",
  "metadata",
] as const satisfies readonly (keyof UsedKey)[];

/**
 * Finds the key with a stored text, and its owner.
 *
 * @param db The client.
 * @param settings The tables.
 * @param key The stored text.
 */
export function findApiKey(
  db: AuthDatabase,
  settings: ApiKeySettings,
  key: string,
): Promise<OwnedApiKeyRow[]> {
  return getFind(db, settings)(db, key);
}

const getFind = /* @__PURE__ */ cacheByClient(writeFind);

function writeFind(
  db: AuthDatabase,
  { table, owners }: ApiKeySettings,
): (db: AuthDatabase, key: string) => Promise<OwnedApiKeyRow[]> {
  const { user, organization } = owners;
  const returned = new ReturnedColumns(db, {
    ...pick(table, FOUND_COLUMNS),
    ...(user && { user: { id: user.id, ...findBanColumns(user) } }),
    ...(organization && { organization: { id: organization.id } }),
  });
  let statement = sql`select ${returned.list} from ${tableSql(table)}`;
  for (const owner of [user, organization]) {
    if (owner === undefined) continue;
    const isOwner = equalsSql(db, owner.id, table.referenceId);
    statement = sql`${statement} left join ${tableSql(owner)} on ${isOwner}`;
  }
  statement = sql`${statement} where ${columnSql(db, table.key)} = ${bindSql("", table.key)}`;
  return function find(db, key) {
    const value = table.key.mapToDriverValue(key) as SqlValue;
    return returned.run(db, statement.with([value]), "trellis_find_api_key");
  };
}

/** When and how a key is used. */
export interface ApiKeyUse {
  /** The key as stored before this use. */
  readonly row: ApiKeyRow;
  readonly plan: UsagePlan;
  readonly now: Date;
}

/**
 * Checks whether a plan changes the key: better-auth writes nothing for a request that it refuses,
 * except its quota.
 */
export function changesKey({ quota, counter, refusal }: UsagePlan): boolean {
  return refusal === undefined || quota !== "none" || counter !== "none";
}

/**
 * Writes a plan if its conditions still hold.
 *
 * @param db The client.
 * @param settings The tables.
 * @param use The plan.
 * @returns The changed row, none if another request was faster.
 */
export function writeApiKeyUse(
  db: AuthDatabase,
  { table }: ApiKeySettings,
  use: ApiKeyUse,
): Promise<UsedKey[]> {
  const returned = new ReturnedColumns(db, pick(table, USED_COLUMNS));
  const name = (column: SqlColumn) => columnSql(db, column);
  const update = updateSql(db, {
    table,
    changes: getChanges(table, name, use),
    where: [
      sql`${name(table.id)} = ${bindSql(use.row.id, table.id)}`,
      sql`${name(table.enabled)} is not false`,
      ...getQuotaConditions(table, name, use),
      ...getCounterConditions(table, name, use),
    ],
    returning: returned.list,
  });
  return returned.run(db, update, "trellis_use_api_key");
}

function pick<Name extends string>(table: object, names: readonly Name[]): Fields {
  const columns = listColumns(table);
  return Object.fromEntries(names.map((name) => [name, columns[name]]));
}

type WriteName = (column: SqlColumn) => PlainSql;

function getChanges(
  { remaining, requestCount }: ApiKeyTable,
  name: WriteName,
  { row, plan: { quota, counter, refusal }, now }: ApiKeyUse,
): Record<string, unknown> {
  return {
    // better-auth does not set it for a request that it refuses
    ...(refusal === undefined && { updatedAt: now }),
    ...(quota === "decrement" && { remaining: sql`${name(remaining)} - 1` }),
    ...(quota === "refill" && { remaining: (row.refillAmount ?? 1) - 1, lastRefillAt: now }),
    ...(counter !== "none" && { lastRequest: now }),
    ...(counter === "increment" && { requestCount: sql`${name(requestCount)} + 1` }),
    ...(counter === "start" && { requestCount: 1 }),
  };
}

function getQuotaConditions(
  { remaining, lastRefillAt }: ApiKeyTable,
  name: WriteName,
  { row, plan: { quota } }: ApiKeyUse,
): PlainSql[] {
  if (quota === "none") return [];
  if (quota === "decrement") return [sql`${name(remaining)} > ${bindSql(0, remaining)}`];
  if (row.lastRefillAt === null) return [sql`${name(lastRefillAt)} is null`];
  return [sql`${truncate(name(lastRefillAt))} = ${bindSql(row.lastRefillAt, lastRefillAt)}`];
}

function getCounterConditions(
  { lastRequest, requestCount }: ApiKeyTable,
  name: WriteName,
  { row, plan: { counter }, now }: ApiKeyUse,
): PlainSql[] {
  if (counter === "none" || counter === "touch") return [];
  // the window of requests that ends now
  const startMs = now.getTime() - (row.rateLimitTimeWindow ?? 0);
  const windowStart = bindSql(new Date(startMs), lastRequest);
  if (counter === "increment") {
    return [
      sql`${name(lastRequest)} > ${windowStart}`,
      sql`${name(requestCount)} < ${bindSql(row.rateLimitMax, requestCount)}`,
    ];
  }
  if (row.lastRequest === null) return [sql`${name(lastRequest)} is null`];
  return [sql`${truncate(name(lastRequest))} <= ${windowStart}`];
}

/** A Date has milliseconds, but the column has microseconds. */
function truncate(column: PlainSql): PlainSql {
  return sql`date_trunc('milliseconds', ${column})`;
}
