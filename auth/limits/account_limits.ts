import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { extractBearerToken } from "../../core/http/bearer_token.ts";
import { getAddressPrefix } from "../../core/http/ip_address.ts";
import type { RateLimitDecision, RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import { refuseRequest } from "../../core/rate_limit/count_request.ts";
import {
  columnSql,
  listColumns,
  ReturnedColumns,
  type SqlColumn,
  tableSql,
} from "../../database/session/column_sql.ts";
import { bindSql, rawSql, sql } from "../../database/session/plain_sql.ts";
import { withQueryMetrics } from "../../database/queries/query_metrics.ts";
import { logWarn } from "../../observability/logger.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import { getClientAddressHeader } from "../better_auth/client_address_header.ts";
import type { AuthSettings } from "../config/config.ts";
import { signHmac } from "../../core/http/hmac.ts";
import { findLimitedAccounts, type LimitedAccount } from "../better_auth/limited_account.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";
import type { AccountLimits } from "../config/rate_limit_settings.ts";
import { readSessionCookies } from "../cookies/session_cookies.ts";
import { getSessionTables } from "../config/session_tables.ts";
import { readSessionToken } from "../cookies/session_token.ts";

/** Parts of an instance that the limits need. */
export interface AccountLimitParts {
  readonly db: AuthDatabase;
  readonly settings: AuthSettings;
  readonly limits: Required<AccountLimits>;
  readonly store: RateLimitStore;
  /** better-auth's function of that name. */
  readonly createAuthMiddleware: BetterAuthLibrary["createAuthMiddleware"];
}

/** A resolved account. */
interface Subject {
  /** Keyed hash of the account: rows of the table show no email address. */
  readonly hash: string;
  /** The user's column that names the account, and its value. */
  readonly match: readonly [column: SqlColumn, value: string] | undefined;
}

/** A counted attempt, which is given back if it succeeds. */
interface Attempt {
  readonly key: string;
  readonly decision: RateLimitDecision;
}

/** Codes of errors that follow a correct password. */
const AFTER_PROOF: ReadonlySet<string> = new Set(["EMAIL_NOT_VERIFIED", "BANNED_USER"]);

/**
 * Creates the better-auth plugin that limits requests by account. Attempts are counted before the
 * password is checked, so that concurrent requests cannot exceed the limit, and given back if they
 * succeed. Calls of `auth.api` without a request are not limited.
 *
 * @param parts The parts of the instance.
 */
export function createAccountLimits(parts: AccountLimitParts): BetterAuthPlugin {
  const { createAuthMiddleware, store } = parts;
  const attempts: WeakMap<Request, Attempt[]> = new WeakMap();
  const isRequest = (context: { request?: Request }) => context.request !== undefined;

  const before = createAuthMiddleware(async (given) => {
    const context = given as GenericEndpointContext;
    attempts.set(context.request!, await countRequest(parts, context));
  });

  const after = createAuthMiddleware(async (context) => {
    if (isFailure(context.context.returned)) return;
    const counted = attempts.get(context.request!) ?? [];
    await Promise.all(
      counted.map(({ key, decision }) =>
        // a failure here only leaves one attempt counted
        store.giveBack(key, decision).catch((error: unknown) =>
          logWarn("A successful attempt stays counted", { error })
        )
      ),
    );
  });

  return {
    id: "trellis-account-limits",
    hooks: {
      before: [{ matcher: isRequest, handler: before }],
      after: [{ matcher: isRequest, handler: after }],
    },
  };
}

/** Counts a request and returns its attempts. */
async function countRequest(
  parts: AccountLimitParts,
  context: GenericEndpointContext,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const account of findLimitedAccounts(context.path, context.body)) {
    const subject = await resolveSubject(parts, context, account);
    if (subject === undefined) continue;
    if (account.kind === "message") await countMessage(parts, subject);
    else attempts.push(...await countAttempt(parts, subject, context));
  }
  return attempts;
}

async function countMessage(
  { limits, store }: AccountLimitParts,
  { hash }: Subject,
): Promise<void> {
  const decision = await store.take(`message|${hash}`, limits.messages);
  if (!decision.allowed) throw refuseRequest("account", limits.messages, decision);
}

async function countAttempt(
  { db, settings, limits, store }: AccountLimitParts,
  { hash, match }: Subject,
  { headers }: GenericEndpointContext,
): Promise<Attempt[]> {
  const prefix = getAddressPrefix(headers?.get(getClientAddressHeader()) ?? "");
  const ownKey = `attempt|${hash}|${prefix}`, allKey = `attempt|${hash}`;
  // an attempt that is refused at its own address does not count for the others
  const [own, all] = await store.takeInOrder([
    [ownKey, limits.failuresPerAddress],
    [allKey, limits.failures],
  ]);
  if (!own.allowed) throw refuseRequest("account", limits.failuresPerAddress, own);
  const attempt = { key: ownKey, decision: own };
  if (all.allowed) return [attempt, { key: allKey, decision: all }];
  if (match !== undefined && await hasSessionFrom(db, settings, match, prefix)) return [attempt];
  throw refuseRequest("account", limits.failures, all);
}

async function resolveSubject(
  { settings }: AccountLimitParts,
  context: GenericEndpointContext,
  account: LimitedAccount,
): Promise<Subject | undefined> {
  const { by, value } = account;
  const columns = listColumns(getSessionTables(settings.schema).user);
  async function identify(
    column: SqlColumn | undefined,
    name: string,
    id: string,
  ): Promise<Subject> {
    const hash = await signHmac(settings.secret, `${name}:${id}`);
    return { hash, match: column && [column, id] };
  }
  if (by === "session" || by === "two-factor") {
    const token = await readToken(context.headers, settings);
    // anyone can invent bearer tokens: a row for each would let them fill the table
    const session = token && await context.context.internalAdapter.findSession(token);
    if (by === "session") {
      return token && session ? identify(undefined, "session", token) : undefined;
    }
    // the plugin checks the code of the session's user, even if another cookie contains an unfinished sign-in
    const userId = session ? session.user.id : await findPendingUser(context);
    return userId === undefined ? undefined : identify(columns.id, "user", userId);
  }
  const name = by === "newEmail" ? "email" : by;
  return identify(columns[name], name, by === "username" ? toUsername(context, value!) : value!);
}

/** Applies the username plugin's own normalization, if it has one. */
function toUsername(context: GenericEndpointContext, value: string): string {
  const plugin = context.context.options.plugins?.find(({ id }) => id === "username");
  const normalize = (plugin?.options as { usernameNormalization?: unknown } | undefined)
    ?.usernameNormalization;
  return typeof normalize === "function" ? String(normalize(value)) : value;
}

/** Returns the user whose sign-in waits for the second factor. */
async function findPendingUser(context: GenericEndpointContext): Promise<string | undefined> {
  const { createAuthCookie, secret, internalAdapter } = context.context;
  const pending = await context.getSignedCookie(createAuthCookie("two_factor").name, secret);
  if (!pending) return undefined;
  return (await internalAdapter.findVerificationValue(pending))?.value;
}

async function readToken(
  headers: Headers | undefined,
  { sessionCookie, secret }: AuthSettings,
): Promise<string | undefined> {
  const bearer = extractBearerToken(headers?.get("authorization"));
  if (bearer !== null) return await readSessionToken(bearer, secret);
  return (await readSessionCookies(headers?.get("cookie") ?? null, sessionCookie, secret))[0];
}

/** Most sessions of one user that are compared. */
const MAX_SESSIONS = 200;

/** Checks whether the account has a session that began at the address. */
async function hasSessionFrom(
  db: AuthDatabase,
  { schema }: AuthSettings,
  [column, value]: NonNullable<Subject["match"]>,
  prefix: string,
): Promise<boolean> {
  const { session, user } = getSessionTables(schema);
  const returned = new ReturnedColumns(db, { address: session.ipAddress });
  const statement = sql`select ${returned.list} from ${tableSql(session)}
    inner join ${tableSql(user)} on ${columnSql(db, user.id)} = ${columnSql(db, session.userId)}
    where ${columnSql(db, column)} = ${bindSql(value, column)} limit ${rawSql(`${MAX_SESSIONS}`)}`;
  const rows = await withQueryMetrics(
    "findSessionAddresses",
    () => returned.run<{ address: string | null }>(db, statement),
  );
  return rows.some(({ address }) => address && getAddressPrefix(address) === prefix);
}

/** Checks for an error that follows a wrong password or code. */
function isFailure(returned: unknown): boolean {
  const { statusCode, body } = Object(returned) as {
    statusCode?: number;
    body?: { code?: string };
  };
  const isError = returned instanceof Error && statusCode !== undefined && statusCode >= 400;
  return isError && !AFTER_PROOF.has(body?.code ?? "");
}
