import { assertEquals } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import type { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { AUTH_TABLES, getAuthOperations } from "../../../cli/grants/auth_tables.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { TABLE_PLUGINS } from "./all_plugins.ts";
import { FLOWS } from "./flows.ts";
import { generateSchema } from "./generated_schema.ts";
import { openBrowser, type PluginLab } from "./plugin_lab.ts";
import { openAuthDatabase } from "../auth_database.ts";

// Deno starts a test in the asynchronous context in which the one before ended, so that better-auth
// would continue its last request
const startFresh = AsyncLocalStorage.snapshot();

/** Changes of the built-in tables by the flows: `users delete`. */
const changes = new Set<string>();

function recordChange(statement: string): void {
  const found = /^(insert) into "(\w+)"|^(update) "(\w+)"|^(delete) from "(\w+)"/.exec(statement);
  const [operation, table] = (found ?? []).slice(1).filter((part) => part !== undefined);
  if (["users", "sessions", "accounts", "verification"].includes(table)) {
    changes.add(`${table} ${operation.toUpperCase()}`);
  }
}

let opened: Promise<PluginLab & { pglite: PGlite }> | undefined;

/** Opens the embedded database with the tables that generate auth-schema writes. */
async function open(): Promise<PluginLab & { pglite: PGlite }> {
  const { pglite } = await openAuthDatabase();
  await pglite.exec("DROP TABLE users, sessions, accounts, verification");
  const { authSchema, statements } = await generateSchema({
    plugins: TABLE_PLUGINS,
    audit: true,
    rateLimit: { storage: "database" },
  });
  await pglite.exec(statements.join("\n"));
  return {
    pglite,
    db: drizzle(pglite, { schema: authSchema, logger: { logQuery: recordChange } }),
    authSchema,
    query: async (sql) => (await pglite.query<Record<string, unknown>>(sql)).rows,
  };
}

Deno.test.beforeAll(() => void setLogOutput(() => {}));
Deno.test.afterAll(async () => await (await opened)?.pglite.close());

for (const [plugin, walk] of Object.entries(FLOWS)) {
  Deno.test(`createAuth() serves the plugin ${plugin} with the tables of generate auth-schema`, async () => {
    const lab = await (opened ??= open());
    await startFresh(() => walk(lab));
  });
}

Deno.test("getAuthOperations() grants the routes every change that the flows of plugins made", () => {
  const operations = getAuthOperations("routes", [], { hasLimits: false, isExtended: true });
  const granted = Object.entries(operations).flatMap(([model, list]) =>
    (list ?? []).map((operation) => `${AUTH_TABLES[model]?.name} ${operation}`)
  );
  assertEquals([...changes].filter((change) => !granted.includes(change)), []);
  // the flows ran before: a single sign-up makes three of these
  assertEquals(changes.has("users DELETE") && changes.has("accounts UPDATE"), true);
});

Deno.test("createAuthHandler() answers 404 for routes of a plugin that is not configured", async () => {
  const lab = await (opened ??= open());
  const browser = openBrowser(lab, {});
  assertEquals((await browser.post("/two-factor/enable", {})).status, 404);
});
