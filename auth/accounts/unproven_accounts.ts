import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { UnexpectedError } from "../../errors/http_errors.ts";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import { canFreeAccounts, freeAccount, isFromBeforeProof } from "./free_account.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";
import type { AuthSchema } from "../config/session_tables.ts";

type ValidateUserInfo = NonNullable<NonNullable<BetterAuthOptions["user"]>["validateUserInfo"]>;

/** The used exports of better-auth. */
type Library = Pick<
  BetterAuthLibrary,
  "createAuthMiddleware" | "getOAuthState" | "revokeUnprovenAccountAccess"
>;

/** What is used of the context of a started instance. */
interface StartedContext {
  options: BetterAuthOptions;
  readonly internalAdapter: Pick<
    GenericEndpointContext["context"]["internalAdapter"],
    "deleteSessions" | "deleteUserSessions" | "listSessions" | "updateUser"
  >;
}

type CookieCache = NonNullable<NonNullable<BetterAuthOptions["session"]>["cookieCache"]>;

/**
 * Gives an unverified account to the owner of its email address who signs in with a provider.
 *
 * Anyone can sign up with the email address of another person, as long as no one has verified it.
 * When the owner of the address proves it by a provider, every access from before is removed.
 * better-auth itself refuses the provider, and so does an instance that cannot prove that it removes
 * every access. The project's own check of users runs first.
 *
 * The options of the context are replaced after the start: endpoints then use the check, and
 * better-auth's internal adapter does not. The internal adapter would refuse to create users
 * outside of endpoints if its options had a check.
 *
 * @param context The context of a started instance. Its options are replaced.
 * @param library better-auth.
 * @param schema Drizzle's tables by model.
 */
export function protectUnprovenAccounts(
  context: StartedContext,
  library: Library,
  schema: AuthSchema,
): void {
  const { user, account, session } = context.options;
  const cache = session?.cookieCache;
  context.options = {
    ...context.options,
    user: { ...user, validateUserInfo: validateLinks(user?.validateUserInfo, library, schema) },
    account: {
      ...account,
      accountLinking: {
        requireLocalEmailVerified: !canFreeAccounts(context.options),
        ...account?.accountLinking,
      },
    },
    session: { ...session, ...cache && { cookieCache: readUnverifiedSessions(cache) } },
  };
  nameUpdatedUsers(context.internalAdapter);
  if (context.options.secondaryStorage === undefined) {
    deleteSessionsInParts(context.internalAdapter);
  }
}

/**
 * Makes a cookie cache serve verified users only: a cached session would outlive its deletion. The
 * version of the cached session of an unverified user never matches.
 */
function readUnverifiedSessions(cache: CookieCache): CookieCache {
  const { version = "1" } = cache;
  return {
    ...cache,
    version: async (session, user) => {
      if (!user.emailVerified) return crypto.randomUUID();
      return typeof version === "function" ? await version(session, user) : version;
    },
  };
}

/** Member of the changes of a user that passes the user's id to the hook, which is not given it. */
const USER_ID = Symbol("userId");

/** Adds the id of the user to changes. The adapter of the database leaves the symbol out. */
function nameUpdatedUsers(adapter: StartedContext["internalAdapter"]): void {
  const { updateUser } = adapter;
  adapter.updateUser = (userId, data) => updateUser(userId, { ...data, [USER_ID]: userId });
}

/** Sessions that one statement may delete with all of a user's; better-auth lists up to 100 at once. */
const SESSIONS_AT_ONCE = 50;

/**
 * Makes better-auth delete many sessions of a user in several statements: an attacker can add any number of them, and a
 * transaction of Aurora DSQL changes up to 3,000 rows.
 */
function deleteSessionsInParts(adapter: StartedContext["internalAdapter"]): void {
  const { deleteUserSessions } = adapter;
  adapter.deleteUserSessions = async (userId) => {
    const asked = new Set<string>();
    for (;;) {
      const tokens = (await adapter.listSessions(userId)).map(({ token }) => token);
      // a hook of the application may keep sessions
      if (tokens.length <= SESSIONS_AT_ONCE || tokens.every((token) => asked.has(token))) break;
      await adapter.deleteSessions(tokens);
      for (const token of tokens) asked.add(token);
    }
    await deleteUserSessions(userId);
  };
}

/** Frees an unverified account before a provider that has verified the address is linked to it. */
function validateLinks(
  own: ValidateUserInfo | undefined,
  library: Library,
  schema: AuthSchema,
): ValidateUserInfo {
  return async function validateUserInfo(data, context) {
    const refused = await own?.(data, context);
    if (refused?.error || data.source.action !== "link-account") return refused;
    // a user who links a provider to their own account is signed in
    if (context.path === "/link-social" || (await library.getOAuthState())?.link) return refused;
    const { id, emailVerified } = data.user;
    const local = id === undefined ? null : await context.context.internalAdapter.findUserById(id);
    if (local === null || local.emailVerified) return refused;
    if (emailVerified !== true) {
      return { error: "account_not_linked", errorDescription: "The email address is not verified" };
    }
    await freeAccount(context, local, schema);
    await library.revokeUnprovenAccountAccess(context, local.id);
    return refused;
  };
}

const TOKEN_RESET = "/reset-password";
const OTP_RESET = "/email-otp/reset-password";

/** Member of the endpoint's context that passes the user of a reset from one hook to the other. */
const RESET_USER = "trellisResetUser";

/** Routes on which a mail proves an address, and on which better-auth then verifies the user. */
const MAIL_PROOFS: readonly string[] = [
  "/magic-link/verify",
  "/sign-in/email-otp",
  OTP_RESET,
];

/**
 * Creates the plugin that gives an unverified account to the owner of its address who resets the
 * password, follows a magic link or enters a one-time code. better-auth would leave the rows of
 * plugins, and on a reset the sessions and linked accounts, too.
 *
 * With a magic link or a code, access is removed before better-auth verifies the user. With a token,
 * it is removed before the new password is set, and sessions again after it, because a sign-in with
 * the former password may run at the same time.
 */
export function createResetPlugin(library: Library, schema: AuthSchema): BetterAuthPlugin {
  const { createAuthMiddleware, revokeUnprovenAccountAccess } = library;

  /** Frees the account of a user whom better-auth is about to verify. */
  async function freeUpdated(context: GenericEndpointContext, userId = ""): Promise<void> {
    const user = await context.context.internalAdapter.findUserById(userId);
    if (user === null) throw new UnexpectedError("The user whose address is proven is unknown");
    if (user.emailVerified) return;
    await freeAccount(context, user, schema, context.path === OTP_RESET);
  }

  const isReset = ({ path }: { path?: string }) => path === TOKEN_RESET || path === OTP_RESET;

  const before = createAuthMiddleware(async (given) => {
    const context = given as GenericEndpointContext;
    if (context.path === OTP_RESET) {
      return { context: { [RESET_USER]: await findOtpUser(context) } };
    }
    const reset = await findReset(context);
    if (reset === undefined) return;
    await freeAccount(context, reset.user, schema);
    await revokeUnprovenAccountAccess(context, reset.user.id);
    // was removed as well
    await context.context.internalAdapter.createVerificationValue(reset.verification);
    return { context: { [RESET_USER]: reset.user.id } };
  });

  const after = createAuthMiddleware(async (context) => {
    const userId = (context as Record<string, unknown>)[RESET_USER];
    const { internalAdapter, returned } = context.context;
    if (typeof userId !== "string" || returned instanceof Error) return;
    await internalAdapter.deleteUserSessions(userId);
  });

  const refuseOldLinks = createAuthMiddleware(async (given) => {
    const context = given as GenericEndpointContext;
    const token: unknown = context.query?.token;
    if (typeof token !== "string" || !await isFromBeforeProof(context, token)) return;
    // better-auth answers as for any invalid token
    return { context: { query: { ...context.query, token: "" } } };
  });

  return {
    id: "trellis-unproven-accounts",
    hooks: {
      before: [
        { matcher: isReset, handler: before },
        { matcher: ({ path }) => path === "/verify-email", handler: refuseOldLinks },
      ],
      after: [{ matcher: isReset, handler: after }],
    },
    init: () => ({
      options: {
        databaseHooks: {
          user: {
            update: {
              async before(changes, given) {
                const context = given as GenericEndpointContext | null;
                if (!changes.emailVerified || !MAIL_PROOFS.includes(context?.path ?? "")) return;
                await freeUpdated(context!, (changes as { [USER_ID]?: string })[USER_ID]);
              },
            },
          },
        },
      },
    }),
  };
}

/** Finds the unverified user of a valid reset token, and its row. */
async function findReset(context: GenericEndpointContext) {
  const token: unknown = context.body?.token || context.query?.token;
  if (typeof token !== "string") return undefined;
  const { internalAdapter } = context.context;
  const identifier = `reset-password:${token}`;
  const found = await internalAdapter.findVerificationValue(identifier);
  if (!found || found.expiresAt <= new Date()) return undefined;
  const user = await internalAdapter.findUserById(found.value);
  if (user === null || user.emailVerified) return undefined;
  const { value, expiresAt } = found;
  return { user, verification: { identifier, value, expiresAt } };
}

/** Returns the unverified user of a reset by one-time code, before the code is checked. */
async function findOtpUser(context: GenericEndpointContext): Promise<string | undefined> {
  const email: unknown = context.body?.email;
  if (typeof email !== "string") return undefined;
  const found = await context.context.internalAdapter.findUserByEmail(email.toLowerCase());
  return found && !found.user.emailVerified ? found.user.id : undefined;
}
