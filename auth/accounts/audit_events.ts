import {
  columnSql,
  listColumns,
  ReturnedColumns,
  tableSql,
} from "../../database/session/column_sql.ts";
import { isTable } from "../../database/session/drizzle_table.ts";
import { bindSql, joinSql, type PlainSql, rawSql, sql } from "../../database/session/plain_sql.ts";
import { withQueryMetrics } from "../../database/queries/query_metrics.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuthEventKind } from "../audit/audit_record.ts";
import { type BetterAuthInstance, getInternals } from "./instance.ts";

/** An event of the audit log. */
export interface AuthEvent {
  /** Id of the row. */
  readonly id: string;
  /** What happened. */
  readonly kind: AuthEventKind;
  /** The user whom it concerns; `null` if a sign-in named no known user. */
  readonly userId: string | null;
  /** The user who caused it, if another user did and that is known. */
  readonly actorId: string | null;
  /** Client's address as the gateway saw it. */
  readonly address: string | null;
  /** The client's `User-Agent`. */
  readonly userAgent: string | null;
  /** Time of the event. */
  readonly createdAt: Date;
}

/** Filters of {@link listAuthEvents}. */
export interface AuthEventFilter {
  /** Only events of this user. */
  userId?: string;
  /** Only events of these kinds. */
  kinds?: readonly AuthEventKind[];
  /** Only events before this time: the time of the last event of a page gives the next page. */
  before?: Date;
  /**
   * Number of events, 1 to 1,000.
   * @default 100
   */
  limit?: number;
}

/**
 * Lists events of the audit log, newest first.
 *
 * @param auth The instance of {@link createAuth}, with `audit` in its configuration.
 * @param filter User, kinds and page.
 * @returns The events.
 * @throws {ConfigurationError} If the configuration has no table for events, or `limit` is invalid.
 * @throws {DatabaseError} If the database does not answer.
 */
export async function listAuthEvents(
  auth: BetterAuthInstance,
  { userId, kinds, before, limit = 100 }: AuthEventFilter = {},
): Promise<AuthEvent[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new ConfigurationError(`limit must be a whole number from 1 to 1000, got ${limit}`);
  }
  const { db, settings } = getInternals(auth);
  const table: unknown = settings.schema.authEvent;
  if (!isTable(table)) {
    throw new ConfigurationError(
      "AuthConfig.schema has no table authEvent: set audit: true and run trellis generate auth-schema",
    );
  }
  const columns = listColumns(table);
  const name = (property: keyof AuthEvent) => columnSql(db, columns[property]);
  const conditions: PlainSql[] = [];
  if (userId !== undefined) {
    conditions.push(sql`${name("userId")} = ${bindSql(userId, columns.userId)}`);
  }
  if (kinds !== undefined) {
    // no kind matches an empty list
    const list = kinds.length === 0
      ? rawSql("null")
      : joinSql(kinds.map((kind) => bindSql(kind, columns.kind)), ", ");
    conditions.push(sql`${name("kind")} in (${list})`);
  }
  if (before !== undefined) {
    conditions.push(sql`${name("createdAt")} < ${bindSql(before, columns.createdAt)}`);
  }
  const where = conditions.length === 0 ? rawSql("") : sql`where ${joinSql(conditions, " and ")} `;
  const returned = new ReturnedColumns(db, columns);
  const statement = sql`select ${returned.list} from ${tableSql(table)} ${where}order by ${
    name("createdAt")
  } desc limit ${limit}`;
  return await withQueryMetrics("listAuthEvents", () => returned.run<AuthEvent>(db, statement));
}
