import { apiKey } from "@better-auth/api-key";
import { mcp } from "@better-auth/mcp";
import { oauthProvider } from "@better-auth/oauth-provider";
import { passkey } from "@better-auth/passkey";
import { sso } from "@better-auth/sso";
import type { BetterAuthPlugin } from "better-auth";
import {
  admin,
  anonymous,
  deviceAuthorization,
  emailOTP,
  jwt,
  lastLoginMethod,
  magicLink,
  multiSession,
  organization,
  phoneNumber,
  siwe,
  twoFactor,
  username,
} from "better-auth/plugins";

/** One instance of each plugin that has tables or columns. */
export const TABLE_PLUGINS: readonly BetterAuthPlugin[] = [
  admin(),
  anonymous(),
  apiKey(),
  deviceAuthorization({ verificationUri: "/device" }),
  jwt(),
  lastLoginMethod({ storeInDatabase: true }),
  mcp({ loginPage: "/login", consentPage: "/consent", resource: "http://localhost:3000/mcp" }),
  oauthProvider({ loginPage: "/login", consentPage: "/consent" }),
  organization({ teams: { enabled: true }, dynamicAccessControl: { enabled: true } }),
  passkey(),
  phoneNumber(),
  siwe({
    domain: "localhost:3000",
    getNonce: () => Promise.resolve(""),
    verifyMessage: () => Promise.resolve(false),
  }),
  sso(),
  twoFactor(),
  username(),
];

/** The plugins of {@link TABLE_PLUGINS}, and those of the example accounts that have no tables. */
export const ROUTE_PLUGINS: readonly BetterAuthPlugin[] = [
  ...TABLE_PLUGINS,
  emailOTP({ sendVerificationOTP: () => Promise.resolve() }),
  magicLink({ sendMagicLink: () => Promise.resolve() }),
  multiSession(),
];
