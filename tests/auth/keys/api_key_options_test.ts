import { assertEquals, assertThrows } from "@std/assert";
import { apiKey, type ApiKeyConfigurationOptions, type ApiKeyOptions } from "@better-auth/api-key";
import { PLUGIN_TREE, resolveApiKeyOptions } from "../../../auth/keys/api_key_options.ts";
import type { OptionTreeOf } from "../../../auth/config/option_tree.ts";
import { type ApiKeySelection, authUsers } from "../../../auth/mod.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { apikey } from "../api_keys_database.ts";

type First = NonNullable<Parameters<typeof apiKey>[0]>;
type Plugin = NonNullable<ApiKeySelection["plugin"]>;

const schema = { apikey, user: authUsers };

Deno.test("apiKey() takes the types of the plugin", () => {
  const own: ApiKeyConfigurationOptions & ApiKeyOptions = {
    defaultPrefix: "k_",
    keyExpiration: { defaultExpiresIn: 60 },
    permissions: { defaultPermissions: { notes: ["read"] } },
    rateLimit: { enabled: true, timeWindow: 1000, maxRequests: 3 },
    schema: { apikey: {} },
  };
  const options: ApiKeyOptions = {};
  const several: ApiKeyConfigurationOptions[] = [{}, { configId: "b", references: "organization" }];
  const first: First = own;
  const all: Plugin[] = [own, options, several, first, { ...own, requireName: true }];
  assertEquals(all.length, 5);
  for (const plugin of [own, options, first]) {
    assertEquals(apiKey(plugin).id, "api-key");
    assertEquals(resolveApiKeyOptions({ plugin }, schema).configurations, [plugin as object]);
  }
  // @ts-expect-error the plugin has no such option
  const wrong: Plugin = { defaultPrefx: "k_" };
  assertThrows(
    () => resolveApiKeyOptions({ plugin: wrong }, schema),
    ConfigurationError,
    "apiKey.plugin has no option defaultPrefx: did you mean defaultPrefix?",
  );
  assertThrows(
    () => resolveApiKeyOptions({ plugin: { rateLimit: { maxRequest: 1 } } as Plugin }, schema),
    ConfigurationError,
    "apiKey.plugin.rateLimit has no option maxRequest: did you mean maxRequests?",
  );
});

Deno.test("apiKey() knows every option of the plugin", () => {
  // does not compile when the plugin has another option; its schema names tables and columns
  const tree: Omit<OptionTreeOf<ApiKeyConfigurationOptions & ApiKeyOptions>, "schema"> =
    PLUGIN_TREE;
  const known: Record<keyof ApiKeyConfigurationOptions | keyof ApiKeyOptions, unknown> =
    PLUGIN_TREE;
  assertEquals(Object.keys(tree), Object.keys(known));
});
