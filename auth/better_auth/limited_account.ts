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

/** Routes that send a message, and the field with its receiver. */
const MESSAGE_ROUTES: Readonly<Record<string, AccountField>> = {
  "/sign-up/email": "email",
  "/sign-in/magic-link": "email",
  "/request-password-reset": "email",
  "/send-verification-email": "email",
  "/change-email": "newEmail",
  "/email-otp/send-verification-otp": "email",
  "/email-otp/request-password-reset": "email",
  "/email-otp/request-email-change": "newEmail",
  "/forget-password/email-otp": "email",
  "/phone-number/send-otp": "phoneNumber",
  "/phone-number/request-password-reset": "phoneNumber",
  "/organization/invite-member": "email",
};

/**
 * Checks for a route that sends a message to an address of the request.
 *
 * @param path better-auth's path of the endpoint.
 */
export function isMessageRoute(path: string): boolean {
  return Object.hasOwn(MESSAGE_ROUTES, path);
}

/** Body fields that prove something. */
const PROOFS: readonly string[] = ["password", "currentPassword", "otp", "code", "backupCode"];

const ACCOUNT_FIELDS: readonly AccountField[] = ["email", "username", "phoneNumber", "newEmail"];

/**
 * Finds the accounts that a request concerns. A route of any plugin counts as an attempt if its body
 * has an account and a proof, or a proof beside a session. All fields that can name an account count,
 * because better-auth ignores those that a route does not have: one of them alone could be set to
 * another value with each guess.
 *
 * @param path better-auth's path of the endpoint.
 * @param body The parsed body.
 * @returns The accounts; empty if the request concerns none.
 */
export function findLimitedAccounts(path: string, body: unknown): LimitedAccount[] {
  const fields = Object(body) as Body;
  const isText = (field: string) => typeof fields[field] === "string";
  if (path === "/two-factor/send-otp") return [{ kind: "message", by: "two-factor" }];
  if (isMessageRoute(path)) {
    const by = MESSAGE_ROUTES[path];
    return isText(by) ? [{ kind: "message", by, value: normalize(fields[by]) }] : [];
  }
  // an administrator acts on accounts of others, with a session
  if (!PROOFS.some(isText) || path.startsWith("/admin/")) return [];
  if (path.startsWith("/two-factor/verify-")) return [{ kind: "attempt", by: "two-factor" }];
  const named = ACCOUNT_FIELDS.filter(isText).map((by): LimitedAccount => ({
    kind: "attempt",
    by,
    value: normalize(fields[by]),
  }));
  return path.startsWith("/sign-in/") ? named : [...named, { kind: "attempt", by: "session" }];
}

/** Compares as better-auth does: addresses and usernames in lower case. */
function normalize(value: unknown): string {
  return String(value).trim().toLowerCase();
}
