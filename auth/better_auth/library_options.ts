import { ANY_OPTION, OBJECT_OPTION, type OptionRule, protective } from "../../core/option_rules.ts";
import type { BetterAuthOptions } from "./better_auth_types.ts";

/** The options of better-auth that `AuthConfig` passes on. It replaces the others by its own. */
export type LibraryOptions = Omit<
  BetterAuthOptions,
  | "baseURL"
  | "database"
  | "plugins"
  | "secret"
  | "secrets"
  | "socialProviders"
  | "trustedOrigins"
>;

const TEXT_OPTION: OptionRule = [(value) => typeof value === "string", "a string"];

/** Keys of better-auth 1.7. better-auth types and validates their values. */
export const LIBRARY_RULES = {
  appName: TEXT_OPTION,
  basePath: TEXT_OPTION,
  secondaryStorage: OBJECT_OPTION,
  emailVerification: OBJECT_OPTION,
  emailAndPassword: OBJECT_OPTION,
  user: OBJECT_OPTION,
  session: OBJECT_OPTION,
  account: OBJECT_OPTION,
  verification: OBJECT_OPTION,
  rateLimit: OBJECT_OPTION,
  advanced: OBJECT_OPTION,
  logger: OBJECT_OPTION,
  databaseHooks: protective(OBJECT_OPTION),
  onAPIError: OBJECT_OPTION,
  hooks: protective(OBJECT_OPTION),
  disabledPaths: protective([Array.isArray, "a list of paths"]),
  telemetry: OBJECT_OPTION,
  experimental: ANY_OPTION,
} as const satisfies Record<keyof LibraryOptions, OptionRule>;
