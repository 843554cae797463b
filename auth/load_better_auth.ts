import type { drizzleAdapter } from "better-auth/adapters/drizzle";
import type { betterAuth } from "better-auth/minimal";
import type { bearer } from "better-auth/plugins/bearer";
import type { genericOAuth } from "better-auth/plugins/generic-oauth";
import type { socialProviderList } from "better-auth/social-providers";
import { explainMissing } from "../core/mod.ts";

/** What is used of better-auth. */
export interface BetterAuthLibrary {
  readonly betterAuth: typeof betterAuth;
  readonly drizzleAdapter: typeof drizzleAdapter;
  readonly bearer: typeof bearer;
  readonly socialProviderList: typeof socialProviderList;
}

/**
 * Loads better-auth, which is an optional package: a function that only checks sessions works
 * without it.
 *
 * @throws {ConfigurationError} When it is not installed.
 */
export async function loadBetterAuth(): Promise<BetterAuthLibrary> {
  try {
    // inside of `try`, bundlers leave a package out that is not installed
    const [minimal, adapter, plugin, providers] = await Promise.all([
      import("better-auth/minimal"),
      import("better-auth/adapters/drizzle"),
      import("better-auth/plugins/bearer"),
      import("better-auth/social-providers"),
    ]);
    return {
      betterAuth: minimal.betterAuth,
      drizzleAdapter: adapter.drizzleAdapter,
      bearer: plugin.bearer,
      socialProviderList: providers.socialProviderList,
    };
  } catch (error) {
    return explainMissing("better-auth", "Signing in")(error);
  }
}

/** Loads the plugin for providers that better-auth does not know. */
export async function loadGenericOAuth(): Promise<typeof genericOAuth> {
  try {
    return (await import("better-auth/plugins/generic-oauth")).genericOAuth;
  } catch (error) {
    return explainMissing("better-auth", "A provider under socialProviders.custom")(error);
  }
}
