import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import { isDue } from "./claim.ts";
import { JOB_SHARDS } from "./job_row.ts";
import { sqlIn, sqlNow } from "./sql_time.ts";

/**
 * Builds the statement that takes due jobs for delivery, so that no other relay delivers them before
 * `graceSeconds` have passed. A job whose worker died is free again.
 *
 * @param first Shard to begin with.
 * @param before True for the shards before it.
 * @param limit Maximum number of jobs.
 * @param graceSeconds Time until the next delivery.
 * @param clock Clock of a test.
 */
export function buildTakeDue(
  { first, before, limit, graceSeconds, clock }: {
    first: number;
    before: boolean;
    limit: number;
    graceSeconds: number;
    clock: Clock | undefined;
  },
): PlainSql {
  return sql`with due as (
    select j."id" from "trellis_jobs" j where ${isDue(first, before, clock)}
    limit ${limit} for update skip locked
  ) update "trellis_jobs" t set "state" = 'queued', "due_at" = ${sqlIn(clock, graceSeconds)}
  from due where t."id" = due."id"
  returning t."id", t."name", t."group_key", t."correlation_id"`;
}

/**
 * Builds the statement that removes finished jobs whose time is over.
 *
 * @param limit Maximum number of rows: far below the 3,000 rows of a transaction on the distributed
 * provider.
 * @param clock Clock of a test.
 */
export function buildRemoveOld(limit: number, clock: Clock | undefined): PlainSql {
  return sql`delete from "trellis_jobs" where "id" in (
    select j."id" from "trellis_jobs" j where j."shard" >= 0 and j."due_at" <= ${sqlNow(clock)}
      and j."state" in ('done', 'cancelled') limit ${limit})`;
}

const SHARDS: readonly number[] = Array.from({ length: JOB_SHARDS }, (_, shard) => shard);

/** Rows of each shard that count for the age: those that were due first. */
const SAMPLED = 100;

/**
 * Builds the statement that reads how long the oldest job has been waiting, in seconds, and how many
 * jobs are dead.
 *
 * @param clock Clock of a test.
 */
export function buildGauges(clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  const limit = rawSql(String(SAMPLED));
  const oldest = SHARDS.map((shard) =>
    sql`(select min(o."run_at") from (select j."run_at" from "trellis_jobs" j
    where j."shard" = ${rawSql(String(shard))} and j."due_at" is not null
    and j."state" in ('queued', 'running') order by j."due_at" limit ${limit}) o
    where o."run_at" <= ${now})`
  );
  const shards = rawSql(SHARDS.join(", "));
  return sql`select extract(epoch from ${now} - least(${joinSql(oldest, ", ")}))
    as oldest_seconds, (select count(*) from "trellis_jobs"
    where "shard" in (${shards}) and "due_at" is null and "state" = 'dead') as dead`;
}
