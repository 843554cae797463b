import { loadOnce } from "../../core/async/single_flight.ts";
import { sql } from "../../database/session/plain_sql.ts";
import { runSql } from "../../database/session/run_sql.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { deliverDecoy, type JobClient } from "../../jobs/enqueue.ts";
import { isMessageRoute } from "../better_auth/limited_account.ts";
import { countStatements } from "../better_auth/statement_scope.ts";

type Handler = (request: Request) => Promise<Response>;

/**
 * Largest number of statements of better-auth 1.7 by route, over addresses with and without an
 * account. Other routes send as many for all addresses.
 */
const FIRST_STATEMENTS: Readonly<Record<string, number>> = {
  "/request-password-reset": 5,
  "/send-verification-email": 2,
  "/sign-up/email": 6,
  "/change-email": 4,
  "/email-otp/send-verification-otp": 4,
  "/email-otp/request-password-reset": 4,
  "/email-otp/request-email-change": 6,
  "/forget-password/email-otp": 4,
};

/**
 * Prepares the routes that send a mail to an address of the request. Before the first one, the
 * outbox is checked, so that a missing table fails for all addresses. A request that sent fewer
 * statements than another one to its route sends empty statements before the response, and a request that
 * sent no mail hands over the id of no job: the round trips to the database and to the queue do not
 * show whether an address has an account.
 *
 * @param handler better-auth's routes.
 * @param db The client.
 * @param basePath Path below which the routes are.
 */
export function withMailRoutes(handler: Handler, db: JobClient, basePath: string): Handler {
  // hooks of the application can send further statements, so the number is observed
  const most = new Map(Object.entries(FIRST_STATEMENTS));
  const checkOnce = loadOnce(() => checkOutbox(db));

  return async function serveEvenly(request): Promise<Response> {
    const path = new URL(request.url).pathname.slice(basePath.length).replace(/\/$/, "");
    if (request.method !== "POST" || !isMessageRoute(path)) return await handler(request);
    await checkOnce();
    const { result, statements, mails } = await countStatements(() => handler(request));
    const least = most.get(path) ?? 0;
    if (statements > least) most.set(path, statements);
    for (let sent = statements; sent < least; sent++) await runSql(db, sql`select 1`);
    if (mails === 0 && isSilent(path, result)) await deliverDecoy();
    return result;
  };
}

/** Checks for a response that does not show whether a mail was sent: it neither fails nor signs in. */
function isSilent(path: string, { ok, headers }: Response): boolean {
  return Object.hasOwn(FIRST_STATEMENTS, path) && ok && headers.getSetCookie().length === 0;
}

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
