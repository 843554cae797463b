import { and, eq, getTableColumns, getTableName, gt, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";
import type {
  RateLimitDecision,
  RateLimitRule,
  RateLimitStore,
} from "../../core/rate_limit/rate_limit.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { findInCauseChain } from "../../errors/cause_chain.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { withQueryMetrics } from "../queries/query_metrics.ts";
import { isOccError } from "../sqlstate.ts";
import { rateLimits } from "./table.ts";

/** A drizzle client for PostgreSQL, of any driver and any schema. */
export type RateLimitDatabase = Pick<PgDatabase<PgQueryResultHKT>, "$with" | "with" | "update">;

/**
 * A concurrent request that counted the same key makes the distributed engine refuse the statement.
 * It is tried again up to this many times: a window has no more conflicts than its limit, because
 * refused requests write nothing.
 */
const RETRY = { maxRetries: 8, baseDelayMs: 20, maxDelayMs: 400 } as const;

/** The result of the statement. */
interface TakenRow {
  /** Requests of the window, or `null` if the request was refused. */
  count: number | null;
  /** Start of the window in milliseconds, or `null` if a concurrent request has just created it. */
  startedMs: string | null;
  /** The database's time in milliseconds. */
  nowMs: string;
}

interface TakeQuery {
  execute(values: Record<string, unknown>): Promise<TakenRow[]>;
}

interface LimitColumns {
  readonly id?: PgColumn;
  readonly key: PgColumn;
  readonly count: PgColumn;
  readonly lastRequest: PgColumn;
}

let lastQuery = 0;

/**
 * Creates a store that counts requests in a table. One statement decides each request, by the
 * database's clock: it is exact however many processes share the table. A request that is refused
 * writes nothing, so an attack on one key adds at most `limit` writes in each window.
 *
 * If concurrent requests for one key keep conflicting (on the distributed engine), the request is
 * refused for a second. An error of the database is passed on: requests are never let through
 * uncounted.
 *
 * @param db The drizzle client.
 * @param table A table with the columns of `RATE_LIMIT_COLUMNS`.
 * @returns The store.
 * @throws {ConfigurationError} If the table lacks a column.
 */
export function createRateLimitStore(
  db: RateLimitDatabase,
  table: PgTable = rateLimits,
): RateLimitStore {
  const columns = readColumns(table);
  let query: TakeQuery | undefined;

  async function take(key: string, rule: RateLimitRule): Promise<RateLimitDecision> {
    const values = {
      id: crypto.randomUUID(),
      key,
      limit: rule.limit,
      windowMs: rule.windowSeconds * 1_000,
    };
    try {
      const [row] = await withQueryMetrics("takeRateLimit", () => {
        query ??= prepareTake(db, table, columns);
        return query.execute(values);
      }, { retry: RETRY });
      return toDecision(row, rule);
    } catch (error) {
      if (isOccError(error)) return refuseForNow(error);
      throw explainError(error, table);
    }
  }

  async function giveBack(key: string, { windowStart }: RateLimitDecision): Promise<void> {
    await withQueryMetrics("giveBackRateLimit", () =>
      db.update(table)
        .set({ count: sql`${columns.count} - 1` } as Record<string, SQL>)
        .where(and(
          eq(columns.key, key),
          eq(columns.lastRequest, sql`cast(${windowStart} as bigint)`),
          gt(columns.count, 0),
        )), { retry: RETRY });
  }

  return { take, giveBack };
}

function readColumns(table: PgTable): LimitColumns {
  const columns = getTableColumns(table) as Readonly<Record<string, PgColumn | undefined>>;
  const { id, key, count, lastRequest } = columns;
  if (key === undefined || count === undefined || lastRequest === undefined) {
    throw new ConfigurationError(
      "The table of rate limits lacks key, count or lastRequest: spread RATE_LIMIT_COLUMNS of " +
        "@trellis/fn/database into it",
    );
  }
  // an id with a default of the database is left to it
  return { id: id?.hasDefault && !id.defaultFn ? undefined : id, key, count, lastRequest };
}

/**
 * Prepares the statement. The subquery `free` skips a request that is seen to be over the limit,
 * without a lock. The condition of DO UPDATE decides among concurrent requests.
 */
function prepareTake(db: RateLimitDatabase, table: PgTable, columns: LimitColumns): TakeQuery {
  const name = (column: PgColumn) => sql.identifier(getColumnName(db, column));
  const key = name(columns.key), count = name(columns.count), last = name(columns.lastRequest);
  const wanted = sql`cast(${sql.placeholder("key")} as text)`;
  const limit = sql`cast(${sql.placeholder("limit")} as integer)`;
  const windowMs = sql`cast(${sql.placeholder("windowMs")} as bigint)`;
  const now = sql`cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint)`;
  const { id } = columns;
  const idName = id === undefined ? sql`` : sql`${name(id)}, `;
  const idValue = id === undefined
    ? sql``
    : sql`cast(${sql.placeholder("id")} as ${sql.raw(id.getSQLType())}), `;
  const isOver = sql`"held".${last} <= excluded.${last} - ${windowMs}`;
  const taken = db.$with("taken", {
    count: sql<number>`"count"`.as("count"),
    startedMs: sql<string>`"started_ms"`.as("started_ms"),
  }).as(sql`
    insert into ${table} as "held" (${idName}${key}, ${count}, ${last})
    select ${idValue}${wanted}, 1, "clock"."now_ms" from (select ${now} as "now_ms") as "clock"
    where not exists (
      select 1 from ${table} as "full" where "full".${key} = ${wanted}
        and "full".${count} >= ${limit} and "full".${last} > "clock"."now_ms" - ${windowMs}
    )
    on conflict (${key}) do update set
      ${count} = case when ${isOver} then 1 else "held".${count} + 1 end,
      ${last} = case when ${isOver} then excluded.${last} else "held".${last} end
    where ${isOver} or "held".${count} < ${limit}
    returning "held".${count} as "count", "held".${last} as "started_ms"`);
  return db.with(taken).select({
    count: sql<number | null>`"taken"."count"`,
    startedMs: sql<string | null>`coalesce("taken"."started_ms", "seen".${last})`,
    nowMs: sql<string>`"clock"."now_ms"`,
  }).from(sql`(select ${now} as "now_ms") as "clock" left join "taken" on true
    left join ${table} as "seen" on "seen".${key} = ${wanted}`)
    .prepare(`trellis_take_rate_limit_${++lastQuery}`) as unknown as TakeQuery;
}

/** Returns the column's name in the database, which a client with `casing` derives. */
function getColumnName(db: RateLimitDatabase, column: PgColumn): string {
  const { dialect } = db as {
    dialect?: { casing?: { getColumnCasing(column: PgColumn): string } };
  };
  return dialect?.casing?.getColumnCasing(column) ?? column.name;
}

function toDecision(row: TakenRow, { limit, windowSeconds }: RateLimitRule): RateLimitDecision {
  const startedMs = Number(row.startedMs ?? row.nowMs);
  const restMs = startedMs + windowSeconds * 1_000 - Number(row.nowMs);
  const allowed = row.count !== null;
  return {
    allowed,
    remaining: allowed ? Math.max(0, limit - Number(row.count)) : 0,
    resetSeconds: Math.min(windowSeconds, Math.max(1, Math.ceil(restMs / 1_000))),
    windowStart: String(startedMs),
  };
}

function refuseForNow(error: unknown): RateLimitDecision {
  logWarn("A request was refused because concurrent requests count the same rate limit", { error });
  return { allowed: false, remaining: 0, resetSeconds: 1, windowStart: "0" };
}

/**
 * Checks that the table of rate limits exists and can be read.
 *
 * @param db The drizzle client.
 * @param table The table.
 * @throws {ConfigurationError} If it does not. The message says what to do. Other errors of the
 * database are ignored here.
 */
export async function checkRateLimitTable(
  db: Pick<PgDatabase<PgQueryResultHKT>, "select">,
  table: PgTable,
): Promise<void> {
  const { key } = readColumns(table);
  try {
    await db.select({ key }).from(table).limit(0);
  } catch (error) {
    const explained = explainError(error, table);
    if (explained !== error) throw explained;
  }
}

/** SQLSTATE of a missing table, and of a role without grants. */
const UNDEFINED_TABLE = "42P01", INSUFFICIENT_PRIVILEGE = "42501";

function explainError(error: unknown, table: PgTable): unknown {
  const find = (state: string) => findInCauseChain(error, (link) => getSqlState(link) === state);
  const name = getTableName(table);
  if (find(UNDEFINED_TABLE) !== undefined) {
    return new ConfigurationError(
      `The table ${name} does not exist: rate limits are counted in it. Add RATE_LIMIT_MIGRATION_SQL of ` +
        "@trellis/fn/database to your migrations, or run `trellis generate auth-schema`",
      { cause: error },
    );
  }
  if (find(INSUFFICIENT_PRIVILEGE) !== undefined) {
    return new ConfigurationError(
      `The function's role may not use the table ${name}, in which rate limits are counted: run ` +
        "`trellis generate permissions` and apply the grants",
      { cause: error },
    );
  }
  return error;
}
