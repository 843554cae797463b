import { type PlainSql, sql } from "../../database/session/plain_sql.ts";
import { runSqlRows, type SqlClient } from "../../database/session/run_sql.ts";
import { hashToUuid } from "../../core/digest.ts";

/** Shards of the table: removing old rows reads one at a time, so that no index has a hot end. */
export const POSITION_SHARDS = 16;

/** Changed row as a consumer remembers it. */
export interface RowPosition {
  /** Hash of consumer, table and key. */
  readonly id: string;
  /** Name of the consumer. */
  readonly consumer: string;
  /** Time of the change's COMMIT. */
  readonly commitNs: bigint;
}

/**
 * Derives the id of a row's position.
 *
 * @param consumer Name of the consumer.
 * @param table Schema and name of the table.
 * @param key Values of the primary key.
 */
export function getPositionId(
  consumer: string,
  { schema, name }: { schema: string; name: string },
  key: readonly string[],
): Promise<string> {
  return hashToUuid([consumer, schema, name, ...key]);
}

/**
 * Builds the statement that moves the position of a row forward. It returns no row if the change, or
 * a later one of the same row, was handled. Its lock makes changes of one row wait for each other.
 *
 * @param position The row and the change.
 */
export function buildAdvance({ id, consumer, commitNs }: RowPosition): PlainSql {
  const shard = parseInt(id.slice(0, 2), 16) % POSITION_SHARDS;
  return sql`insert into "trellis_change_positions" as p ("id", "consumer", "shard", "commit_ns")
    values (${id}::uuid, ${consumer}::text, ${shard}::int, ${String(commitNs)}::bigint)
    on conflict ("id") do update set "commit_ns" = excluded."commit_ns"
    where p."commit_ns" < excluded."commit_ns" returning p."id"`;
}

/**
 * Checks whether a row has a position.
 *
 * @param db The client or transaction.
 * @param id The row.
 */
export async function hasPosition(db: SqlClient, id: string): Promise<boolean> {
  const rows = await runSqlRows(
    db,
    sql`select 1 as found from "trellis_change_positions" where "id" = ${id}::uuid`,
  );
  return rows.length > 0;
}

/**
 * Builds the statement that removes positions of changes that can be refused by their age alone.
 *
 * @param shard The shard.
 * @param beforeNs Time of the COMMIT.
 * @param limit Rows: far below the 3,000 of a transaction on the distributed provider.
 */
export function buildRemovePositions(shard: number, beforeNs: bigint, limit: number): PlainSql {
  const before = sql`${String(beforeNs)}::bigint`;
  return sql`delete from "trellis_change_positions" where "commit_ns" < ${before} and "id" in (
    select p."id" from "trellis_change_positions" p
    where p."shard" = ${shard}::int and p."commit_ns" < ${before} limit ${limit}) returning "id"`;
}
