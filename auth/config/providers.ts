import { ConfigurationError } from "../../errors/http_errors.ts";

/** Credentials and options of one identity provider. */
export interface SocialProviderConfig {
  /** Client id issued by the provider. */
  clientId: string;
  /** Client secret issued by the provider. */
  clientSecret: string;
  /**
   * `false` disables the provider, whether or not its credentials are set.
   * @default true
   */
  enabled?: boolean;
  /** Apple only: the bundle id of a native app, accepted as audience of id tokens. */
  appBundleIdentifier?: string;
  /** More options of better-auth for this provider, such as `scope` or `tenantId`. */
  options?: Record<string, unknown>;
}

/** A custom OAuth 2 or OpenID Connect provider. */
export interface CustomOAuthProvider {
  /** Id in sign-in calls and stored accounts. */
  providerId: string;
  /** Client id issued by the provider. */
  clientId: string;
  /** Client secret issued by the provider. */
  clientSecret: string;
  /**
   * `false` disables the provider.
   * @default true
   */
  enabled?: boolean;
  /**
   * Options of better-auth's generic OAuth: `discoveryUrl`, or `authorizationUrl` and `tokenUrl`;
   * `scopes` and more.
   */
  options?: Record<string, unknown>;
}

/** Identity providers by id. The ids of all built-in providers of better-auth are keys too. */
export interface SocialProvidersConfig {
  /** Alias of `apple`. */
  idp_one?: SocialProviderConfig;
  /** Alias of `google`. */
  idp_two?: SocialProviderConfig;
  /** Alias of `github`. */
  idp_three?: SocialProviderConfig;
  /** Custom providers. */
  custom?: CustomOAuthProvider[];
  /**
   * A built-in provider by its id in better-auth: `apple`, `google`, `github`, `microsoft`,
   * `discord`, …
   */
  [providerId: string]: SocialProviderConfig | CustomOAuthProvider[] | undefined;
}

/** The option `socialProviders`: the providers, or a function that returns them on first use. */
export type SocialProviders =
  | SocialProvidersConfig
  | (() => SocialProvidersConfig | Promise<SocialProvidersConfig>);

/** Options of one provider in the format of better-auth. */
export type ProviderOptions = Readonly<Record<string, unknown>>;

/** Enabled providers in the format of better-auth. */
export interface ResolvedProviders {
  /** Built-in providers by id. */
  readonly social: Readonly<Record<string, ProviderOptions>>;
  /** Options of the generic OAuth plugin. */
  readonly custom: readonly ProviderOptions[];
}

/** The neutral names of providers, with their ids. */
export const NEUTRAL_NAMES: Readonly<Record<string, string>> = {
  idp_one: "apple",
  idp_two: "google",
  idp_three: "github",
};

/**
 * Converts the configured providers to better-auth's options. Their options are checked where better-auth starts.
 *
 * @param config The part `socialProviders` of `AuthConfig`.
 * @returns The enabled providers.
 * @throws {ConfigurationError} If credentials are missing or a provider is configured twice.
 */
export function resolveProviders(config: SocialProvidersConfig): ResolvedProviders {
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
