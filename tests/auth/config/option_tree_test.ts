import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type AuthConfig, configureSessionAuth, createAuth } from "../../../auth/mod.ts";
import { checkAuthOptions } from "../../../auth/config/check_auth_options.ts";
import { LIBRARY_TREE } from "../../../auth/config/library_option_tree.ts";
import { checkOptionTree, type OptionTree } from "../../../auth/config/option_tree.ts";
import { resolveAuthConfig } from "../../../auth/config/resolve_config.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { openAuthDatabase } from "../auth_database.ts";

const CONFIG = { secret: "s".repeat(32), baseURL: "https://api.example.com" };
const PROVIDER = { clientId: "id", clientSecret: "secret" };

/** Options with a typo, and the message. */
const TYPOS: [options: object, message: string][] = [
  [
    { emailAndPasword: {} },
    "AuthConfig has no option emailAndPasword: did you mean emailAndPassword?",
  ],
  [
    { emailAndPassword: { enabled: true, requireEmailVerificaton: true } },
    "AuthConfig.emailAndPassword has no option requireEmailVerificaton: did you mean requireEmailVerification?",
  ],
  [
    { emailAndPassword: { password: { hsh: () => "" } } },
    "AuthConfig.emailAndPassword.password has no option hsh: did you mean hash?",
  ],
  [
    { session: { cookieCache: { maxage: 60 } } },
    "AuthConfig.session.cookieCache has no option maxage: did you mean maxAge?",
  ],
  [
    { session: { expires: 60 } },
    "AuthConfig.session has no option expires: did you mean expiresIn?",
  ],
  [
    { user: { additionalFields: { plan: { type: "string", requird: true } } } },
    "AuthConfig.user.additionalFields.plan has no option requird: did you mean required?",
  ],
  [
    { advanced: { cookies: { session_token: { attributes: { samesite: "lax" } } } } },
    "AuthConfig.advanced.cookies.session_token.attributes has no option samesite: did you mean sameSite?",
  ],
  [
    { rateLimit: { customRules: { "/sign-in/email": { windw: 10, max: 3 } } } },
    "AuthConfig.rateLimit.customRules./sign-in/email has no option windw: did you mean window?",
  ],
  [
    { account: { accountLinking: { trustedProvider: ["google"] } } },
    "AuthConfig.account.accountLinking has no option trustedProvider: did you mean trustedProviders?",
  ],
  [
    { databaseHooks: { user: { create: { befor: () => {} } } } },
    "AuthConfig.databaseHooks.user.create has no option befor: did you mean before?",
  ],
  // an option that is present without a value is a typo all the same
  [{ telemetry: { enable: undefined } }, "AuthConfig.telemetry has no option enable"],
  [{ telemetry: { zzz: true } }, "AuthConfig.telemetry has no option zzz: it has enabled, debug"],
  [
    { accountLimits: { failurs: { limit: 1, windowSeconds: 1 } } },
    "AuthConfig.accountLimits has no option failurs: did you mean failures?",
  ],
  [
    { accountLimits: { failures: { limit: 1, windowSecond: 1 } } },
    "AuthConfig.accountLimits.failures has no option windowSecond: did you mean windowSeconds?",
  ],
  [{ audit: { exclud: [] } }, "AuthConfig.audit has no option exclud: did you mean exclude?"],
  [
    { clientAddress: { header: "X-Forwarded-For", trustedProxys: ["10.0.0.0/8"] } },
    "AuthConfig.clientAddress has no option trustedProxys: did you mean trustedProxies?",
  ],
  [
    { socialProviders: { gihub: PROVIDER } },
    "socialProviders has no option gihub: did you mean github?",
  ],
  [
    { socialProviders: { google: { ...PROVIDER, options: { acessType: "offline" } } } },
    "socialProviders.google.options has no option acessType: did you mean accessType?",
  ],
  // a disabled provider too
  [
    { socialProviders: { microsoft: { ...PROVIDER, enabled: false, options: { tenant: "t" } } } },
    "socialProviders.microsoft.options has no option tenant: did you mean tenantId?",
  ],
  // the credentials beside it would replace it
  [
    { socialProviders: { google: { ...PROVIDER, options: { clientId: "other" } } } },
    "socialProviders.google.options has no option clientId",
  ],
  [
    {
      socialProviders: {
        custom: [{
          ...PROVIDER,
          providerId: "crm",
          options: { discoveryUrl: "https://crm.example", scope: ["a"] },
        }],
      },
    },
    "socialProviders.custom[0].options has no option scope: did you mean scopes?",
  ],
];

/** Messages about options that a check of sessions reads. */
const OF_SESSIONS =
  /^AuthConfig(?:\.session\S*|\.advanced\S*|\.user\.additionalFields\S*)? has no option/;

for (const [options, message] of TYPOS) {
  const config = { ...CONFIG, ...options } as AuthConfig;
  Deno.test(`checkAuthOptions() refuses a typo: ${message}`, () => {
    assertThrows(() => checkAuthOptions(config), ConfigurationError, message);
  });
  if (!OF_SESSIONS.test(message)) continue;
  Deno.test(`resolveAuthConfig() refuses a typo: ${message}`, () => {
    assertThrows(() => resolveAuthConfig(config), ConfigurationError, message);
  });
}

Deno.test("better-auth does not start with a typo at any depth", async () => {
  const { db, pglite } = await openAuthDatabase();
  const baseURL = "http://localhost:3000";
  const cases: [options: object, message: string][] = [
    [{ emailAndPassword: { autoSignin: false } }, "AuthConfig.emailAndPassword has no option"],
    [{ socialProviders: { gihub: PROVIDER } }, "socialProviders has no option gihub"],
    [{ socialProviders: () => ({ gihub: PROVIDER }) }, "socialProviders has no option gihub"],
  ];
  for (const [options, message] of cases) {
    const auth = createAuth(db, { ...CONFIG, baseURL, ...options } as AuthConfig);
    await assertRejects(() => auth.api.ok(), ConfigurationError, message);
  }
  await pglite.close();
});

Deno.test("configureSessionAuth() refuses a typo when the module is loaded, without a secret", () => {
  const config = { session: { cookieCach: {} } } as unknown as AuthConfig;
  assertThrows(
    () => configureSessionAuth(() => Promise.reject(), config),
    ConfigurationError,
    "AuthConfig.session has no option cookieCach: did you mean cookieCache?",
  );
});

/** Builds options with every key of a tree. */
function fill(tree: true | OptionTree): unknown {
  if (tree === true) return undefined;
  const entries = Object.entries(tree).map((
    [name, inner],
  ) => [name === "*" ? "any" : name, fill(inner)]);
  return Object.fromEntries(entries);
}

Deno.test("checkAuthOptions() takes every option that better-auth has, and objects of the application as they are", () => {
  checkOptionTree("AuthConfig", fill(LIBRARY_TREE), LIBRARY_TREE);
  class Store {
    get = () => null;
    more = 1;
  }
  const config: AuthConfig = {
    ...CONFIG,
    secondaryStorage: new Store() as never,
    session: { storeSessionInDatabase: true },
    rateLimit: { customStorage: { consume: () => null, reset: 1 } as never },
    socialProviders: {
      idp_two: { ...PROVIDER, options: { accessType: "offline", hd: "example.com" } },
      apple: { ...PROVIDER, appBundleIdentifier: "com.example" },
    },
  };
  checkAuthOptions(config);
  const settings = resolveAuthConfig(config);
  assertEquals(
    (settings.providers as { social: object }).social,
    {
      google: { accessType: "offline", hd: "example.com", ...PROVIDER },
      apple: { appBundleIdentifier: "com.example", ...PROVIDER },
    },
  );
});
