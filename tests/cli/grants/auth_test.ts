import { assertEquals, assertStringIncludes } from "@std/assert";
import { API_KEY_COLUMNS } from "../../../auth/keys/api_key_options.ts";
import { AUTH_OPERATIONS, AUTH_TABLES } from "../../../cli/grants/auth_tables.ts";
import { AUTH_ROUTES_TABLE_PERMISSIONS } from "../../../auth/tables/schema.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";
import {
  analyse,
  type Fixture,
  getGrants,
  handler,
  shareAnalysis,
  testGrants,
} from "../fixtures/analyse.ts";

const AUTH =
  `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
  configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost" });`;
const CONFIGURED = { "auth.ts": AUTH, "get_db.ts": `export const getDb = (): any => null;` };
/** The table of API keys. */
const API_KEYS = `pgTable("keys", { ${
  API_KEY_COLUMNS.map((name) => `${name}: text("${name}")`).join(", ")
} })`;
const CHECK = "sessions SELECT+UPDATE, users SELECT";
const ROUTES =
  "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, users SELECT+INSERT+UPDATE, " +
  "verification SELECT+INSERT+DELETE";

/** Auth with the tables of the organization plugin. */
function withOrganizations(): Fixture {
  return {
    "get_db.ts": CONFIGURED["get_db.ts"],
    "auth.ts": `import { defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      import { pgTable } from "drizzle-orm/pg-core";
      const organization = pgTable("orgs", {}); const member = pgTable("members", {});
      export const { session } = defineAuth(getDb, { secret: "s", baseURL: "b", schema: { organization, member } });`,
  };
}

const ROUTES_FUNCTION =
  `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
  export const handler = createAuthHandler(getConfiguredSessionAuth);`;

const LIMITED_ROUTES = ROUTES.replace("sessions", "rate_limits SELECT+INSERT+UPDATE, sessions");

/** A handler whose body uses an instance with limits. */
function useInstance(body: string): string {
  return handler(
    `import { getAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
    const config = { secret: "s", baseURL: process.env.URL! };`,
    body,
  );
}

const ENV = `import { defineEnv, getOptionalEnv } from "@trellis/fn/env";`;

function mountRoutes(routes: string): string {
  return `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
  export const handler = createAuthHandler(getConfiguredSessionAuth, { routes: ${routes} });`;
}

testGrants([
  ["grants a handler with auth session what checking a session needs", CHECK, {
    ...CONFIGURED,
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
  }],
  ["grants a WebSocket handler with auth session what checking a session needs", CHECK, {
    ...CONFIGURED,
    "fn.ts": `import "./auth.ts"; import { defineWebSocketHandler } from "@trellis/fn/triggers";
      export const handler = defineWebSocketHandler({ auth: "session" })(() => {});`,
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
  [
    "grants the clean-up the tables that expire",
    "invitations SELECT+DELETE, sessions SELECT+DELETE, verification SELECT+DELETE",
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "tables.ts": `import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
        export const authSchema = {
          member: pgTable("members", { id: uuid("id"), role: text("role") }),
          invitation: pgTable("invitations", { id: uuid("id"), expiresAt: timestamp("expires_at") }),
        };`,
      "auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
        import { getDb } from "./get_db.ts"; import { authSchema } from "./tables.ts";
        configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost", schema: authSchema });`,
      "fn.ts":
        `import "./auth.ts"; import { createAuthCleanupHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        export const handler = createAuthCleanupHandler(getConfiguredSessionAuth, { batchSize: 1000 });`,
    },
  ],
  [
    "grants listAuthEvents the table of events, and the routes no changes of events",
    "auth_events SELECT",
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "auth.ts":
        `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
        import { pgTable, text } from "drizzle-orm/pg-core";
        const authEvents = pgTable("auth_events", { id: text("id") });
        configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost", schema: { authEvent: authEvents } });`,
      "fn.ts": handler(
        `import "./auth.ts"; import { getConfiguredSessionAuth, listAuthEvents } from "@trellis/fn/auth";`,
        "return listAuthEvents(await getConfiguredSessionAuth());",
      ),
    },
  ],
  [
    "grants the routes of plugins deletes of users and updates of verifications",
    ROUTES.replace("users SELECT+INSERT+UPDATE", "users SELECT+INSERT+UPDATE+DELETE")
      .replace("verification SELECT+INSERT+DELETE", "verification SELECT+INSERT+UPDATE+DELETE"),
    {
      ...CONFIGURED,
      "auth.ts": AUTH.replace(`secret: "s"`, `secret: "s", plugins: async () => []`),
      "fn.ts":
        `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
      export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
  ["grants session checks nothing more when there are plugins", CHECK, {
    ...CONFIGURED,
    "auth.ts": AUTH.replace(`secret: "s"`, `secret: "s", plugins: async () => []`),
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
  }],
  ["grants createAuthHandler what the routes need", ROUTES, {
    ...CONFIGURED,
    "fn.ts":
      `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
      export const handler = createAuthHandler(getConfiguredSessionAuth);`,
  }],
  [
    "grants the routes the table of their limits unless they are off",
    LIMITED_ROUTES,
    {
      ...CONFIGURED,
      "auth.ts": AUTH.replace('"http://localhost"', "process.env.BASE_URL!"),
      "fn.ts": ROUTES_FUNCTION,
    },
  ],
  ["grants calls of the API no table of limits, which only requests count in", ROUTES, {
    ...CONFIGURED,
    "fn.ts": useInstance(`const auth = await getAuth(getDb, config);
      return auth.api.getSession({ headers: new Headers() });`),
  }],
  ["grants a destructured API, and one behind a function, no table of limits", ROUTES, {
    ...CONFIGURED,
    "own.ts": `import { getAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      export const getOwnAuth = () => getAuth(getDb, { secret: "s", baseURL: process.env.URL! });`,
    "fn.ts": handler(
      `import { getOwnAuth } from "./own.ts";`,
      `const { api } = await getOwnAuth(); return api.listSessions({ headers: new Headers() });`,
    ),
  }],
  ["grants an instance of createAuth in another module no table of limits", ROUTES, {
    ...CONFIGURED,
    "own.ts": `import { createAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      let own: any; export const getOwn = () => own ??= createAuth(getDb(), { secret: "s", baseURL: process.env.URL! });`,
    "fn.ts": handler(
      `import { getOwn } from "./own.ts";`,
      "return getOwn().api.getSession({ headers: new Headers() });",
    ),
  }],
  [
    "grants the routes of an instance the table of their limits",
    LIMITED_ROUTES,
    {
      ...CONFIGURED,
      "fn.ts": useInstance(`const auth = await getAuth(getDb, config);
        await auth.api.getSession({ headers: new Headers() });
        return auth.handler(new Request("https://a.example"));`),
    },
  ],
  [
    "grants an instance that other code gets the table of limits, because it may mount the routes",
    LIMITED_ROUTES,
    {
      ...CONFIGURED,
      "fn.ts": useInstance(`const mount: any = (globalThis as any).mount;
        return mount(await getAuth(getDb, config));`),
    },
  ],
  [
    "grants the tables of the mounted routes only",
    "accounts SELECT, sessions SELECT+INSERT+UPDATE+DELETE, users SELECT",
    { ...CONFIGURED, "fn.ts": mountRoutes(`["/sign-in/email", "/get-session"]`) },
  ],
  [
    "grants a sign-out no changes of accounts and users",
    "accounts SELECT, sessions SELECT+UPDATE+DELETE, users SELECT",
    { ...CONFIGURED, "fn.ts": mountRoutes(`["/sign-out"]`) },
  ],
  [
    "grants the callbacks of providers updates of accounts",
    "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, " +
    "users SELECT+INSERT+UPDATE, verification SELECT+INSERT+DELETE",
    { ...CONFIGURED, "fn.ts": mountRoutes(`["/callback/*"]`) },
  ],
  [
    "grants the deletion of users only where the configuration has it",
    "accounts SELECT+DELETE, sessions SELECT+UPDATE+DELETE, users SELECT+DELETE, verification SELECT+INSERT+DELETE",
    {
      ...CONFIGURED,
      "auth.ts": AUTH.replace(
        `secret: "s"`,
        `secret: "s", user: { deleteUser: { enabled: true } }`,
      ),
      "fn.ts": mountRoutes(`["/delete-user"]`),
    },
  ],
  ["grants all routes if hooks may do anything in each", ROUTES, {
    ...CONFIGURED,
    "auth.ts": AUTH.replace(`secret: "s"`, `secret: "s", databaseHooks: {}`),
    "fn.ts": mountRoutes(`["/sign-out"]`),
  }],
  [
    "grants the routes another table of limits",
    `${ROUTES.replace("sessions", "my_limits SELECT+INSERT+UPDATE, sessions")}`,
    {
      ...CONFIGURED,
      "auth.ts": `import { RATE_LIMIT_COLUMNS } from "@trellis/fn/database";
      import { authUsers } from "@trellis/fn/auth/schema"; import { pgTable } from "drizzle-orm/pg-core";
      const rateLimit = pgTable("my_limits", RATE_LIMIT_COLUMNS);
      ${
        AUTH.replace(
          'baseURL: "http://localhost"',
          'baseURL: "https://a.example", schema: { user: authUsers, rateLimit }',
        )
      }`,
      "fn.ts": ROUTES_FUNCTION,
    },
  ],
  ["grants the routes no table of limits when they are disabled or count elsewhere", ROUTES, {
    ...CONFIGURED,
    "auth.ts": AUTH.replace(
      'baseURL: "http://localhost"',
      'baseURL: "https://a.example", rateLimit: { enabled: false }',
    ),
    "fn.ts": ROUTES_FUNCTION,
  }],
  ["grants the routes no table of limits when they count in memory", ROUTES, {
    ...CONFIGURED,
    "auth.ts": AUTH.replace(
      'baseURL: "http://localhost"',
      'baseURL: "https://a.example", rateLimit: { storage: "memory" }',
    ),
    "fn.ts": ROUTES_FUNCTION,
  }],
  ["grants a session check no table of limits", CHECK, {
    ...CONFIGURED,
    "auth.ts": AUTH.replace('"http://localhost"', '"https://a.example"'),
    "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
  }],
  ["grants configureRateLimits its table", "rate_limits SELECT+INSERT+UPDATE", {
    ...CONFIGURED,
    "fn.ts": handler(
      `import { configureRateLimits } from "@trellis/fn/database"; import { getDb } from "./get_db.ts"; configureRateLimits(getDb);`,
      "return 1;",
      `{ rateLimit: { limit: 1, windowSeconds: 1, by: "address" } }`,
    ),
  }],
  ["grants no table of limits without the option rateLimit", "", {
    ...CONFIGURED,
    "fn.ts": handler(
      `import { configureRateLimits } from "@trellis/fn/database"; import { getDb } from "./get_db.ts"; configureRateLimits(getDb);`,
      "return 1;",
    ),
  }],
  ["grants configureRateLimits a table of another name", "my_limits SELECT+INSERT+UPDATE", {
    ...CONFIGURED,
    "fn.ts": handler(
      `import { configureRateLimits, RATE_LIMIT_COLUMNS } from "@trellis/fn/database"; import { getDb } from "./get_db.ts";
       import { pgTable } from "drizzle-orm/pg-core";
       configureRateLimits(getDb, { table: pgTable("my_limits", RATE_LIMIT_COLUMNS), clientAddress: "gateway" });`,
      "return 1;",
      `{ rateLimit: { limit: 1, windowSeconds: 1, by: "address" } }`,
    ),
  }],
  [
    "grants the routes all operations on the tables of plugins",
    "accounts SELECT+INSERT+UPDATE+DELETE, members SELECT+INSERT+UPDATE+DELETE, " +
    "orgs SELECT+INSERT+UPDATE+DELETE, people SELECT+INSERT+UPDATE, rate_limits SELECT+INSERT+UPDATE, " +
    "sessions SELECT+INSERT+UPDATE+DELETE, verification SELECT+INSERT+DELETE",
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "tables.ts": `import { AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
        import { pgTable, text } from "drizzle-orm/pg-core";
        export const user = pgTable("people", AUTH_USER_COLUMNS);
        export const organization = pgTable("orgs", { id: text("id") });
        const member = pgTable("members", { id: text("id") });
        export const more = { member };`,
      "fn.ts":
        `import { configureSessionAuth, createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        import { getDb } from "./get_db.ts"; import { more, organization, user } from "./tables.ts";
        configureSessionAuth(getDb, { secret: "s", baseURL: "b", schema: { user, organization, ...more } });
        export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
  ["grants the instance's api what the routes need", ROUTES, {
    ...CONFIGURED,
    "fn.ts": handler(
      `import "./auth.ts"; import { getConfiguredSessionAuth } from "@trellis/fn/auth";`,
      `
      const auth = await getConfiguredSessionAuth(); return auth.api.signOut({});`,
    ),
  }],
  [
    "grants a handler with the option organization the tables of the organization plugin",
    "members SELECT, orgs SELECT, sessions SELECT+UPDATE, users SELECT",
    {
      ...withOrganizations(),
      "fn.ts": handler(
        `import { session } from "./auth.ts";`,
        "return 1;",
        `{ auth: session({ organization: { role: "owner" } }) }`,
      ),
    },
  ],
  ["grants a handler without the option no organizations", CHECK, {
    ...withOrganizations(),
    "fn.ts": handler(
      `import { session } from "./auth.ts";`,
      "return 1;",
      `{ auth: session({ roles: ["admin"] }) }`,
    ),
  }],
  [
    "grants a handler with auth apiKey() the tables of keys and owners",
    "keys SELECT+UPDATE, people SELECT",
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "auth.ts":
        `import { AUTH_USER_COLUMNS, defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      import { pgTable, text } from "drizzle-orm/pg-core";
      const apikey = ${API_KEYS};
      const user = pgTable("people", AUTH_USER_COLUMNS);
      export const { apiKey } = defineAuth(getDb, { secret: "s", baseURL: "b", schema: { apikey, user } });`,
      "fn.ts": handler(`import { apiKey } from "./auth.ts";`, "return 1;", `{ auth: apiKey() }`),
    },
  ],
  ["grants a handler with auth jwt nothing", "", {
    "fn.ts": handler(
      `import { createJwtAuth } from "@trellis/fn/auth/jwt";
      const auth = createJwtAuth({ issuer: "https://login.example.com", audience: "a" });`,
      "return 1;",
      `{ auth }`,
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
  [
    "takes only better-auth's tables of a module that exports all tables",
    "accounts SELECT+INSERT+UPDATE+DELETE, orgs SELECT+INSERT+UPDATE+DELETE, " +
    "people SELECT+INSERT+UPDATE, rate_limits SELECT+INSERT+UPDATE, " +
    "sessions SELECT+INSERT+UPDATE+DELETE, verification SELECT+INSERT+DELETE",
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "own.ts": `import { pgTable } from "drizzle-orm/pg-core";
        export const user = pgTable("people", {}); export const notes = pgTable("notes", {});
        export const organization = pgTable("orgs", {});`,
      "fn.ts":
        `import { configureSessionAuth, createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        import { getDb } from "./get_db.ts"; import * as schema from "./own.ts";
        configureSessionAuth(getDb, { secret: "s", baseURL: "b", schema });
        export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
]);

const DEFINED = {
  "get_db.ts": CONFIGURED["get_db.ts"],
  "own.ts": `import { AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
    import { pgTable, text } from "drizzle-orm/pg-core"; import * as plugins from "./plugin_tables.ts";
    export const user = pgTable("people", { ...AUTH_USER_COLUMNS, role: text("role") });
    export const { organization, member, apikey } = plugins;`,
  "plugin_tables.ts": `import { pgTable, text } from "drizzle-orm/pg-core";
    export const organization = pgTable("orgs", {}); export const member = pgTable("members", {});
    export const apikey = ${API_KEYS};`,
  "auth.ts": `import { defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
    import { user, organization, member, apikey } from "./own.ts";
    export const { session, apiKey, jwt, getAuth } = defineAuth(getDb, {
      secret: "s", baseURL: process.env.BASE_URL!, schema: { user, organization, member, apikey },
    });
    export const admins = session({ roles: ["admin"] });`,
};
const DEFINED_CHECK = "people SELECT, sessions SELECT+UPDATE";
const ROUTES_OF_PEOPLE =
  "accounts SELECT+INSERT+UPDATE+DELETE, people SELECT+INSERT+UPDATE, rate_limits SELECT+INSERT+UPDATE, " +
  "sessions SELECT+INSERT+UPDATE+DELETE, verification SELECT+INSERT+DELETE";
const importing = (names: string) => `import { ${names} } from "./auth.ts";`;

testGrants([
  ["grants a handler with session() what checking a session needs", DEFINED_CHECK, {
    ...DEFINED,
    "fn.ts": handler(importing("session"), "return 1;", `{ auth: session() }`),
  }],
  ["reads values through constants, conditions and wrappers", DEFINED_CHECK, {
    ...DEFINED,
    "wrap.ts":
      `import { defineApiHandler } from "@trellis/fn/validation"; import * as auth from "./auth.ts";
      export const own = (options: any) => defineApiHandler({ auth: process.env.X ? auth.admins : "none", ...options });`,
    "fn.ts": `import { own } from "./wrap.ts"; export const handler = own({})(async () => {});`,
  }],
  ["grants a WebSocket handler with session() what checking a session needs", DEFINED_CHECK, {
    ...DEFINED,
    "fn.ts":
      `import { session } from "./auth.ts"; import { defineWebSocketHandler } from "@trellis/fn/triggers";
      export const handler = defineWebSocketHandler({ auth: session() })(() => {});`,
  }],
  [
    "grants session({ organization }) the tables of the organization plugin",
    `members SELECT, orgs SELECT, ${DEFINED_CHECK}`,
    {
      ...DEFINED,
      "fn.ts": handler(
        importing("session"),
        "return 1;",
        `{ auth: session({ organization: { role: "owner" } }) }`,
      ),
    },
  ],
  ["grants what functions in the options of a value use", `a SELECT, ${DEFINED_CHECK}`, {
    ...DEFINED,
    "fn.ts": handler(
      `import { session } from "./auth.ts"; import { readA } from "./queries.ts";`,
      "return 1;",
      `{ auth: session({ authorize: async () => (await readA()) !== undefined }) }`,
    ),
  }],
  [
    "grants apiKey() the tables of keys and owners",
    "keys SELECT+UPDATE, orgs SELECT, people SELECT",
    {
      ...DEFINED,
      "fn.ts": handler(
        importing("apiKey"),
        "return 1;",
        `{ auth: apiKey({ permissions: { a: ["b"] } }) }`,
      ),
    },
  ],
  ["grants jwt() nothing", "", {
    ...DEFINED,
    "fn.ts": handler(
      importing("jwt"),
      "return 1;",
      `{ auth: jwt({ issuer: "https://login.example.com", audience: "a" }) }`,
    ),
  }],
  ["grants a function that only loads the module of defineAuth() nothing", "", {
    ...DEFINED,
    "fn.ts": handler(importing("session"), "return 1;", `{ auth: "none" }`),
  }],
  [
    "grants the clean-up with getAuth what it removes",
    "keys SELECT+DELETE, rate_limits SELECT+DELETE, sessions SELECT+DELETE, verification SELECT+DELETE",
    {
      ...DEFINED,
      "fn.ts":
        `import { createAuthCleanupHandler } from "@trellis/fn/auth"; import { getAuth } from "./auth.ts";
      export const handler = createAuthCleanupHandler(getAuth);`,
    },
  ],
  [
    "grants the routes with getAuth what getConfiguredSessionAuth does",
    ROUTES_OF_PEOPLE,
    {
      "get_db.ts": CONFIGURED["get_db.ts"],
      "auth.ts":
        `import { defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      import { pgTable } from "drizzle-orm/pg-core"; const user = pgTable("people", {});
      export const { session, getAuth } = defineAuth(getDb, { secret: "s", baseURL: "b", schema: { user } });`,
      "fn.ts":
        `import { createAuthHandler } from "@trellis/fn/auth"; import { getAuth } from "./auth.ts";
      export const handler = createAuthHandler(getAuth);`,
    },
  ],
  ["grants validateSession on the instance of getAuth what checking needs", DEFINED_CHECK, {
    ...DEFINED,
    "fn.ts": handler(
      `import { validateSession } from "@trellis/fn/auth"; import { getAuth } from "./auth.ts";`,
      `return validateSession(await getAuth(), "t");`,
    ),
  }],
]);

Deno.test("analysePermissions() grants the api of the instance of getAuth what the routes need", async () => {
  const routes = handler(importing("getAuth"), "return (await getAuth()).api.signOut({});");
  const called = handler(
    `import { getConfiguredSessionAuth } from "@trellis/fn/auth"; import "./auth.ts";`,
    "return (await getConfiguredSessionAuth()).api.signOut({});",
  );
  const configured = DEFINED["auth.ts"].replace("defineAuth }", "configureSessionAuth }")
    .replace("export const { session, apiKey, jwt, getAuth } = defineAuth", "configureSessionAuth")
    .replace(/export const admins.*/, "");
  assertEquals(
    getGrants(await analyse({ ...DEFINED, "fn.ts": routes })),
    getGrants(await analyse({ ...DEFINED, "auth.ts": configured, "fn.ts": called })),
  );
});

Deno.test("analysePermissions() warns about values of defineAuth() whose tables are missing", async () => {
  const getWarnings = async (auth: string) =>
    (await analyse({
      "get_db.ts": CONFIGURED["get_db.ts"],
      "auth.ts":
        `import { defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
        export const { session, apiKey } = defineAuth(getDb, { secret: "s", baseURL: "b" });`,
      "fn.ts": handler(importing("session, apiKey"), "return 1;", `{ auth: ${auth} }`),
    })).warnings.map(({ message }) => message);
  assertEquals(await getWarnings("session()"), []);
  assertEquals(await getWarnings(`session({ organization: {} })`), [
    "the option organization needs the tables organization and member in AuthConfig.schema: requests will fail",
  ]);
  assertEquals(await getWarnings(`session({ roles: ["admin"] })`), [
    "the option roles needs the column role in the table user of AuthConfig.schema: requests will fail",
  ]);
});

Deno.test("analysePermissions() warns when a handler has auth session and nothing configures it", async () => {
  const { warnings } = await analyse({ "fn.ts": handler("", "return 1;", `{ auth: "session" }`) });
  assertEquals(warnings.map(({ file, message }) => [file, message]), [
    [
      "fn.ts",
      "auth is 'session', but no module that the function loads calls configureSessionAuth: requests will fail",
    ],
  ]);
});

Deno.test("analysePermissions() warns when a handler has a limit and nothing configures limits", async () => {
  const rateLimit = `{ rateLimit: { limit: 1, windowSeconds: 1, by: "address" } }`;
  const { warnings } = await analyse({ "fn.ts": handler("", "return 1;", rateLimit) });
  assertEquals(warnings.map(({ file, message }) => [file, message]), [
    [
      "fn.ts",
      "a handler has rateLimit, but no module that the function loads calls configureRateLimits: requests will fail",
    ],
  ]);
});

Deno.test("analysePermissions() names the place of an option that better-auth does not have", async () => {
  const { unresolved } = await analyse({
    ...CONFIGURED,
    "auth.ts": `import { defineAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      const account: any = { accountLinking: { enabeld: true } };
      export const { session } = defineAuth(getDb, { secret: "s", baseURL: "b", account });`,
    "fn.ts": handler(`import { session } from "./auth.ts";`, "return 1;", `{ auth: session() }`),
  });
  assertEquals(unresolved.map(({ file, line }) => [file, line]), [["auth.ts", 3]]);
  assertStringIncludes(
    unresolved[0].message,
    "AuthConfig.account.accountLinking has no option enabeld",
  );
});

Deno.test("analysePermissions() warns when sessions have no column for the option roles", async () => {
  const roles = handler(
    `import { session } from "./auth.ts";`,
    "return 1;",
    `{ auth: session({ roles: ["admin"] }) }`,
  );
  const getWarnings = async (files: Fixture) =>
    (await analyse({ ...CONFIGURED, ...files, "fn.ts": roles })).warnings.map(({ message }) =>
      message
    );
  const missing = [
    "the option roles needs the column role in the table user of AuthConfig.schema: requests will fail",
  ];
  assertEquals(await getWarnings(withOrganizations()), missing);
  const withUser = (columns: string, options = "") => ({
    "auth.ts": `import { AUTH_USER_COLUMNS, defineAuth } from "@trellis/fn/auth";
      import { getDb } from "./get_db.ts"; import { pgTable, text } from "drizzle-orm/pg-core";
      const user = pgTable("users", { ...AUTH_USER_COLUMNS, ${columns} });
      export const { session } = defineAuth(getDb, { secret: "s", baseURL: "http://localhost", schema: { user }, ${options} });`,
  });
  assertEquals(await getWarnings(withUser(`plan: text("plan")`)), missing);
  assertEquals(await getWarnings(withUser(`role: text("role")`)), []);
  const hidden = `user: { additionalFields: { role: { type: "string", returned: false } } }`;
  assertEquals(await getWarnings(withUser(`role: text("role")`, hidden)), missing);
});

Deno.test("AUTH_OPERATIONS asks for nothing that AUTH_ROUTES_TABLE_PERMISSIONS does not list", () => {
  for (const needs of Object.values(AUTH_OPERATIONS)) {
    for (const [model, operations] of Object.entries(needs)) {
      if (AUTH_TABLES[model] === undefined) continue; // a plugin's table
      const listed = AUTH_ROUTES_TABLE_PERMISSIONS.find(({ table }) =>
        table === AUTH_TABLES[model].name
      );
      assertEquals(operations.filter((operation) => !listed?.operations.includes(operation)), []);
    }
  }
});

/** The columns that operations are limited to: `sessions UPDATE(expires_at,updated_at)`. */
async function getColumns(files: Fixture): Promise<string[]> {
  const analysis = await analyseColumns(files);
  assertEquals(analysis.unresolved, []);
  return analysis.functions[0].tables.flatMap(({ table, columns = [] }) =>
    columns.map((each) => `${table.name} ${each.operation}(${each.columns.join()})`)
  );
}

const OF_SESSIONS = "created_at,expires_at,id,token,updated_at,user_id";
const OF_CHECK = [
  `sessions SELECT(${OF_SESSIONS})`,
  "sessions UPDATE(expires_at,updated_at)",
  "users SELECT(email,email_verified,id,image,name)",
];
const SESSION_HANDLER = {
  "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`),
};

/** Auth with tables of the project's own. */
function withTables(tables: string, more: Fixture = {}): Fixture {
  return {
    ...more,
    ...SESSION_HANDLER,
    "get_db.ts": CONFIGURED["get_db.ts"],
    "auth.ts":
      `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
      import { session, user } from "./own.ts";
      configureSessionAuth(getDb, { secret: "s", baseURL: "b", schema: { session, user } });`,
    "own.ts": `import { AUTH_SESSION_COLUMNS, AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
      import { boolean, pgTable, text, timestamp } from "drizzle-orm/pg-core"; ${tables}`,
  };
}

const USERS = `export const user = pgTable("users", AUTH_USER_COLUMNS);`;
const OF_USERS = OF_CHECK[2];

const COLUMNS: [what: string, expected: string[], files: Fixture][] = [
  ["what a check reads and writes", OF_CHECK, { ...CONFIGURED, ...SESSION_HANDLER }],
  ["what an end of a session reads and writes", [
    "sessions SELECT(expires_at,id,token)",
    "sessions UPDATE(expires_at,updated_at)",
  ], {
    ...CONFIGURED,
    "fn.ts": handler(
      `import "./auth.ts"; import { expireSession, getConfiguredSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";`,
      `return expireSession(await getConfiguredSessionAuth(), "t", getDb());`,
    ),
  }],
  ["nothing where the routes need whole tables", [], {
    ...CONFIGURED,
    "fn.ts":
      `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
      export const handler = createAuthHandler(getConfiguredSessionAuth);`,
  }],
  ["the other operation where a query needs one on the whole table", [OF_CHECK[1], OF_USERS], {
    ...CONFIGURED,
    "query.ts":
      `import { DatabaseOperation } from "@trellis/fn/database"; import { defineQuery } from "./db.ts";
      import { authSessions } from "@trellis/fn/auth/schema";
      export const list = defineQuery({ tables: [{ table: authSessions, operations: [DatabaseOperation.Select] }] }, async (db) => {});`,
    "fn.ts": handler(
      `import "./auth.ts"; import { list } from "./query.ts";`,
      "return list();",
      `{ auth: "session" }`,
    ),
  }],
  [
    "the package's columns and added ones in a table of one's own",
    [
      "sessions SELECT(created_at,device,expires_at,id,token,updated_at,user_id)",
      OF_CHECK[1],
      OF_USERS,
    ],
    withTables(
      `${USERS} export const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, device: text("device") });`,
    ),
  ],
  [
    "columns under other names, and those that drizzle sets in each update",
    [
      "visits SELECT(at,created_at,ends,id,member,seen_at,seen_by,token,updated_at)",
      "visits UPDATE(ends,seen_at,seen_by,updated_at)",
      "members SELECT(email_verified,id,image,mail,name)",
    ].sort(),
    withTables(`
      const base = { ...AUTH_SESSION_COLUMNS, userId: text("member").notNull() };
      export const session = pgTable("visits", {
        ...base,
        expiresAt: timestamp("ends", { withTimezone: true }).notNull(),
        seenAt: timestamp("seen_at").$onUpdate(() => new Date()),
        "seenBy": text("seen_by").$onUpdateFn(() => "x"),
        at: timestamp("at").defaultNow(),
      });
      export const user = pgTable("members", { ...AUTH_USER_COLUMNS, email: text("mail").notNull() });`),
  ],
  [
    "the admin plugin's column",
    [
      `sessions SELECT(created_at,expires_at,id,impersonated_by,token,updated_at,user_id)`,
      ...OF_CHECK.slice(1),
    ],
    withTables(`${USERS}
      export const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, impersonatedBy: text("impersonated_by") });`),
  ],
  [
    "no column with returned: false",
    [...OF_CHECK.slice(0, 2), "users SELECT(email,email_verified,id,image,name,plan)"],
    {
      ...withTables(
        `export const session = pgTable("sessions", AUTH_SESSION_COLUMNS);
        export const user = pgTable("users", { ...AUTH_USER_COLUMNS, plan: text("plan"), note: text("note") });`,
      ),
      "auth.ts":
        `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
        import { session, user } from "./own.ts"; const note = { type: "string", returned: false } as const;
        const additionalFields = { plan: { type: "string", returned: true }, note };
        configureSessionAuth(getDb, { secret: "s", baseURL: "b", schema: { session, user }, user: { additionalFields } });`,
    },
  ],
  [
    "nothing of a table with a column whose name the client decides, which it cannot with drizzle 1.0",
    isDrizzleOne
      ? [
        "sessions SELECT(created_at,deviceName,expires_at,id,token,updated_at,user_id)",
        ...OF_CHECK.slice(1),
      ]
      : [OF_USERS],
    withTables(
      `${USERS} export const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, deviceName: text() });`,
    ),
  ],
  [
    "columns that a function adds",
    OF_CHECK,
    withTables(
      `import { more } from "./more.ts"; ${USERS}
      export const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, ...more() });`,
      { "more.ts": `export const more = (): any => JSON.parse("{}");` },
    ),
  ],
  [
    "a column of a helper, which drizzle sets in each update",
    [
      "sessions SELECT(created_at,expires_at,id,seen_at,token,updated_at,user_id)",
      "sessions UPDATE(expires_at,seen_at,updated_at)",
      OF_USERS,
    ],
    withTables(`const at = (name: string) => timestamp(name).$onUpdate(() => new Date()); ${USERS}
      export const session = pgTable("sessions", { ...AUTH_SESSION_COLUMNS, seenAt: at("seen_at") });`),
  ],
];

const analyseColumns = shareAnalysis(COLUMNS.map(([, , files]) => files));
for (const [what, expected, files] of COLUMNS) {
  Deno.test(`analysePermissions() limits grants to columns: ${what}`, async () => {
    assertEquals(await getColumns(files), expected);
  });
}

Deno.test("analysePermissions() refuses mounted routes that a variable decides, with file and line", async () => {
  const cases: [routes: string, before?: string][] = [
    [`(process.env.ROUTES ?? "/sign-out").split(" ")`],
    [`process.env.ALL === "yes" ? undefined : ["/sign-out"]`],
    [`getOptionalEnv("ALL") === "yes" ? undefined : ["/sign-out"]`, ENV],
    [
      `env.ALL === "yes" ? undefined : ["/sign-out"]`,
      `${ENV} const env = defineEnv({ ALL: { default: "" } });`,
    ],
    [
      "list",
      `${ENV} const choose = () => getOptionalEnv("ALL") ? ["/ok"] : ["/sign-out"]; const list = choose();`,
    ],
  ];
  const projects = cases.map(([routes, before = ""]) => ({
    ...CONFIGURED,
    "fn.ts": `${before}\n${mountRoutes(routes)}`,
  }));
  const analyseCase = shareAnalysis(projects);
  for (const [at, [routes]] of cases.entries()) {
    const { unresolved } = await analyseCase(projects[at]);
    assertEquals(unresolved.map(({ file, line, message }) => [file, line, message]), [[
      "fn.ts",
      mountRoutes("").split("\n").findIndex((text) => text.includes("routes:")) + 2,
      "the routes come from an environment variable, but the grants depend on the mounted routes: " +
      "write the option routes of createAuthHandler as literals",
    ]], routes);
  }
});

Deno.test("analysePermissions() refuses a variable that decides the routes of a helper", async () => {
  const files = {
    ...CONFIGURED,
    "fn.ts":
      `const mount = (routes: string[]) => createAuthHandler(getConfiguredSessionAuth, { routes });
      ${mountRoutes("").split("export")[0]}
      export const handler = mount((process.env.ROUTES ?? "/sign-out").split(" "));`,
  };
  const { unresolved } = await analyse(files);
  assertEquals(unresolved.length, 1);
  assertStringIncludes(unresolved[0].message, "the routes come from an environment variable");
  assertStringIncludes(
    unresolved[0].message,
    "write the option routes of createAuthHandler as literals",
  );
});

Deno.test("analysePermissions() takes mounted routes that are constants", async () => {
  for (const routes of [`["/sign-out"]`, `["/sign-in/email", "/get-session"]`]) {
    const { unresolved, warnings } = await analyse({ ...CONFIGURED, "fn.ts": mountRoutes(routes) });
    assertEquals([unresolved, warnings], [[], []]);
  }
});
