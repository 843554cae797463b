import type { drizzleAdapter } from "better-auth/adapters/drizzle";
import type {
  APIError,
  createAuthMiddleware,
  createEmailVerificationToken,
  getOAuthState,
  getSessionFromCtx,
} from "better-auth/api";
import type { betterAuth } from "better-auth/minimal";
import type { openAPI } from "better-auth/plugins";
import type { bearer } from "better-auth/plugins/bearer";
import type { getAuthTables, revokeUnprovenAccountAccess } from "better-auth/db";
import type { genericOAuth } from "better-auth/plugins/generic-oauth";
import { explainMissing } from "../../env/optional_package.ts";
import { AUTH_PACKAGES } from "./optional_packages.ts";

/** The used exports of better-auth. */
export interface BetterAuthLibrary {
  readonly betterAuth: typeof betterAuth;
  readonly drizzleAdapter: typeof drizzleAdapter;
  readonly bearer: typeof bearer;
  readonly APIError: typeof APIError;
  readonly createAuthMiddleware: typeof createAuthMiddleware;
  readonly createEmailVerificationToken: typeof createEmailVerificationToken;
  readonly getOAuthState: typeof getOAuthState;
  readonly getSessionFromCtx: typeof getSessionFromCtx;
  readonly revokeUnprovenAccountAccess: typeof revokeUnprovenAccountAccess;
}

/**
 * Loads better-auth, which is an optional package: a function that only checks sessions works
 * without it.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadBetterAuth(): Promise<BetterAuthLibrary> {
  try {
    // awaited one by one, so that bundlers tolerate a missing package
    const { betterAuth } = await import("better-auth/minimal");
    const { drizzleAdapter } = await import("better-auth/adapters/drizzle");
    const {
      APIError,
      createAuthMiddleware,
      createEmailVerificationToken,
      getOAuthState,
      getSessionFromCtx,
    } = await import("better-auth/api");
    const { revokeUnprovenAccountAccess } = await import("better-auth/db");
    const { bearer } = await import("better-auth/plugins/bearer");
    return {
      betterAuth,
      drizzleAdapter,
      bearer,
      APIError,
      createAuthMiddleware,
      createEmailVerificationToken,
      getOAuthState,
      getSessionFromCtx,
      revokeUnprovenAccountAccess,
    };
  } catch (error) {
    return explain("Signing in", error);
  }
}

/** Loads the plugin for custom OAuth providers. */
export async function loadGenericOAuth(): Promise<typeof genericOAuth> {
  try {
    return (await import("better-auth/plugins/generic-oauth")).genericOAuth;
  } catch (error) {
    return explain("A provider under socialProviders.custom", error);
  }
}

/** Loads the function that lists better-auth's tables. */
export async function loadTableDescriptions(): Promise<typeof getAuthTables> {
  try {
    return (await import("better-auth/db")).getAuthTables;
  } catch (error) {
    return explain("The description of the auth tables", error);
  }
}

/** Loads the function that creates hooks. */
export async function loadAuthMiddleware(): Promise<typeof createAuthMiddleware> {
  try {
    return (await import("better-auth/api")).createAuthMiddleware;
  } catch (error) {
    return explain("The audit log", error);
  }
}

/** What describes routes: the plugin that does it, and the middlewares that require a session. */
export interface RouteDescriptions {
  readonly openAPI: typeof openAPI;
  readonly sessionMiddlewares: ReadonlySet<unknown>;
}

/** Loads better-auth's OpenAPI plugin. */
export async function loadRouteDescriptions(): Promise<RouteDescriptions> {
  try {
    const api = await import("better-auth/api");
    const { openAPI } = await import("better-auth/plugins");
    return {
      openAPI,
      sessionMiddlewares: new Set([
        api.sessionMiddleware,
        api.freshSessionMiddleware,
        api.sensitiveSessionMiddleware,
        api.requestOnlySessionMiddleware,
      ]),
    };
  } catch (error) {
    return explain("The description of the auth routes", error);
  }
}

function explain(purpose: string, error: unknown): never {
  return explainMissing(AUTH_PACKAGES, "better-auth", purpose)(error);
}
