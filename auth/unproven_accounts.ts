import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import type { BetterAuthOptions } from "./better_auth_types.ts";
import type { BetterAuthLibrary } from "./load_better_auth.ts";

type ValidateUserInfo = NonNullable<NonNullable<BetterAuthOptions["user"]>["validateUserInfo"]>;

/** The used exports of better-auth. */
type Library = Pick<
  BetterAuthLibrary,
  "createAuthMiddleware" | "getOAuthState" | "revokeUnprovenAccountAccess"
>;

/**
 * Gives an unverified account to the owner of its email address who signs in with a provider.
 *
 * Anyone can sign up with the email address of another person, as long as no one has verified it.
 * When the owner of the address proves it by a provider, the passwords, linked accounts and
 * sessions from before are removed. better-auth itself refuses the provider. The project's own
 * check of users runs first.
 *
 * The options of the context are replaced after the start: endpoints then use the check, and
 * better-auth's internal adapter does not. The internal adapter would refuse to create users
 * outside of endpoints if its options had a check.
 *
 * @param context The context of a started instance. Its options are replaced.
 * @param library better-auth.
 */
export function protectUnprovenAccounts(
  context: { options: BetterAuthOptions },
  library: Library,
): void {
  const { user, account } = context.options;
  context.options = {
    ...context.options,
    user: { ...user, validateUserInfo: validateLinks(user?.validateUserInfo, library) },
    account: {
      ...account,
      accountLinking: { requireLocalEmailVerified: false, ...account?.accountLinking },
    },
  };
}

/** Frees an unverified account before a provider that has verified the address is linked to it. */
function validateLinks(own: ValidateUserInfo | undefined, library: Library): ValidateUserInfo {
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
    await library.revokeUnprovenAccountAccess(context, local.id);
    return refused;
  };
}

/** Member of the endpoint's context that passes the user of a reset from one hook to the other. */
const RESET_USER = "trellisResetUser";

/**
 * Creates the plugin that gives an unverified account to the owner of its address who resets the
 * password. better-auth would leave the sessions and linked accounts from before. It does remove
 * them for magic links and one-time codes.
 *
 * A valid token or code proves the address. With a token, access is revoked before the new password
 * is set, and sessions again after it, because a sign-in with the former password may run at the
 * same time.
 */
export function createResetPlugin(library: Library): BetterAuthPlugin {
  const { createAuthMiddleware, revokeUnprovenAccountAccess } = library;
  const isReset = ({ path }: { path?: string }) =>
    path === "/reset-password" || path === "/email-otp/reset-password";

  const before = createAuthMiddleware(async (given) => {
    const context = given as GenericEndpointContext;
    const isToken = context.path === "/reset-password";
    const userId = isToken ? await findTokenUser(context) : await findOtpUser(context);
    if (userId === undefined) return;
    if (isToken) await revokeUnprovenAccountAccess(context, userId);
    return { context: { [RESET_USER]: userId } };
  });

  const after = createAuthMiddleware(async (context) => {
    const userId = (context as unknown as Record<string, unknown>)[RESET_USER];
    const { internalAdapter, returned } = context.context;
    if (typeof userId !== "string" || returned instanceof Error) return;
    for (const account of await internalAdapter.findAccounts(userId)) {
      if (account.providerId !== "credential") await internalAdapter.deleteAccount(account.id);
    }
    await internalAdapter.deleteUserSessions(userId);
  });

  return {
    id: "trellis-unproven-accounts",
    hooks: {
      before: [{ matcher: isReset, handler: before }],
      after: [{ matcher: isReset, handler: after }],
    },
  };
}

/** Returns the unverified user of a valid reset token. */
async function findTokenUser(context: GenericEndpointContext): Promise<string | undefined> {
  const token: unknown = context.body?.token || context.query?.token;
  if (typeof token !== "string") return undefined;
  const { internalAdapter } = context.context;
  const found = await internalAdapter.findVerificationValue(`reset-password:${token}`);
  if (!found || found.expiresAt <= new Date()) return undefined;
  return asUnverified(await internalAdapter.findUserById(found.value));
}

/** Returns the unverified user of a reset by one-time code, before the code is checked. */
async function findOtpUser(context: GenericEndpointContext): Promise<string | undefined> {
  const email: unknown = context.body?.email;
  if (typeof email !== "string") return undefined;
  const found = await context.context.internalAdapter.findUserByEmail(email.toLowerCase());
  return asUnverified(found?.user);
}

function asUnverified(
  user: { id: string; emailVerified: boolean } | null | undefined,
): string | undefined {
  return user && !user.emailVerified ? user.id : undefined;
}
