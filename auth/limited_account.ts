/** How a request names the account that it concerns. */
export type AccountField = "email" | "newEmail" | "username" | "phoneNumber";

/** The account that a request concerns, for limits. */
export interface LimitedAccount {
  /** What the request does: it proves something (a password, a code), or makes us send a message. */
  readonly kind: "attempt" | "message";
  /** The field that names the account, or where else the account is found. */
  readonly by: AccountField | "two-factor" | "session";
  /** The value of the field. */
  readonly value?: string;
}

type Body = Readonly<Record<string, unknown>>;

/** Routes that send a message to the address in the body. */
const MESSAGE_ROUTES: ReadonlySet<string> = new Set([
  "/sign-up/email",
  "/sign-in/magic-link",
  "/request-password-reset",
  "/send-verification-email",
  "/change-email",
  "/email-otp/send-verification-otp",
  "/email-otp/request-password-reset",
  "/email-otp/request-email-change",
  "/forget-password/email-otp",
  "/phone-number/send-otp",
  "/phone-number/request-password-reset",
  "/organization/invite-member",
]);

/**
 * Checks for a route that sends a message to an address of the request.
 *
 * @param path better-auth's path of the endpoint.
 */
export function isMessageRoute(path: string): boolean {
  return MESSAGE_ROUTES.has(path);
}

/** Body fields that prove something. */
const PROOFS: readonly string[] = ["password", "currentPassword", "otp", "code", "backupCode"];

const ACCOUNT_FIELDS: readonly AccountField[] = ["email", "username", "phoneNumber", "newEmail"];

/**
 * Finds the account that a request concerns. A route of any plugin counts as an attempt if its body
 * has an account and a proof, or a proof beside a session.
 *
 * @param path better-auth's path of the endpoint.
 * @param body The parsed body.
 * @returns The account; `undefined` if the request concerns none.
 */
export function findLimitedAccount(path: string, body: unknown): LimitedAccount | undefined {
  const fields = Object(body) as Body;
  const by = ACCOUNT_FIELDS.find((field) => typeof fields[field] === "string");
  if (path === "/two-factor/send-otp") return { kind: "message", by: "two-factor" };
  if (MESSAGE_ROUTES.has(path)) {
    return by && { kind: "message", by, value: normalize(fields[by]) };
  }
  // an administrator acts on accounts of others, with a session
  const hasProof = PROOFS.some((field) => typeof fields[field] === "string");
  if (!hasProof || path.startsWith("/admin/")) return undefined;
  if (path.startsWith("/two-factor/verify-")) return { kind: "attempt", by: "two-factor" };
  if (by === undefined) return { kind: "attempt", by: "session" };
  return { kind: "attempt", by, value: normalize(fields[by]) };
}

/** Compares as better-auth does: addresses and usernames in lower case. */
function normalize(value: unknown): string {
  return String(value).trim().toLowerCase();
}
