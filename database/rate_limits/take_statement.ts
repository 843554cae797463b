import { type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";

/** The parts of a drizzle client that the statement needs. */
export type TakeDatabase = Pick<PgDatabase<PgQueryResultHKT>, "$with" | "with">;

/** The columns of the table. */
export interface LimitColumns {
  /** `undefined` if the database fills it. */
  readonly id?: PgColumn;
  readonly key: PgColumn;
  readonly count: PgColumn;
  readonly lastRequest: PgColumn;
}

/**
 * The result of the statement. For the first key: `count0`, the requests of the window, or `null` if the
 * request was refused; `startedMs0`, the start of the window in milliseconds, or `null` if a
 * concurrent request has just created it. The next key has `count1` and so on.
 */
export interface TakenRow {
  readonly [field: `count${number}` | `startedMs${number}`]: number | string | null;
  /** The database's time in milliseconds. */
  readonly nowMs: string;
}

/** The prepared statement. Takes `id0`, `key0`, `limit0` and `windowMs0` for the first key. */
export interface TakeQuery {
  execute(values: Record<string, unknown>): Promise<TakenRow[]>;
}

let lastQuery = 0;

/**
 * Prepares the statement that counts a request by several keys. It has one insert for each key, which
 * reads the result of the one before: so they run in this order, take their locks in this order, and
 * an insert that refuses the request leaves the following ones without a row.
 *
 * @param db The drizzle client.
 * @param table The table.
 * @param columns Its columns.
 * @param size Number of keys.
 */
export function prepareTake(
  db: TakeDatabase,
  table: PgTable,
  columns: LimitColumns,
  size: number,
): TakeQuery {
  const name = (column: PgColumn) => sql.identifier(getColumnName(db, column));
  const key = name(columns.key), last = name(columns.lastRequest);
  const inserts = Array.from({ length: size }, (_, at) =>
    db.$with(`taken${at}`, {
      count: sql<number>`"count"`.as("count"),
      startedMs: sql<string>`"started_ms"`.as("started_ms"),
    }).as(renderInsert(db, table, columns, at)));
  const fields: Record<string, SQL> = { nowMs: sql`"clock"."now_ms"` };
  let joins = sql``;
  for (let at = 0; at < size; at++) {
    const taken = sql.identifier(`taken${at}`), seen = sql.identifier(`seen${at}`);
    fields[`count${at}`] = sql`${taken}."count"`;
    fields[`startedMs${at}`] = sql`coalesce(${taken}."started_ms", ${seen}.${last})`;
    joins = sql`${joins} left join ${taken} on true
      left join ${table} as ${seen} on ${seen}.${key} = ${asParameter("key", at, "text")}`;
  }
  return db.with(...inserts).select(fields)
    .from(sql`(select ${NOW} as "now_ms") as "clock"${joins}`)
    .prepare(`trellis_take_rate_limit_${++lastQuery}`) as unknown as TakeQuery;
}

const NOW = sql`cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint)`;

/**
 * Renders the insert of one key. The subquery `full` skips a request that is seen to be over the limit,
 * without a lock. The condition of DO UPDATE decides among concurrent requests.
 */
function renderInsert(db: TakeDatabase, table: PgTable, columns: LimitColumns, at: number): SQL {
  const name = (column: PgColumn) => sql.identifier(getColumnName(db, column));
  const key = name(columns.key), count = name(columns.count), last = name(columns.lastRequest);
  const wanted = asParameter("key", at, "text");
  const limit = asParameter("limit", at, "integer");
  const windowMs = asParameter("windowMs", at, "bigint");
  const { id } = columns;
  const idName = id === undefined ? sql`` : sql`${name(id)}, `;
  const idValue = id === undefined ? sql`` : sql`${asParameter("id", at, id.getSQLType())}, `;
  const isOver = sql`"held".${last} <= excluded.${last} - ${windowMs}`;
  const isReached = at === 0
    ? sql``
    : sql`exists (select 1 from ${sql.identifier(`taken${at - 1}`)}) and `;
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

function asParameter(name: string, at: number, type: string): SQL {
  return sql`cast(${sql.placeholder(`${name}${at}`)} as ${sql.raw(type)})`;
}

/** Returns the column's name in the database, which a client with `casing` derives. */
function getColumnName(db: TakeDatabase, column: PgColumn): string {
  const { dialect } = db as {
    dialect?: { casing?: { getColumnCasing(column: PgColumn): string } };
  };
  return dialect?.casing?.getColumnCasing(column) ?? column.name;
}
