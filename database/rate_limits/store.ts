import type { SQL } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type {
  RateLimitDecision,
  RateLimitRule,
  RateLimitStore,
} from "../../core/rate_limit/rate_limit.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { type PlainSql, sql, type SqlValue } from "../session/plain_sql.ts";
import { withQueryMetrics } from "../queries/query_metrics.ts";
import { runSql, runSqlRows } from "../session/run_sql.ts";
import { isOccError } from "../../sql/sqlstate.ts";
import { buildTake, type LimitTable, readLimitTable, type TakenRow } from "./take_statement.ts";

/** A drizzle client for PostgreSQL, of any driver and any schema. */
export interface RateLimitDatabase {
  /** Runs a statement. */
  execute(query: SQL): PromiseLike<unknown>;
}

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
 * @param table A table with the columns of `RATE_LIMIT_COLUMNS`; by default `rate_limits`.
 * @returns The store.
 * @throws {ConfigurationError} If the table lacks a column.
 */
export function createRateLimitStore(db: RateLimitDatabase, table?: PgTable): RateLimitStore {
  const names = readLimitTable(db, table);
  const statements: Map<number, PlainSql> = new Map();

  function getStatement(counts: readonly Count[]): PlainSql {
    const size = counts.length;
    let statement = statements.get(size);
    if (statement === undefined) statements.set(size, statement = buildTake(names, size));
    const values: Record<string, SqlValue> = Object.assign({}, ...counts.map(toValues));
    return statement.with(statement.params.map((name) => values[name as string]));
  }

  async function take(key: string, rule: RateLimitRule): Promise<RateLimitDecision> {
    return (await takeInOrder([[key, rule]]))[0];
  }

  async function takeInOrder(counts: readonly Count[]): Promise<RateLimitDecision[]> {
    const statement = getStatement(counts);
    try {
      const [row] = await withQueryMetrics(
        "takeRateLimit",
        () => runSqlRows<TakenRow>(db, statement, "trellis_take_rate_limit"),
        { retry: RETRY },
      );
      return readDecisions(row, counts);
    } catch (error) {
      if (!isOccError(error)) throw explainError(error, names);
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
    const { count } = names;
    const statement =
      sql`update ${names.table} set ${count} = ${count} - 1 where ${names.key} = ${key}
      and ${names.lastRequest} = cast(${windowStart} as bigint) and ${count} > 0`;
    await withQueryMetrics("giveBackRateLimit", async () => await runSql(db, statement), {
      retry: RETRY,
    });
  }

  return { take, takeInOrder, giveBack };
}

function toValues([key, { limit, windowSeconds }]: Count, at: number): Record<string, SqlValue> {
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
 * @param command The command that creates the table, which the message names.
 * @throws {ConfigurationError} If it does not. The message says what to do. Other errors of the
 * database are ignored here.
 */
export async function checkRateLimitTable(
  db: RateLimitDatabase,
  table: PgTable,
  command: string,
): Promise<void> {
  const names = readLimitTable(db, table);
  try {
    await runSql(db, sql`select ${names.key} from ${names.table} limit 0`);
  } catch (error) {
    const explained = explainError(error, names, command);
    if (explained !== error) throw explained;
  }
}

/** SQLSTATE of a missing table, and of a role without grants. */
const UNDEFINED_TABLE = "42P01", INSUFFICIENT_PRIVILEGE = "42501";

function explainError(
  error: unknown,
  { label }: LimitTable,
  command = "trellis db tables rate-limits",
): unknown {
  if (hasSqlState(error, [UNDEFINED_TABLE])) {
    return new ConfigurationError(
      `The table ${label} does not exist: rate limits are counted in it. Run \`${command}\`, and apply ` +
        "the migration",
      { cause: error },
    );
  }
  if (hasSqlState(error, [INSUFFICIENT_PRIVILEGE])) {
    return new ConfigurationError(
      `The function's role may not use the table ${label}, in which rate limits are counted: run ` +
        "`trellis generate permissions` and apply the grants",
      { cause: error },
    );
  }
  return error;
}
