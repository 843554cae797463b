import * as accounts from "./account_flows.ts";
import * as credentials from "./credential_flows.ts";
import * as oauth from "./oauth_flows.ts";
import type { PluginLab } from "./plugin_lab.ts";
import * as sessions from "./session_flows.ts";

/** The main flow of each plugin, by its name, and flows through the other routes of accounts. */
export const FLOWS: Readonly<Record<string, (lab: PluginLab) => Promise<void>>> = {
  "two-factor": credentials.walkTwoFactor,
  passkey: credentials.walkPasskey,
  "magic-link": credentials.walkMagicLink,
  "email-otp": credentials.walkEmailOtp,
  username: credentials.walkUsername,
  "phone-number": credentials.walkPhoneNumber,
  anonymous: credentials.walkAnonymous,
  captcha: credentials.walkCaptcha,
  siwe: credentials.walkSiwe,
  "last-login-method": credentials.walkLastLoginMethod,
  "have-i-been-pwned": credentials.walkHaveIBeenPwned,
  organization: sessions.walkOrganization,
  admin: sessions.walkAdmin,
  "api-key": sessions.walkApiKey,
  "multi-session": sessions.walkMultiSession,
  bearer: sessions.walkBearer,
  jwt: sessions.walkJwt,
  "one-time-token": sessions.walkOneTimeToken,
  "custom-session": sessions.walkCustomSession,
  "open-api": sessions.walkOpenApi,
  "generic-oauth": oauth.walkGenericOAuth,
  sso: oauth.walkSso,
  "device-authorization": oauth.walkDeviceAuthorization,
  "oauth-provider": oauth.walkOidcProvider,
  mcp: oauth.walkMcp,
  "oauth-proxy": oauth.walkOAuthProxy,
  "accounts of users": accounts.walkOwnAccount,
  "linked accounts": accounts.walkLinkedAccounts,
  "mail codes": accounts.walkMailCodes,
  "second factors": accounts.walkSecondFactors,
  "own passkeys": accounts.walkOwnPasskeys,
  members: accounts.walkMembers,
  users: accounts.walkUsers,
};
