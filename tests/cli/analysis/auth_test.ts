import { assertEquals } from "@std/assert";
import { AUTH_OPERATIONS, AUTH_TABLES } from "../../../cli/analysis/auth_tables.ts";
import { AUTH_ROUTES_TABLE_PERMISSIONS } from "../../../auth/schema.ts";
import { analyse, handler, testGrants } from "../fixtures/analyse.ts";

const AUTH = `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
  configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost" });`;
const CONFIGURED = { "auth.ts": AUTH, "get_db.ts": `export const getDb = (): any => null;` };
const CHECK = "sessions SELECT+UPDATE, users SELECT";
const ROUTES =
  "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, users SELECT+INSERT+UPDATE, " +
  "verification SELECT+INSERT+DELETE";

testGrants([
  ["grants a handler with auth session what checking a session needs", CHECK, {
    ...CONFIGURED,
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
  }],
  ["grants other auth modes nothing", "", {
    ...CONFIGURED,
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "authorizer-optional" }`),
  }],
  ["reads the auth mode through constants, spreads, conditions and wrappers", CHECK, {
    ...CONFIGURED,
    "wrap.ts":
      `import { defineApiHandler } from "@trellis/fn/validation"; const shared = { timeout: 5, auth: "none" } as const;
      export const own = (options: any) => defineApiHandler({ ...shared, ...options });`,
    "fn.ts": `import "./auth.ts"; import { own } from "./wrap.ts"; const MODE = "session" as const;
      export const handler = own({ auth: process.env.X ? MODE : "none" })(async () => {});`,
  }],
  ["grants validateSession on an instance what checking needs, and not the routes", CHECK, {
    ...CONFIGURED,
    "fn.ts": handler(
      `import { getAuth, validateSession as check } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";`,
      `const auth = await getAuth(getDb, { secret: "s", baseURL: "b" }); return check(auth, "t");`,
    ),
  }],
  ["grants expireSession the update of sessions", "sessions SELECT+UPDATE", {
    ...CONFIGURED,
    "fn.ts": handler(
      `import "./auth.ts"; import * as auth from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";`,
      `return auth.expireSession(await auth.getConfiguredSessionAuth(), "t", getDb());`,
    ),
  }],
  ["grants createAuthHandler what the routes need", ROUTES, {
    ...CONFIGURED,
    "fn.ts": `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
      export const handler = createAuthHandler(getConfiguredSessionAuth);`,
  }],
  ["grants the instance's api what the routes need", ROUTES, {
    ...CONFIGURED,
    "fn.ts": handler(
      `import "./auth.ts"; import { getConfiguredSessionAuth } from "@trellis/fn/auth";`,
      `
      const auth = await getConfiguredSessionAuth(); return auth.api.signOut({});`,
    ),
  }],
  ["grants webhooks and helpers of the auth package nothing", "", {
    ...CONFIGURED,
    "fn.ts": handler(
      `import "./auth.ts"; import { createAuth, extractBearerToken, validateCodeHostWebhook } from "@trellis/fn/auth";`,
      `extractBearerToken("x"); return validateCodeHostWebhook("p", "h", "s");`,
    ),
  }],
  ["takes the project's own auth tables", "app.sessions SELECT+UPDATE, people SELECT", {
    "get_db.ts": CONFIGURED["get_db.ts"],
    "auth.ts":
      `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts"; import * as schema from "./own.ts";
      configureSessionAuth(getDb, { secret: "s", baseURL: "b", schema });`,
    "own.ts": `import { pgSchema, pgTable } from "drizzle-orm/pg-core";
      export const user = pgTable("people", {}); export const session = pgSchema("app").table("sessions", {});`,
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
  }],
]);

Deno.test("analysePermissions() warns when a handler has auth session and nothing configures it", async () => {
  const { warnings } = await analyse({ "fn.ts": handler("", "return 1;", `{ auth: "session" }`) });
  assertEquals(warnings.map(({ file, message }) => [file, message]), [
    ["fn.ts", "auth is 'session', but nothing that the function loads calls configureSessionAuth: it will fail"],
  ]);
});

Deno.test("AUTH_OPERATIONS asks for nothing that AUTH_ROUTES_TABLE_PERMISSIONS does not list", () => {
  for (const needs of Object.values(AUTH_OPERATIONS)) {
    for (const [model, operations] of Object.entries(needs)) {
      const listed = AUTH_ROUTES_TABLE_PERMISSIONS.find(({ table }) => table === AUTH_TABLES[model].name);
      assertEquals(operations.filter((operation) => !listed?.operations.includes(operation)), []);
    }
  }
});
