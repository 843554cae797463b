import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { setConfiguredSession, useConfiguredSession } from "../../../core/http/auth_registry.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createRestApiEvent } from "../../../testing/mod.ts";

const event = createRestApiEvent();

Deno.test("useConfiguredSession() says what to call when nothing is configured", () => {
  setConfiguredSession(undefined);
  const method = useConfiguredSession();
  assertEquals([method.mode, method.needs], ["session", {}]);
  const error = assertThrows(() => method.authenticate(event), ConfigurationError);
  assertStringIncludes(error.message, "configureSessionAuth");
});

Deno.test("useConfiguredSession() uses what is configured at the time of a request", async () => {
  const configure = (userId: string) =>
    setConfiguredSession({
      mode: "session",
      authenticate: () => Promise.resolve({ userId, session: undefined }),
    });
  const method = useConfiguredSession();
  configure("u1");
  assertEquals(await method.authenticate(event), { userId: "u1", session: undefined });
  configure("u2");
  assertEquals(await method.authenticate(event), { userId: "u2", session: undefined });
  setConfiguredSession(undefined);
});
