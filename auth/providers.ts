import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
} from "../core/option_rules.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** How the application is known to one identity provider. */
export interface SocialProviderConfig {
  /** The client id that the provider gave. */
  clientId: string;
  /** The client secret that the provider gave. */
  clientSecret: string;
  /**
   * `false` leaves the provider out, whatever else is set.
   * @default true
   */
  enabled?: boolean;
  /** Apple only: the bundle id of a native app, which then stands in the audience of id tokens. */
  appBundleIdentifier?: string;
  /** More options of better-auth for this provider, such as `scope` or `tenantId`. */
  options?: Record<string, unknown>;
}

/** A provider that better-auth has not built in: any that speaks OAuth 2 or OpenID Connect. */
export interface CustomOAuthProvider {
  /** The id that sign-in calls and stored accounts carry. */
  providerId: string;
  /** The client id that the provider gave. */
  clientId: string;
  /** The client secret that the provider gave. */
  clientSecret: string;
  /**
   * `false` leaves the provider out.
   * @default true
   */
  enabled?: boolean;
  /** Options of better-auth's generic OAuth: `discoveryUrl`, or `authorizationUrl` and `tokenUrl`; `scopes` and more. */
  options?: Record<string, unknown>;
}

/** Identity providers by id. Besides the keys listed, every provider id that better-auth has built in is a key. */
export interface SocialProvidersConfig {
  /** Apple, by its neutral name. */
  idp_one?: SocialProviderConfig;
  /** Google, by its neutral name. */
  idp_two?: SocialProviderConfig;
  /** GitHub, by its neutral name. */
  idp_three?: SocialProviderConfig;
  /** Providers that are not built in. */
  custom?: CustomOAuthProvider[];
  /** A provider by the id that better-auth gives it: `apple`, `google`, `github`, `microsoft`, `discord`, … */
  [providerId: string]: SocialProviderConfig | CustomOAuthProvider[] | undefined;
}

/** Options of one provider, as better-auth takes them. */
export type ProviderOptions = Readonly<Record<string, unknown>>;

/** The providers that are switched on, as better-auth takes them. */
export interface ResolvedProviders {
  /** Built-in providers by better-auth's id. */
  readonly social: Readonly<Record<string, ProviderOptions>>;
  /** What its generic OAuth plugin gets. */
  readonly custom: readonly ProviderOptions[];
}

const SOCIAL_RULES = {
  clientId: ANY_OPTION,
  clientSecret: ANY_OPTION,
  enabled: BOOLEAN_OPTION,
  appBundleIdentifier: ANY_OPTION,
  options: OBJECT_OPTION,
} as const satisfies Record<keyof SocialProviderConfig, OptionRule>;

const CUSTOM_RULES = {
  providerId: ANY_OPTION,
  clientId: ANY_OPTION,
  clientSecret: ANY_OPTION,
  enabled: BOOLEAN_OPTION,
  options: OBJECT_OPTION,
} as const satisfies Record<keyof CustomOAuthProvider, OptionRule>;

const NEUTRAL_NAMES: Readonly<Record<string, string>> = {
  idp_one: "apple",
  idp_two: "google",
  idp_three: "github",
};

/**
 * Turns the configured providers into better-auth's options.
 *
 * @param config The part `socialProviders` of `AuthConfig`.
 * @returns Those that are switched on.
 * @throws {ConfigurationError} When credentials are missing or one provider is given twice.
 */
export function resolveProviders(config: SocialProvidersConfig = {}): ResolvedProviders {
  const social: Record<string, ProviderOptions> = {};
  const given = new Map<string, string>();
  for (const [key, provider] of Object.entries(config)) {
    if (key === "custom" || provider === undefined) continue;
    const id = NEUTRAL_NAMES[key] ?? key;
    const twin = given.get(id);
    if (twin !== undefined) {
      throw new ConfigurationError(
        `socialProviders.${twin} and socialProviders.${key} are one provider: keep one`,
      );
    }
    given.set(id, key);
    const name = `socialProviders.${key}`;
    checkOptions(name, provider, SOCIAL_RULES, `${name}.`);
    const { clientId, clientSecret, enabled, appBundleIdentifier, options } =
      provider as SocialProviderConfig;
    if (enabled === false) continue;
    checkCredentials(name, clientId, clientSecret);
    const bundle = id === "apple" && appBundleIdentifier !== undefined
      ? { appBundleIdentifier }
      : {};
    social[id] = { ...options, ...bundle, clientId, clientSecret };
  }
  const custom: ProviderOptions[] = [];
  for (const [position, provider] of (config.custom ?? []).entries()) {
    const name = `socialProviders.custom[${position}]`;
    checkOptions(name, provider, CUSTOM_RULES, `${name}.`);
    const { providerId, clientId, clientSecret, enabled, options = {} } = provider;
    if (enabled === false) continue;
    if (typeof providerId !== "string" || providerId === "") {
      throw new ConfigurationError(`${name}.providerId is missing`);
    }
    if (given.has(providerId)) {
      throw new ConfigurationError(
        `${name}: there is another provider with the id "${providerId}"`,
      );
    }
    given.set(providerId, name);
    checkCredentials(name, clientId, clientSecret);
    if (
      !options.discoveryUrl && !(options.authorizationUrl && (options.tokenUrl || options.getToken))
    ) {
      throw new ConfigurationError(
        `${name}.options of "${providerId}" needs discoveryUrl, or authorizationUrl and tokenUrl`,
      );
    }
    custom.push({ ...options, providerId, clientId, clientSecret });
  }
  return { social, custom };
}

function checkCredentials(name: string, clientId: unknown, clientSecret: unknown): void {
  for (const [field, value] of Object.entries({ clientId, clientSecret })) {
    if (typeof value !== "string" || value === "") {
      throw new ConfigurationError(
        `${name}.${field} is missing: set it, or set ${name}.enabled to false`,
      );
    }
  }
}
