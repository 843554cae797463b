import { assertEquals } from "@std/assert";
import { omitAuthImports } from "../../../cli/build/auth_config_parts.ts";
import { applyEdits, parseSyntax } from "../../../cli/sources/syntax.ts";

/** Names the modules that are still imported. */
function listKept(options: string, keys = `secret: "s", baseURL: "http://localhost",`): string[] {
  const code =
    `configureSessionAuth(async () => (await import("./db")).db, { ${keys} ${options} });`;
  const changed = applyEdits(code, omitAuthImports(parseSyntax(code).program));
  return [...changed.matchAll(/import\("([^"]+)"\)/g)].map(([, name]) => name);
}

Deno.test("omitAuthImports() omits what functions of an auth configuration import", () => {
  const cases: readonly [options: string, kept: string[]][] = [
    [`mail: async () => (await import("./mails.ts")).mails`, ["./db"]],
    [`async plugins() { return (await import("./a")).plugins(await import("./b")); }`, ["./db"]],
    [`"plugins": function () { return import("./a"); }`, ["./db"]],
    [`user: { deleteUser: { send: async (m) => (await import("./a")).send(m) } }`, ["./db"]],
    // runs when the module is loaded
    [`plugins: await import("./a")`, ["./db", "./a"]],
    // called by session checks
    [`trustedOrigins: async () => (await import("./a")).origins`, ["./db", "./a"]],
    [`schema: { user: (await import("./a")).users }`, ["./db", "./a"]],
  ];
  for (const [options, kept] of cases) assertEquals(listKept(options), kept, options);
});

Deno.test("omitAuthImports() keeps the imports of other objects", () => {
  const options = `plugins: () => import("./a")`;
  assertEquals(listKept(options, `secret: "s",`), ["./db", "./a"]);
  assertEquals(listKept(options, `baseURL: "http://localhost",`), ["./db", "./a"]);
  assertEquals(
    omitAuthImports(parseSyntax(`export const secret = 1, baseURL = () => import("./a");`).program),
    [],
  );
});
