import { assertStrictEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  getSessionAuthenticator,
  setSessionAuthenticator,
} from "../../../core/http/session_registry.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

Deno.test("getSessionAuthenticator() gives what was set, and says what to call when nothing is", () => {
  const authenticator = (): Promise<never> => Promise.reject(new Error("unused"));
  setSessionAuthenticator(authenticator);
  assertStrictEquals(getSessionAuthenticator(), authenticator);
  setSessionAuthenticator(undefined);
  const error = assertThrows(() => getSessionAuthenticator(), ConfigurationError);
  assertStringIncludes(error.message, "configureSessionAuth");
});
