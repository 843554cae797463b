/**
 * Sessions for handlers, based on better-auth and drizzle, and webhook signatures. A session check
 * is one prepared query. better-auth is loaded only if its routes or its API are used.
 *
 * @example
 * ```ts
 * import { extractBearerToken, validateGitHubWebhook } from "@trellis/fn/auth";
 *
 * console.log(extractBearerToken("Bearer abc")); // abc
 * const header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
 * await validateGitHubWebhook("Hello, World!", header, "It's a Secret to Everybody");
 * ```
 *
 * @module
 */
export { extractBearerToken } from "../core/http/bearer_token.ts";
export type { ApiKeyPermissions, AuthMethod } from "../core/http/auth_method.ts";
export type { ApiKeyDetails, ApiKeyIdentity } from "../core/http/auth_registry.ts";
export type {
  ActiveOrganization,
  Authorize,
  AuthorizeParams,
  OrganizationRule,
  SessionDetails,
  SessionResult,
  UserDetails,
} from "../core/http/session.ts";
export {
  type AccountMails,
  type AccountMailsOptions,
  createAccountMails,
} from "./mail/account_mails.ts";
export type {
  AccountMailData,
  AccountMailKind,
  AccountMailTemplate,
} from "./mail/account_templates.ts";
export type { LinkMail, LinkSenders, MailUser } from "./mail/add_link_senders.ts";
export type {
  ApiKeyConfiguration,
  ApiKeySelection,
  OtherApiKeyOption,
} from "./keys/api_key_options.ts";
export { type ApiKeyOptions, type Auth, defineAuth, type SessionOptions } from "./define_auth.ts";
export type {
  AddedColumnsOf,
  BuiltInColumns,
  CallerOf,
  ColumnRolesOf,
  HiddenFieldsOf,
  OrAny,
  OrganizationRoleOf,
  PermissionsOf,
  PluginOf,
  PluginPermissionsOf,
  PluginRolesOf,
  RoleOf,
  SessionOf,
  WithOrganization,
} from "./config/config_types.ts";
export { type AuthHandlerOptions, createAuthHandler } from "./routes/auth_handler.ts";
export { type AuthEvent, type AuthEventFilter, listAuthEvents } from "./accounts/audit_events.ts";
export {
  type AuthCleanupHandler,
  type AuthCleanupHandlerOptions,
  type AuthCleanupOptions,
  type AuthCleanupResult,
  createAuthCleanupHandler,
  removeExpiredAuthRows,
} from "./accounts/cleanup.ts";
export type { AuditOption, AuditSettings, AuthEventKind } from "./audit/audit_record.ts";
export type { AuthErrorBody } from "./routes/auth_response.ts";
export type { AuthConfig, AuthMails, AuthPlugins } from "./config/config.ts";
export type { AccountLimits } from "./config/rate_limit_settings.ts";
export type { ClientAddressSource } from "../core/http/client_address.ts";
export type { RateLimitRule } from "../core/rate_limit/rate_limit.ts";
export type { LibraryOptions } from "./better_auth/library_options.ts";
export type { HmacAlgorithm } from "../core/http/hmac.ts";
export type {
  AuthDatabase,
  BetterAuthApi,
  BetterAuthOptions,
} from "./better_auth/better_auth_types.ts";
export { type BetterAuthInstance, createAuth, getAuth, resetAuth } from "./accounts/instance.ts";
export type {
  CustomOAuthProvider,
  SocialProviderConfig,
  SocialProviders,
  SocialProvidersConfig,
} from "./config/providers.ts";
export {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_MIGRATION_SQL,
  AUTH_ROUTES_TABLE_PERMISSIONS,
  AUTH_SCHEMA_MAPPING,
  AUTH_SESSION_COLUMNS,
  AUTH_TABLE_PERMISSIONS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
  type AuthAccountColumns,
  authAccountRelations,
  authAccounts,
  type AuthSessionColumns,
  authSessionRelations,
  authSessions,
  type AuthTable,
  type AuthUserColumns,
  authUserRelations,
  authUsers,
  authVerification,
  type AuthVerificationColumns,
} from "./tables/schema.ts";
export {
  configureSessionAuth,
  getConfiguredSessionAuth,
  resetSessionAuth,
} from "./session_auth.ts";
export {
  expireSession,
  getSessionExpirationISO,
  refreshSession,
  validateSession,
  validateSessionFromHeader,
} from "./sessions/sessions.ts";
export {
  createSignedLink,
  type CreateSignedLinkOptions,
  type SignedLinkOptions,
  verifySignedLink,
} from "./links/signed_link.ts";
export { validatePaymentsWebhook, validateStripeWebhook } from "./webhooks/payments_webhook.ts";
export {
  validateCodeHostWebhook,
  validateGitHubWebhook,
  validateShopifyWebhook,
  validateWebhookSignature,
  type WebhookValidationOptions,
} from "./webhooks/webhooks.ts";
export { validateSlackWebhook } from "./webhooks/slack_webhook.ts";
export {
  signStandardWebhook,
  type StandardWebhookHeaders,
  validateStandardWebhook,
} from "./webhooks/standard_webhook.ts";
export { validateTwilioWebhook } from "./webhooks/twilio_webhook.ts";
export { createWebhookAuth } from "./webhooks/webhook_auth.ts";
export type { WebhookHeaders, WebhookPayload, WebhookSecret } from "./webhooks/webhook_input.ts";
