import { createHmac } from "node:crypto";
import { admin, organization } from "better-auth/plugins";
import { type AuthConfig, type BetterAuthInstance, createAuth } from "../../auth/mod.ts";
import type { AuthDatabase } from "../../auth/mod.ts";
import { accountsSchema } from "./accounts_database.ts";
import { SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

/** Address of the test application. */
export const ORIGIN = "https://api.example.com";

/** Configuration with the plugins admin and organization. */
export const ACCOUNTS_CONFIG: AuthConfig = {
  secret: SECRET,
  baseURL: ORIGIN,
  trustedOrigins: ["https://app.example.com"],
  schema: accountsSchema,
  plugins: () => [organization({ allowUserToCreateOrganization: true }), admin()],
  rateLimit: { enabled: false },
  emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
};

/** Endpoints of plugins, which the configuration's type does not show. */
export type PluginApi = Record<string, (input: object) => Promise<Record<string, unknown>>>;

/** Returns the endpoints of an instance with those of its plugins. */
export function getPluginApi(auth: BetterAuthInstance): PluginApi {
  return auth.api as unknown as PluginApi;
}

/** A user with a session. */
export interface SignedIn {
  readonly id: string;
  readonly token: string;
  readonly cookie: string;
  readonly headers: Headers;
}

/** Signs a user up. */
export async function signUp(
  db: AuthDatabase,
  email: string,
  config: AuthConfig = ACCOUNTS_CONFIG,
): Promise<SignedIn> {
  const { token, user } = await createAuth(db, config).api.signUpEmail({
    body: { name: email.split("@")[0], email, password: "correct horse battery" },
  });
  return toSignedIn(user.id, token!);
}

/** The credentials of a session. */
export function toSignedIn(id: string, token: string): SignedIn {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  return { id, token, cookie: toSessionCookie(token), headers };
}

/** Signs a value as better-auth does in cookies. */
export function signCookie(value: string): string {
  const signature = createHmac("sha256", SECRET).update(value).digest("base64");
  return encodeURIComponent(`${value}.${signature}`);
}

/** The session cookie of a token. */
export function toSessionCookie(token: string): string {
  return `__Secure-better-auth.session_token=${signCookie(token)}`;
}
