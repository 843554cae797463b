/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { passkeyClient } from "@better-auth/passkey/client";
import { createAuthClient } from "better-auth/client";
import {
  adminClient,
  anonymousClient,
  emailOTPClient,
  magicLinkClient,
  multiSessionClient,
  organizationClient,
  twoFactorClient,
  usernameClient,
} from "better-auth/client/plugins";

/** Address of the auth routes. `start.ts` sets it. */
declare const AUTH_URL: string;

/** The official client with the plugins of `src/auth_plugins.ts`. */
export const client = createAuthClient({
  baseURL: AUTH_URL,
  plugins: [
    adminClient(),
    anonymousClient(),
    emailOTPClient(),
    magicLinkClient(),
    multiSessionClient(),
    organizationClient(),
    passkeyClient(),
    twoFactorClient(),
    usernameClient(),
  ],
});

/** The user as the page shows it. */
export interface PageUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  readonly role?: string | null;
  readonly username?: string | null;
  readonly twoFactorEnabled?: boolean | null;
}

/** Reads an endpoint of the API with the session cookie. */
export async function readApi(path: string): Promise<unknown> {
  const response = await fetch(new URL(path, AUTH_URL), { credentials: "include" });
  return await response.json();
}
