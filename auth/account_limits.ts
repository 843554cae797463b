import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { eq, getTableColumns } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { extractBearerToken } from "../core/http/bearer_token.ts";
import { getAddressPrefix } from "../core/http/ip_address.ts";
import type { RateLimitDecision, RateLimitStore } from "../core/rate_limit/rate_limit.ts";
import { refuseRequest } from "../core/rate_limit/rate_limit_headers.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { logWarn } from "../observability/logger.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import { CLIENT_ADDRESS_HEADER } from "./client_address_header.ts";
import type { AuthSettings } from "./config.ts";
import { signHmac } from "./hmac.ts";
import { findLimitedAccounts, type LimitedAccount } from "./limited_account.ts";
import type { BetterAuthLibrary } from "./load_better_auth.ts";
import type { AccountLimits } from "./rate_limit_settings.ts";
import { readSessionCookies } from "./session_cookies.ts";
import { readSessionToken } from "./session_token.ts";

/** Parts of an instance that the limits need. */
export interface AccountLimitParts {
  readonly db: AuthDatabase;
  readonly settings: AuthSettings;
  readonly limits: Required<AccountLimits>;
  readonly store: RateLimitStore;
  /** better-auth's function of that name. */
  readonly createAuthMiddleware: BetterAuthLibrary["createAuthMiddleware"];
}

/** A counted attempt, which is given back if it succeeds. */
type Counted = readonly (readonly [key: string, decision: RateLimitDecision])[];

/** A resolved account. */
interface Subject {
  /** Keyed hash of the account: rows of the table show no email address. */
  readonly hash: string;
  /** The user's column that names the account, and its value. */
  readonly match: readonly [column: PgColumn, value: string] | undefined;
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
  const counted: WeakMap<Request, Counted> = new WeakMap();
  const isRequest = (context: { request?: Request }) => context.request !== undefined;

  const before = createAuthMiddleware(async (context) => {
    const request = context.request!;
    const taken = await countRequest(parts, context as GenericEndpointContext);
    if (taken.length > 0) counted.set(request, taken);
  });

  const after = createAuthMiddleware(async (context) => {
    const taken = counted.get(context.request!);
    if (taken === undefined || isFailure(context.context.returned)) return;
    counted.delete(context.request!);
    // the sign-in has succeeded, and a failure here only leaves one attempt counted
    await Promise.all(
      taken.map(([key, decision]) =>
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

async function countRequest(
  parts: AccountLimitParts,
  context: GenericEndpointContext,
): Promise<Counted> {
  const counted: (readonly [string, RateLimitDecision])[] = [];
  const address = context.headers?.get(CLIENT_ADDRESS_HEADER) ?? "";
  for (const account of findLimitedAccounts(context.path, context.body)) {
    const subject = await resolveSubject(parts, context, account);
    if (subject === undefined) continue;
    if (account.kind === "message") await countMessage(parts, subject);
    else counted.push(...await countAttempt(parts, subject, address));
  }
  return counted;
}

async function countMessage(
  { store, limits }: AccountLimitParts,
  { hash }: Subject,
): Promise<void> {
  const decision = await store.take(`message|${hash}`, limits.messages);
  if (!decision.allowed) throw refuseRequest("account", limits.messages, decision);
}

async function countAttempt(
  { db, settings, store, limits }: AccountLimitParts,
  { hash, match }: Subject,
  address: string,
): Promise<Counted> {
  const prefix = getAddressPrefix(address);
  const ownKey = `attempt|${hash}|${prefix}`;
  const allKey = `attempt|${hash}`;
  // an attempt that is refused at its own address does not count for the others
  const [own, all] = await store.takeInOrder([
    [ownKey, limits.failuresPerAddress],
    [allKey, limits.failures],
  ]);
  if (!own.allowed) throw refuseRequest("account", limits.failuresPerAddress, own);
  if (all.allowed) return [[ownKey, own], [allKey, all]];
  if (match !== undefined && await hasSessionFrom(db, settings, match, prefix)) {
    return [[ownKey, own]];
  }
  throw refuseRequest("account", limits.failures, all);
}

async function resolveSubject(
  { settings }: AccountLimitParts,
  context: GenericEndpointContext,
  account: LimitedAccount,
): Promise<Subject | undefined> {
  const { by, value } = account;
  const columns = getTableColumns(settings.schema.user) as Record<string, PgColumn | undefined>;
  async function identify(
    column: PgColumn | undefined,
    name: string,
    id: string,
  ): Promise<Subject> {
    const hash = await signHmac(settings.secret, `${name}:${id}`);
    return { hash, match: column && [column, id] };
  }
  if (by === "session" || by === "two-factor") {
    const userId = by === "two-factor" ? await findPendingUser(context) : undefined;
    if (userId !== undefined) return identify(columns.id, "user", userId);
    const token = await readToken(context.headers, settings);
    // anyone can invent bearer tokens: a row for each would let them fill the table
    const session = token && await context.context.internalAdapter.findSession(token);
    return token && session ? identify(undefined, "session", token) : undefined;
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
  { schema: { user, session } }: AuthSettings,
  [column, value]: NonNullable<Subject["match"]>,
  prefix: string,
): Promise<boolean> {
  const rows = await withQueryMetrics(
    "findSessionAddresses",
    () =>
      db.select({ address: session.ipAddress }).from(session)
        .innerJoin(user, eq(user.id, session.userId))
        .where(eq(column, value))
        .limit(MAX_SESSIONS),
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
