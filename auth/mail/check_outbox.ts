import { sql } from "../../database/session/plain_sql.ts";
import { runSql } from "../../database/session/run_sql.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { JobClient } from "../../jobs/enqueue.ts";

/** SQLSTATE of a missing table, and of a role without grants. */
const UNDEFINED_TABLE = "42P01", INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Checks that mails can be written to the table of jobs. It inserts no row.
 *
 * @param db The client.
 * @throws {ConfigurationError} If the table or the grant is missing.
 */
export async function checkOutbox(db: JobClient): Promise<void> {
  try {
    await runSql(db, sql`insert into "trellis_jobs" ("id") select null::uuid where false`);
  } catch (error) {
    if (hasSqlState(error, [UNDEFINED_TABLE])) {
      throw new ConfigurationError(
        "The table trellis_jobs does not exist: the mails of AuthConfig.mail are written to it. Add it with " +
          "`trellis db tables jobs`",
        { cause: error },
      );
    }
    if (hasSqlState(error, [INSUFFICIENT_PRIVILEGE])) {
      throw new ConfigurationError(
        "The function's role may not insert into the table trellis_jobs, which AuthConfig.mail needs: run " +
          "`trellis generate permissions` and apply the grants",
        { cause: error },
      );
    }
    throw error;
  }
}
