import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { setConfiguredMethod, useConfiguredMethod } from "../../../core/http/auth_registry.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createRestApiEvent } from "../../../testing/mod.ts";

const event = createRestApiEvent();

Deno.test("useConfiguredMethod() says what to call when nothing is configured", () => {
  for (
    const [mode, name] of [
      ["session", "configureSessionAuth"],
      ["api-key", "configureApiKeyAuth"],
      ["jwt", "configureJwtAuth"],
    ] as const
  ) {
    setConfiguredMethod(mode, undefined);
    const method = useConfiguredMethod(mode);
    assertEquals(method.mode, mode);
    const error = assertThrows(() => method.authenticate(event), ConfigurationError);
    assertStringIncludes(error.message, name);
  }
});

Deno.test("useConfiguredMethod() uses what is configured at the time of a request", async () => {
  const seen: unknown[] = [];
  const configure = (userId: string) =>
    setConfiguredMethod("session", (needs) => {
      seen.push(needs);
      return {
        mode: "session",
        authenticate: () => Promise.resolve({ userId, session: undefined }),
      };
    });
  const method = useConfiguredMethod("session", { roles: ["admin"] });
  configure("u1");
  assertEquals(await method.authenticate(event), { userId: "u1", session: undefined });
  await method.authenticate(event);
  configure("u2");
  assertEquals(await method.authenticate(event), { userId: "u2", session: undefined });
  assertEquals(seen, [{ roles: ["admin"] }, { roles: ["admin"] }]);
  setConfiguredMethod("session", undefined);
});
