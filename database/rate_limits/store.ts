import { and, eq, getTableColumns, getTableName, gt, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";
import type {
  RateLimitDecision,
  RateLimitRule,
  RateLimitStore,
} from "../../core/rate_limit/rate_limit.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { withQueryMetrics } from "../queries/query_metrics.ts";
import { isOccError } from "../sqlstate.ts";
import { rateLimits } from "./table.ts";
import { type LimitColumns, prepareTake, type TakenRow, type TakeQuery } from "./take_statement.ts";

/** A drizzle client for PostgreSQL, of any driver and any schema. */
export type RateLimitDatabase = Pick<PgDatabase<PgQueryResultHKT>, "$with" | "with" | "update">;

/**
 * A concurrent request that counted the same key makes the distributed engine refuse the statement.
 * It is tried again up to this many times: a window has no more conflicts than its limit, because
 * refused requests write nothing.
 */
const RETRY = { maxRetries: 8, baseDelayMs: 20, maxDelayMs: 400 } as const;

type Count = readonly [key: string, rule: RateLimitRule];

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
  const queries: Map<number, TakeQuery> = new Map();

  function getQuery(size: number): TakeQuery {
    let query = queries.get(size);
    if (query === undefined) queries.set(size, query = prepareTake(db, table, columns, size));
    return query;
  }

  async function take(key: string, rule: RateLimitRule): Promise<RateLimitDecision> {
    return (await takeInOrder([[key, rule]]))[0];
  }

  async function takeInOrder(counts: readonly Count[]): Promise<RateLimitDecision[]> {
    const values = Object.assign({}, ...counts.map(toValues));
    try {
      const [row] = await withQueryMetrics(
        "takeRateLimit",
        () => getQuery(counts.length).execute(values),
        { retry: RETRY },
      );
      return readDecisions(row, counts);
    } catch (error) {
      if (!isOccError(error)) throw explainError(error, table);
      return counts.length > 1 ? await takeOneByOne(counts) : [refuseForNow(error)];
    }
  }

  /** Finds the key that conflicts, after a statement with all keys has failed. */
  async function takeOneByOne(counts: readonly Count[]): Promise<RateLimitDecision[]> {
    const decisions: RateLimitDecision[] = [];
    for (const [key, rule] of counts) {
      const decision = await take(key, rule);
      decisions.push(decision);
      if (!decision.allowed) break;
    }
    return decisions;
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

  return { take, takeInOrder, giveBack };
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

function toValues([key, { limit, windowSeconds }]: Count, at: number): Record<string, unknown> {
  return {
    [`id${at}`]: crypto.randomUUID(),
    [`key${at}`]: key,
    [`limit${at}`]: limit,
    [`windowMs${at}`]: windowSeconds * 1_000,
  };
}

function readDecisions(row: TakenRow, counts: readonly Count[]): RateLimitDecision[] {
  const decisions = counts.map(([, rule], at) => toDecision(row, at, rule));
  const refused = decisions.findIndex(({ allowed }) => !allowed);
  return refused < 0 ? decisions : decisions.slice(0, refused + 1);
}

function toDecision(
  row: TakenRow,
  at: number,
  { limit, windowSeconds }: RateLimitRule,
): RateLimitDecision {
  const count = row[`count${at}`];
  const startedMs = Number(row[`startedMs${at}`] ?? row.nowMs);
  const restMs = startedMs + windowSeconds * 1_000 - Number(row.nowMs);
  const allowed = count !== null;
  return {
    allowed,
    remaining: allowed ? Math.max(0, limit - Number(count)) : 0,
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
  const name = getTableName(table);
  if (hasSqlState(error, [UNDEFINED_TABLE])) {
    return new ConfigurationError(
      `The table ${name} does not exist: rate limits are counted in it. Add RATE_LIMIT_MIGRATION_SQL of ` +
        "@trellis/fn/database to your migrations, or run `trellis generate auth-schema`",
      { cause: error },
    );
  }
  if (hasSqlState(error, [INSUFFICIENT_PRIVILEGE])) {
    return new ConfigurationError(
      `The function's role may not use the table ${name}, in which rate limits are counted: run ` +
        "`trellis generate permissions` and apply the grants",
      { cause: error },
    );
  }
  return error;
}
