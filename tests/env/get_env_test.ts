import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { getOptionalEnv, getRequiredEnv } from "../../env/mod.ts";
import { readEnv } from "../../env/get_env.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { withEnv } from "../support/with_env.ts";

const NAME = "TRELLIS_TEST_VARIABLE";

Deno.test("getOptionalEnv() returns the value unchanged, and treats an empty one as unset", async () => {
  await withEnv({ [NAME]: " x " }, () => assertEquals(getOptionalEnv(NAME, "fallback"), " x "));
  for (const unset of [undefined, ""]) {
    await withEnv({ [NAME]: unset }, () => {
      assertEquals(getOptionalEnv(NAME), undefined);
      assertEquals(getOptionalEnv(NAME, "fallback"), "fallback");
    });
  }
});

Deno.test("getRequiredEnv() gives the value, and names the variable when it is unset or empty", async () => {
  await withEnv({ [NAME]: "x" }, () => assertEquals(getRequiredEnv(NAME), "x"));
  for (const unset of [undefined, ""]) {
    await withEnv({ [NAME]: unset }, () => {
      const error = assertThrows(() => getRequiredEnv(NAME), ConfigurationError);
      assertEquals(error.code, "CONFIGURATION");
      assertStringIncludes(error.message, NAME);
    });
  }
});

Deno.test("readEnv() takes a variable that the runtime does not let us read for unset", () => {
  const source = new Proxy({}, {
    get(): never {
      throw new Error("NotCapable");
    },
  });
  assertEquals(readEnv(source, NAME), undefined);
});
