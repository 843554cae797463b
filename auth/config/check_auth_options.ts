import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
  unknownOption,
} from "../../core/option_rules.ts";
import type { AuthConfig } from "./config.ts";
import { CUSTOM_PROVIDER_TREE, LIBRARY_TREE, PROVIDER_TREE } from "./library_option_tree.ts";
import { checkOptionTree, type OptionTree, type OptionTreeOf } from "./option_tree.ts";
import {
  type CustomOAuthProvider,
  NEUTRAL_NAMES,
  type SocialProviderConfig,
  type SocialProvidersConfig,
} from "./providers.ts";
import { checkSessionOptions, OWN_RULES } from "./resolve_config.ts";

const LIMIT = { limit: true, windowSeconds: true } as const;

const OWN_TREE = {
  accountLimits: { failuresPerAddress: LIMIT, failures: LIMIT, messages: LIMIT },
  audit: { exclude: true },
  clientAddress: { header: true, trustedProxies: true },
} as const satisfies OptionTreeOf<Pick<AuthConfig, "accountLimits" | "audit" | "clientAddress">>;

/** Their values are checked elsewhere, or are objects of the application. */
const OTHERS = Object.fromEntries(Object.keys(OWN_RULES).map((name) => [name, true] as const));

const TREE: OptionTree = { ...OTHERS, ...OWN_TREE, ...LIBRARY_TREE };

/**
 * Refuses options that do not exist, at any depth. It runs where better-auth starts, and where the command line loads a
 * configuration: functions that only check sessions do not contain the list of all options.
 *
 * @param config The configuration of the application.
 * @throws {ConfigurationError} If there is one.
 */
export function checkAuthOptions(config: AuthConfig): void {
  checkSessionOptions(config);
  checkOptionTree("AuthConfig", config, TREE);
  const { socialProviders = {} } = config;
  if (typeof socialProviders === "object") checkProviders(socialProviders);
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

/**
 * Refuses providers that better-auth does not have, and options that they do not have.
 *
 * @param providers The part `socialProviders` of `AuthConfig`.
 * @throws {ConfigurationError} If there is one.
 */
export function checkProviders(providers: SocialProvidersConfig): void {
  for (const [key, provider] of Object.entries(providers)) {
    if (key === "custom" || provider === undefined) continue;
    const id = NEUTRAL_NAMES[key] ?? key;
    if (!Object.hasOwn(PROVIDER_TREE, id)) {
      const known = [...Object.keys(NEUTRAL_NAMES), ...Object.keys(PROVIDER_TREE), "custom"];
      throw unknownOption("socialProviders", key, known);
    }
    const name = `socialProviders.${key}`;
    checkOptions(name, provider, SOCIAL_RULES, `${name}.`);
    checkProviderOptions(name, (provider as SocialProviderConfig).options, PROVIDER_TREE[id]);
  }
  for (const [position, provider] of (providers.custom ?? []).entries()) {
    const name = `socialProviders.custom[${position}]`;
    checkOptions(name, provider, CUSTOM_RULES, `${name}.`);
    checkProviderOptions(name, provider.options, CUSTOM_PROVIDER_TREE);
  }
}

/** Refuses options that the provider does not have, and options beside the member `options`. */
function checkProviderOptions(name: string, options: unknown, tree: OptionTree): void {
  const { clientId: _, clientSecret: __, enabled: ___, providerId: ____, ...others } = tree;
  checkOptionTree(`${name}.options`, options, others);
}
