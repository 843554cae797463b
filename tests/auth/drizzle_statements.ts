/** The statements of sessions and API keys by drizzle's builders, to compare those of the package with. */
import { and, eq, gt, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { API_KEY_COLUMNS } from "../../auth/keys/api_key_options.ts";
import type { ApiKeyUse } from "../../auth/keys/api_key_statements.ts";
import { COLUMN_NAMES } from "../../auth/config/session_tables.ts";
import { getColumns } from "../../database/session/drizzle_table.ts";
import type { DrizzleClient } from "../../database/mod.ts";

type Table = PgTable & Record<string, PgColumn>;

/** The tables of an application, and the columns that are not returned. */
export interface SessionWorld {
  readonly user: Table;
  readonly session: Table;
  readonly organization: Table;
  readonly member: Table;
  readonly hidden: readonly string[];
}

function findAdded(table: Table, model: "user" | "session", hidden: readonly string[]) {
  const added = Object.entries(getColumns(table)).filter(([name]) =>
    !COLUMN_NAMES[model].includes(name) && !hidden.includes(name)
  );
  return added.length === 0 ? undefined : Object.fromEntries(added) as Record<string, PgColumn>;
}

/** Reads a session with its user, and its organization with the membership. */
export async function findSession(
  db: DrizzleClient,
  { user, session, organization, member, hidden }: SessionWorld,
  token: string,
  withOrganization: boolean,
): Promise<unknown[]> {
  const userFields = findAdded(user, "user", hidden);
  const sessionFields = findAdded(session, "session", hidden);
  const { id, name, slug } = organization;
  const query = db.select({
    id: session.id,
    token: session.token,
    expiresAt: session.expiresAt,
    userId: user.id,
    email: user.email,
    name: user.name,
    image: user.image,
    emailVerified: user.emailVerified,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    ...(session.impersonatedBy && { impersonatedBy: session.impersonatedBy }),
    ...(user.banned && user.banReason && { banned: user.banned }),
    ...(userFields && { userFields }),
    ...(sessionFields && { sessionFields }),
    ...(withOrganization && {
      joined: { id, name, slug, memberId: member.id, role: member.role },
    }),
  }).from(session).innerJoin(user, eq(user.id, session.userId)).$dynamic();
  if (withOrganization) {
    query.leftJoin(organization, equals(id, session.activeOrganizationId));
    query.leftJoin(
      member,
      and(equals(member.organizationId, id), equals(member.userId, user.id))!,
    );
  }
  return await query.where(eq(session.token, token));
}

/** Compares ids whose types may differ. */
function equals(left: PgColumn, right: PgColumn): SQL {
  const [type, other] = [left.getSQLType(), right.getSQLType()];
  const isText = (each: string) => each === "text" || each === "varchar";
  if (type === other || (isText(type) && isText(other))) return eq(left, right);
  if (!isText(other)) return sql`${left} = ${right}::${sql.raw(type)}`;
  return type === "uuid"
    ? sql`${left} = case when ${right} ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then ${right}::uuid end`
    : sql`${left} = case when ${right} ~ '^[0-9]{1,18}$' then ${right}::bigint end`;
}

/** Ends a session. */
export async function endSession(db: DrizzleClient, session: Table, token: string, now: Date) {
  return await db.update(session).set({ expiresAt: now, updatedAt: now })
    .where(and(eq(session.token, token), gt(session.expiresAt, now)))
    .returning({ id: session.id });
}

/** Extends a session. */
export async function extendSession(
  db: DrizzleClient,
  session: Table,
  token: string,
  found: Date,
  changes: { readonly expiresAt: Date; readonly updatedAt: Date },
) {
  const isUnchanged = eq(truncate(session.expiresAt), sql.param(found, session.expiresAt));
  return await db.update(session).set(changes).where(and(eq(session.token, token), isUnchanged))
    .returning({ expiresAt: session.expiresAt });
}

function truncate(column: PgColumn): SQL {
  return sql`date_trunc('milliseconds', ${column})`;
}

function pick(table: Table, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, table[name]]));
}

/** Reads a key with its user. */
export async function findKey(db: DrizzleClient, table: Table, user: Table, key: string) {
  const { banned, banReason } = user;
  return await db.select({
    ...pick(table, API_KEY_COLUMNS.filter((name) => name !== "key" && name !== "updatedAt")),
    user: { id: user.id, ...(banned && banReason && { banned }) },
  }).from(table).leftJoin(user, equals(user.id, table.referenceId)).where(eq(table.key, key));
}

/** Writes the use of a key. */
export async function useKey(db: DrizzleClient, table: Table, { row, plan, now }: ApiKeyUse) {
  const { quota, counter, refusal } = plan;
  const { remaining, lastRefillAt, lastRequest, requestCount } = table;
  const conditions = [eq(table.id, row.id), sql`${table.enabled} is not false`];
  if (quota === "decrement") conditions.push(gt(remaining, 0));
  if (quota === "refill") {
    conditions.push(
      row.lastRefillAt === null
        ? isNull(lastRefillAt)
        : eq(truncate(lastRefillAt), sql.param(row.lastRefillAt, lastRefillAt)),
    );
  }
  const start = new Date(now.getTime() - (row.rateLimitTimeWindow ?? 0));
  if (counter === "increment") {
    conditions.push(gt(lastRequest, start), lt(requestCount, row.rateLimitMax));
  }
  if (counter === "start") {
    conditions.push(
      row.lastRequest === null
        ? isNull(lastRequest)
        : lte(truncate(lastRequest), sql.param(start, lastRequest)),
    );
  }
  return await db.update(table).set({
    ...(refusal === undefined && { updatedAt: now }),
    ...(quota === "decrement" && { remaining: sql`${remaining} - 1` }),
    ...(quota === "refill" && { remaining: (row.refillAmount ?? 1) - 1, lastRefillAt: now }),
    ...(counter !== "none" && { lastRequest: now }),
    ...(counter === "increment" && { requestCount: sql`${requestCount} + 1` }),
    ...(counter === "start" && { requestCount: 1 }),
  }).where(and(...conditions)).returning(
    pick(table, [
      "id",
      "configId",
      "name",
      "referenceId",
      "remaining",
      "expiresAt",
      "metadata",
    ]),
  );
}
