import { assert, assertEquals, assertFalse } from "@std/assert";
import { withTempFolder } from "../support/temp_folder.ts";

const root = new URL("../../", import.meta.url);

/** Every module that an entry point brings along before any `import()` runs. */
async function staticModules(entry: string): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-lock", entry],
    cwd: root,
    stdout: "piped",
    stderr: "piped",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  type Dependency = { specifier: string; code?: { specifier: string }; isDynamic?: boolean };
  const { modules, roots } = JSON.parse(new TextDecoder().decode(stdout)) as {
    roots: string[];
    modules: { specifier: string; dependencies?: Dependency[] }[];
  };
  const reached = new Set(roots);
  for (const specifier of reached) {
    const dependencies = modules.find((module) => module.specifier === specifier)?.dependencies ??
      [];
    for (const { code, isDynamic } of dependencies) {
      if (code && !isDynamic) reached.add(code.specifier);
    }
  }
  return [...reached];
}

Deno.test("./auth brings no better-auth until it is used", async () => {
  const modules = await staticModules("auth/mod.ts");
  assert(modules.some((module) => module.endsWith("/auth/sessions/sessions.ts")));
  assertEquals(
    modules.filter((module) =>
      module.includes("better-auth") || module.endsWith("/better_auth.ts")
    ),
    [],
  );
  for (const module of modules.filter((specifier) => specifier.startsWith(`${root.href}auth/`))) {
    // loading it costs milliseconds at a cold start; hmac.ts asks for it when there is something to check
    assertFalse(
      /^import .* from "node:crypto"/m.test(await Deno.readTextFile(new URL(module))),
      module,
    );
  }
});

Deno.test("defineAuth() brings no check of keys or tokens until a handler asks for it", async () => {
  const modules = await staticModules("auth/define_auth.ts");
  assert(modules.some((module) => module.endsWith("/auth/sessions/session_check.ts")));
  assertEquals(
    // options are checked where a handler is defined
    modules.filter((module) =>
      /\/auth\/(?:keys|jwt)\/(?!\w+_options\.ts)|better-auth|jose/.test(module)
    ),
    [],
  );
});

Deno.test("./auth/schema brings drizzle's tables, and of the package no client and no session", async () => {
  const modules = await staticModules("auth/tables/schema.ts");
  const ours = modules.filter((module) => module.startsWith(root.href)).map((module) =>
    module.slice(root.href.length)
  );
  const own = ours.filter((module) => !/^(?:core|observability|env|errors)\//.test(module));
  assertEquals(own.sort(), [
    "auth/tables/columns.ts",
    "auth/tables/migration.ts",
    "auth/tables/schema.ts",
    "database/queries/table_permission.ts",
    "database/session/drizzle_version.ts",
  ]);
  const packages = new Set(
    modules.filter((module) => !module.startsWith(root.href) && !module.startsWith("node:")).map((
      module,
    ) => module.split("@")[0].replace("npm:/", "npm:")),
  );
  assertEquals([...packages], ["npm:drizzle-orm"]);
});

Deno.test("validateSession() loads no better-auth, and the first use of the api does", async () => {
  const config = await Deno.readTextFile(new URL("deno.json", root));
  const { imports } = JSON.parse(config);
  const trap =
    `data:text/javascript,export const betterAuth=0,drizzleAdapter=0,bearer=0,socialProviderList=0;throw new Error("better-auth was loaded")`;
  const trapped = [
    "better-auth/minimal",
    "better-auth/adapters/drizzle",
    "better-auth/plugins/bearer",
    "better-auth/social-providers",
  ];
  await withTempFolder({}, async (folder) => {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      JSON.stringify({
        imports: { ...imports, ...Object.fromEntries(trapped.map((name) => [name, trap])) },
        nodeModulesDir: "none",
      }),
    );
    // the tested versions: a range alone would take the newest
    await Deno.copyFile(new URL("deno.lock", root), `${folder}/deno.lock`);
    await Deno.writeTextFile(
      `${folder}/main.js`,
      `
      import { configureSessionAuth, getConfiguredSessionAuth, validateSession } from "${new URL(
        "auth/mod.ts",
        root,
      )}";
      import { drizzle } from "drizzle-orm/pg-proxy";
      const row = ["s1", "token", "2999-01-01 00:00:00+00", "u1", "ada@example.com", "Ada", null, true];
      const found = Object.fromEntries(row.map((value, at) => ["c" + at, value]));
      configureSessionAuth(async () => drizzle(async () => ({ rows: [found] })), {
        secret: "${"x".repeat(40)}",
        baseURL: "http://localhost:3000",
      });
      const auth = await getConfiguredSessionAuth();
      const { user } = await validateSession(auth, "token");
      console.log(user.email, await auth.api.ok().catch((error) => error.message));
      `,
    );
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        // without warnings about peers
        "--quiet",
        "--no-check",
        "--config",
        `${folder}/deno.json`,
        `${folder}/main.js`,
      ],
      stdout: "piped",
      stderr: "piped",
    }).output();
    assertEquals(
      [
        new TextDecoder().decode(stdout).trim().split("\n").at(-1),
        new TextDecoder().decode(stderr),
      ],
      ["ada@example.com better-auth was loaded", ""],
    );
  });
});
