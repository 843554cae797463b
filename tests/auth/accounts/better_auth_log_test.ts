import { assertEquals } from "@std/assert";
import { logBetterAuth } from "../../../auth/accounts/better_auth_options.ts";
import { setLogOutput } from "../../../observability/mod.ts";

/** Level, text and the keys of the line that comes of it. */
function logged(level: string, message: string, ...values: unknown[]): unknown {
  let text = "";
  const restore = setLogOutput((lines) => text += lines);
  logBetterAuth(level, message, ...values);
  restore();
  const { level: at, message: words, error, email, values: all } = JSON.parse(text);
  return { at, words, error: error?.message, rest: email ?? all };
}

Deno.test("logBetterAuth() keeps the level and the text", () => {
  assertEquals(logged("warn", "[better-auth] Rate limiting"), {
    at: "WARN",
    words: "[better-auth] Rate limiting",
    error: undefined,
    rest: undefined,
  });
  assertEquals(logged("error", "x"), {
    at: "ERROR",
    words: "[better-auth] x",
    error: undefined,
    rest: undefined,
  });
});

Deno.test("logBetterAuth() keeps errors and leaves out everything else that comes with the text", () => {
  assertEquals(
    logged(
      "error",
      "Failed to create user",
      { email: "ada@example.com" },
      new Error("no route"),
      "token",
    ),
    {
      at: "ERROR",
      words: "[better-auth] Failed to create user",
      error: "no route",
      rest: undefined,
    },
  );
});

Deno.test("logBetterAuth() leaves out the statement and its parameters when they are the text", () => {
  const text = 'Failed query: select "id" from "users" where "email" = $1\nparams: ada@example.com';
  assertEquals(logged("error", text), {
    at: "ERROR",
    words: "[better-auth] a query failed",
    error: undefined,
    rest: undefined,
  });
});

Deno.test("logBetterAuth() names the command of this package in place of better-auth's", () => {
  const text = "Missing tables\n\n  help: Run `npx auth generate`, or npx auth@latest generate";
  const { words } = logged("error", text) as { words: string };
  assertEquals(
    words,
    "[better-auth] Missing tables\n\n  help: Run `trellis generate auth-schema`, or trellis generate auth-schema",
  );
});
