import { sha256 } from "../core/digest.ts";
import type { SessionResult } from "../core/http/session.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { getQuery } from "../core/http/api_event.ts";
import { encodeBase64Url } from "../core/http/base64.ts";
import { type RefusalReason, refuseCredential } from "../core/http/refuse_credential.ts";
import { checkOption } from "../core/option_rules.ts";
import { rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { quoteName } from "../sql/quote.ts";
import type { UnauthorizedError } from "../errors/http_errors.ts";
import { SUBSCRIPTION_TABLE, TICKET_PREFIX } from "./migration.ts";

/** The client that showed a ticket. */
export interface TicketIdentity {
  /** Id of the user for whom the ticket was made. */
  userId: string;
}

/** Tickets with which clients connect to a WebSocket API. Use it as the option `auth`. */
export interface ConnectionTickets extends AuthMethod<TicketIdentity> {
  /** Name of the method. */
  readonly mode: "ticket";
  /** Deletes the ticket of a handshake, and returns its user. Throws `UnauthorizedError` without a valid ticket. */
  readonly authenticate: (event: ApiEvent) => Promise<TicketIdentity>;
  /**
   * Creates a ticket for the user of a session. It is valid once, for 30 seconds. A ticket that was made before a
   * sign-out stays valid for that time.
   *
   * @param session The session, as a handler with auth `session` receives it.
   * @returns The ticket, for the query parameter `ticket` of the WebSocket URL.
   */
  createConnectionTicket(session: Pick<SessionResult, "user">): Promise<string>;
}

/** Marks tickets, so that they are kept out of logs. */
const MARK = "wst_";
const TICKET = /^wst_[\w-]{43}$/;
const LIFETIME_SECONDS = 30;
const TABLE = rawSql(quoteName(SUBSCRIPTION_TABLE));

/**
 * Creates tickets for one use. Browsers cannot send headers with a WebSocket handshake, and send cookies only to the
 * same site: a page requests a ticket from an API handler instead, and connects with it. The table of connections
 * stores the hashes of tickets; `removeExpired` of the connection store deletes those that were not used.
 *
 * @param getDb Returns the client.
 * @returns The tickets.
 *
 * @example
 * ```ts
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { createConnectionStore, createConnectionTickets } from "@trellis/fn/realtime";
 * import { defineWebSocketHandler } from "@trellis/fn/triggers";
 *
 * export const connections = createConnectionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 * export const tickets = createConnectionTickets(() => getDrizzleClient({ provider: "embedded-pg" }));
 *
 * // src/functions/api/socket-ticket.post.ts, with auth "session":
 * // return { ticket: await tickets.createConnectionTicket(session) };
 *
 * // src/functions/websocket/$connect.ts, for new WebSocket(`${url}?ticket=${ticket}`)
 * export const connect = defineWebSocketHandler({ auth: tickets })(async (params) => {
 *   if (params.eventType === "CONNECT") await connections.subscribe(params.connectionId, `user:${params.userId}`);
 * });
 * ```
 */
export function createConnectionTickets<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>): ConnectionTickets {
  async function run(name: string, statement: ReturnType<typeof sql>) {
    const db = await getDb() as DrizzleClient;
    return await withQueryMetrics(name, () => runSqlRows(db, statement));
  }

  return {
    mode: "ticket",

    async createConnectionTicket(session): Promise<string> {
      const userId = session?.user?.id;
      checkOption("session.user.id", userId, [
        (value) => typeof value === "string" && value.length >= 1 && value.length <= 200,
        "a text of 1 to 200 characters",
      ]);
      const random = crypto.getRandomValues(new Uint8Array(32));
      const ticket = MARK + encodeBase64Url(random);
      await run(
        "createConnectionTicket",
        sql`INSERT INTO ${TABLE} (topic, connection_id, expires_at) VALUES (${await toTopic(
          ticket,
        )}, ${userId}, now() + make_interval(secs => ${LIFETIME_SECONDS}::int))`,
      );
      return ticket;
    },

    async authenticate(event): Promise<TicketIdentity> {
      const [ticket, ...more] = getQuery(event).get("ticket") ?? [];
      if (ticket === undefined) throw invalidTicket("no credential");
      if (more.length > 0 || !TICKET.test(ticket)) throw invalidTicket("malformed");
      // the deletion decides: of two clients with one ticket, only one deletes the row
      const rows = await run(
        "useConnectionTicket",
        sql`DELETE FROM ${TABLE} WHERE topic = ${await toTopic(ticket)}
          RETURNING connection_id, expires_at > now() AS is_valid`,
      );
      if (rows.length !== 1) throw invalidTicket("unknown");
      if (rows[0].is_valid !== true) throw invalidTicket("expired");
      return { userId: String(rows[0].connection_id) };
    },
  };
}

function invalidTicket(reason: RefusalReason): UnauthorizedError {
  return refuseCredential(reason, "The ticket is missing, used, expired or not valid");
}

async function toTopic(ticket: string): Promise<string> {
  return TICKET_PREFIX + encodeBase64Url(await sha256(ticket));
}
