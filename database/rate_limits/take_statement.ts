import { joinSql, type PlainSql, rawSql, sql } from "../session/plain_sql.ts";
import type { Column } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getColumns, getTableNames } from "../session/drizzle_table.ts";
import { columnNameSql } from "../session/column_sql.ts";
import { qualify, quoteName } from "../../sql/quote.ts";

/**
 * The result of the statement. For the first key: `count0`, the requests of the window, or `null` if the
 * request was refused; `startedMs0`, the start of the window in milliseconds, or `null` if a
 * concurrent request has just created it. The next key has `count1` and so on.
 */
export interface TakenRow extends Record<string, number | string | null> {
  readonly [field: `count${number}` | `startedMs${number}`]: number | string | null;
  /** The database's time in milliseconds. */
  readonly nowMs: string;
}

/**
 * Builds the statement that counts a request by several keys. It has one insert for each key, which
 * reads the result of the one before: so they run in this order, take their locks in this order, and
 * an insert that refuses the request leaves the following ones without a row.
 *
 * @param table The names of the table.
 * @param size Number of keys.
 * @returns The statement with the names of its values as parameters: `id0`, `key0`, `limit0` and
 * `windowMs0` for the first key.
 */
export function buildTake(table: LimitTable, size: number): PlainSql {
  const inserts: PlainSql[] = [];
  const fields: PlainSql[] = [sql`"clock"."now_ms" as "nowMs"`];
  const joins: PlainSql[] = [];
  for (let at = 0; at < size; at++) {
    const taken = rawSql(`"taken${at}"`), seen = rawSql(`"seen${at}"`);
    inserts.push(sql`${taken} as (${buildInsert(table, at)})`);
    fields.push(
      sql`${taken}."count" as ${rawSql(`"count${at}"`)}`,
      sql`coalesce(${taken}."started_ms", ${seen}.${table.lastRequest}) as ${
        rawSql(`"startedMs${at}"`)
      }`,
    );
    joins.push(sql` left join ${taken} on true
      left join ${table.table} as ${seen} on ${seen}.${table.key} = ${
      asParameter("key", at, "text")
    }`);
  }
  return sql`with ${joinSql(inserts, ", ")} select ${joinSql(fields, ", ")}
    from (select ${NOW} as "now_ms") as "clock"${joinSql(joins, "")}`;
}

const NOW = rawSql("cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint)");

/**
 * Builds the insert of one key. The subquery `full` skips a request that is seen to be over the limit,
 * without a lock. The condition of DO UPDATE decides among concurrent requests.
 */
function buildInsert(
  { table, id, key, count, lastRequest: last }: LimitTable,
  at: number,
): PlainSql {
  const wanted = asParameter("key", at, "text");
  const limit = asParameter("limit", at, "integer");
  const windowMs = asParameter("windowMs", at, "bigint");
  const idName = id === undefined ? rawSql("") : sql`${id.name}, `;
  const idValue = id === undefined ? rawSql("") : sql`${asParameter("id", at, id.type)}, `;
  const isOver = sql`"held".${last} <= excluded.${last} - ${windowMs}`;
  const isReached = rawSql(at === 0 ? "" : `exists (select 1 from "taken${at - 1}") and `);
  return sql`
    insert into ${table} as "held" (${idName}${key}, ${count}, ${last})
    select ${idValue}${wanted}, 1, "clock"."now_ms" from (select ${NOW} as "now_ms") as "clock"
    where ${isReached}not exists (
      select 1 from ${table} as "full" where "full".${key} = ${wanted}
        and "full".${count} >= ${limit} and "full".${last} > "clock"."now_ms" - ${windowMs}
    )
    on conflict (${key}) do update set
      ${count} = case when ${isOver} then 1 else "held".${count} + 1 end,
      ${last} = case when ${isOver} then excluded.${last} else "held".${last} end
    where ${isOver} or "held".${count} < ${limit}
    returning "held".${count} as "count", "held".${last} as "started_ms"`;
}

function asParameter(name: string, at: number, type: string | PlainSql): PlainSql {
  return sql`cast(${`${name}${at}`} as ${typeof type === "string" ? rawSql(type) : type})`;
}

/** The names of a table of rate limits, as SQL. */
export interface LimitTable {
  /** The table's name for messages. */
  readonly label: string;
  /** The table, with its schema. */
  readonly table: PlainSql;
  /** The primary key; `undefined` if the database fills it. */
  readonly id?: { readonly name: PlainSql; readonly type: PlainSql };
  /** The columns. */
  readonly key: PlainSql;
  readonly count: PlainSql;
  readonly lastRequest: PlainSql;
}

const DEFAULT_NAME = "rate_limits";

/**
 * Reads the names of a table.
 *
 * @param db The client, which may derive the names of columns.
 * @param table The table; by default that of `RATE_LIMIT_MIGRATION_SQL`, which is not read here, so
 * that a bundle needs no drizzle for it.
 * @throws {ConfigurationError} If the table lacks a column.
 */
export function readLimitTable(db: object, table?: PgTable): LimitTable {
  if (table === undefined) {
    const [key, count, lastRequest] = ["key", "count", "last_request"].map(toName);
    return { label: DEFAULT_NAME, table: toName(DEFAULT_NAME), key, count, lastRequest };
  }
  const columns: Readonly<Record<string, Column | undefined>> = getColumns(table);
  const { id, key, count, lastRequest } = columns;
  if (key === undefined || count === undefined || lastRequest === undefined) {
    throw new ConfigurationError(
      "The table of rate limits lacks key, count or lastRequest: spread RATE_LIMIT_COLUMNS of " +
        "@trellis/fn/database into it",
    );
  }
  const { name, schema } = getTableNames(table);
  const getName = (column: Column) => columnNameSql(db, column);
  return {
    label: name,
    table: rawSql(qualify(schema, name)),
    // an id with a default of the database is left to it
    id: id === undefined || (id.hasDefault && !id.defaultFn)
      ? undefined
      : { name: getName(id), type: rawSql(id.getSQLType()) },
    key: getName(key),
    count: getName(count),
    lastRequest: getName(lastRequest),
  };
}

function toName(name: string): PlainSql {
  return rawSql(quoteName(name));
}
