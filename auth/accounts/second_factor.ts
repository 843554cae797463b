import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { decodeBase64 } from "../../core/http/base64.ts";
import { signHmac } from "../../core/http/hmac.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";
import { SECOND_FACTOR_FIELD } from "../config/session_tables.ts";

/** Routes of better-auth's plugin that check a second factor. */
const PROOFS: readonly string[] = [
  "/two-factor/verify-totp",
  "/two-factor/verify-otp",
  "/two-factor/verify-backup-code",
];

/**
 * Routes that change or show a second factor, or add a passkey, which can replace it. better-auth
 * asks for the password only.
 */
const GUARDED: readonly string[] = [
  "/two-factor/enable",
  "/two-factor/disable",
  "/two-factor/get-totp-uri",
  "/two-factor/generate-backup-codes",
  "/passkey/generate-register-options",
  "/passkey/verify-registration",
];

/** better-auth takes the codes of three periods (RFC 6238, section 5.2). */
const ACCEPTED_PERIODS = 3;
const DEFAULT_PERIOD_SECONDS = 30;

/**
 * Creates the plugin that accepts each TOTP code once, and that notes in a session when its user has
 * shown a second factor. Sessions that begin in another way have no note.
 *
 * @param library better-auth.
 * @param hasField True if the table of sessions has the column {@link SECOND_FACTOR_FIELD}.
 */
export function createSecondFactorPlugin(
  { APIError, createAuthMiddleware, getSessionFromCtx }: BetterAuthLibrary,
  hasField: boolean,
): BetterAuthPlugin {
  async function claimCode(context: GenericEndpointContext, userId: string): Promise<void> {
    if (context.path !== PROOFS[0]) return;
    if (await claim(context, userId, String(Object(context.body).code))) return;
    throw new APIError("UNAUTHORIZED", { message: "Invalid code", code: "INVALID_CODE" });
  }

  const guard = createAuthMiddleware(async (context) => {
    const found = await getSessionFromCtx(context);
    const user = found?.user as { twoFactorEnabled?: unknown } | undefined;
    const session = found?.session as Record<string, unknown> | undefined;
    if (user?.twoFactorEnabled !== true || session?.[SECOND_FACTOR_FIELD]) return;
    throw new APIError("FORBIDDEN", {
      message: "Show the second factor first",
      code: "SECOND_FACTOR_REQUIRED",
    });
  });

  // a proof with a session creates none
  const note = createAuthMiddleware(async (given) => {
    const context = given as GenericEndpointContext;
    const { returned, newSession, adapter } = given.context;
    if (returned instanceof Error || newSession) return;
    const found = await getSessionFromCtx(context);
    if (!found) return;
    await claimCode(context, found.user.id);
    if (!hasField) return;
    await adapter.update({
      model: "session",
      where: [{ field: "token", value: found.session.token }],
      update: { [SECOND_FACTOR_FIELD]: new Date() },
    });
  });

  return {
    id: "trellis-second-factor",
    ...hasField && { schema: SECOND_FACTOR_SCHEMA },
    init: () => ({
      options: {
        databaseHooks: {
          session: {
            create: {
              async before(session, context) {
                if (context) await claimCode(context as GenericEndpointContext, session.userId);
                if (!hasField) return;
                return { data: { [SECOND_FACTOR_FIELD]: getProofTime(session, context) } };
              },
            },
          },
        },
      },
    }),
    hooks: {
      before: hasField
        ? [{ matcher: ({ path }) => GUARDED.includes(path ?? ""), handler: guard }]
        : [],
      after: [{ matcher: ({ path }) => PROOFS.includes(path ?? ""), handler: note }],
    },
  };
}

/** The column that the plugin adds to sessions. */
export const SECOND_FACTOR_SCHEMA = {
  session: { fields: { [SECOND_FACTOR_FIELD]: { type: "date", required: false, input: false } } },
} as const satisfies BetterAuthPlugin["schema"];

/** Returns when the user of a new session has shown a second factor; `null` if that is unknown. */
function getProofTime(
  session: Readonly<Record<string, unknown>>,
  context: { readonly path?: string; readonly body?: unknown } | null,
): Date | null {
  const { path = "", body } = context ?? {};
  if (PROOFS.includes(path)) return new Date();
  if (path === "/passkey/verify-authentication") return isUserVerified(body) ? new Date() : null;
  // replaces a session of the same user, which the guard has admitted
  const known = session[SECOND_FACTOR_FIELD];
  return path === "/two-factor/enable" && known instanceof Date ? known : null;
}

const FLAGS_AT = 32, USER_VERIFIED = 0x04;

/**
 * Checks the flag UV of a passkey's answer (WebAuthn Level 3, section 6.1): the authenticator has
 * asked for a PIN or a fingerprint. better-auth has verified the signature over the flags.
 */
function isUserVerified(body: unknown): boolean {
  const text = Object(Object(Object(body).response).response).authenticatorData;
  if (typeof text !== "string") return false;
  const bytes = decodeBase64(text);
  return (bytes[FLAGS_AT] & USER_VERIFIED) !== 0;
}

/**
 * Claims a code of a user. A code is valid for some periods, so it is claimed for the span of time
 * that has begun and for the next one.
 *
 * @returns `false` if it was used before.
 */
async function claim(
  { context }: GenericEndpointContext,
  userId: string,
  code: string,
): Promise<boolean> {
  const plugin = context.options.plugins?.find(({ id }) => id === "two-factor");
  const { period = DEFAULT_PERIOD_SECONDS } = Object(Object(plugin?.options).totpOptions);
  const spanMs = period * ACCEPTED_PERIODS * 1000;
  const hash = await signHmac(context.secret, `totp:${userId}:${code.trim()}`);
  const span = Math.floor(Date.now() / spanMs);
  const expiresAt = new Date(Date.now() + 2 * spanMs);
  const { options: { secondaryStorage, verification }, internalAdapter } = context;
  const isStored = secondaryStorage === undefined || verification?.storeInDatabase === true;
  for (const at of [span, span + 1]) {
    const identifier = `totp-${hash}-${at}`;
    const isFirst = isStored
      ? await internalAdapter.reserveVerificationValue({ identifier, value: "used", expiresAt })
      : await secondaryStorage.increment(identifier, 2 * spanMs / 1000) === 1;
    if (!isFirst) return false;
  }
  return true;
}
