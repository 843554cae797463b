import { assert, assertEquals } from "@std/assert";
import { findAuthRoute } from "../../../auth/better_auth/auth_routes.ts";
import { describeAuthRoutes } from "../../../auth/routes/describe_routes.ts";
import { addAuthRoutes } from "../../../cli/openapi/auth_operations.ts";
import { AUTH_TABLES, getAuthOperations } from "../../../cli/grants/auth_tables.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { buildOpenApiDocument } from "../../../validation/openapi/document.ts";
import { createResponseCheck } from "../../support/described_response.ts";
import { listOperations } from "../../support/generated_requests.ts";
import { SECRET } from "../auth_database.ts";
import { ROUTE_PLUGINS, TABLE_PLUGINS } from "./all_plugins.ts";
import { FLOWS } from "./flows.ts";
import { ANSWERS, openBrowser, sharePluginLab } from "./plugin_lab.ts";

/** Changes of the built-in tables by the flows: `users delete`. */
const changes = new Set<string>();

function recordChange(statement: string): void {
  const found = /^(insert) into "(\w+)"|^(update) "(\w+)"|^(delete) from "(\w+)"/.exec(statement);
  const [operation, table] = (found ?? []).slice(1).filter((part) => part !== undefined);
  if (["users", "sessions", "accounts", "verification"].includes(table)) {
    changes.add(`${table} ${operation.toUpperCase()}`);
  }
}

/** Routes of the example accounts for which no flow has the provider of identities or the fields. */
const NOT_WALKED = [
  "POST /auth/callback/{id}",
  "POST /auth/refresh-token",
  "POST /auth/update-session",
];

const { open, test } = sharePluginLab(
  { plugins: TABLE_PLUGINS, audit: true, rateLimit: { storage: "database" } },
  { logger: { logQuery: recordChange } },
);

Deno.test.beforeAll(() => void setLogOutput(() => {}));

for (const [name, walk] of Object.entries(FLOWS)) {
  test(`createAuth() serves ${name} with the tables of generate auth-schema`, walk);
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

Deno.test("addAuthRoutes() describes every answer of the flows, and every success of the example accounts", async () => {
  const { authSchema } = await open();
  const described = await describeAuthRoutes({
    secret: SECRET,
    baseURL: "https://api.example.com/auth",
    schema: authSchema,
    plugins: ROUTE_PLUGINS,
  });
  const fn = {
    kind: "api",
    name: "Auth",
    file: "auth.ts",
    method: "ANY",
    path: "/auth/{proxy+}",
  } as const;
  const { document } = addAuthRoutes(
    buildOpenApiDocument({ title: "Test", version: "1.0.0" }, []),
    [{ fn, file: "auth.ts", line: 1, hasErrorBody: false }],
    described,
  );
  const explain = createResponseCheck(document);
  const walked = new Set<string>();
  const wrong = new Set<string>();
  for (const { method, path, ...answer } of ANSWERS) {
    const route = findAuthRoute(described.routes, method, path);
    const template = `/auth${route?.path.replace(/:(\w+)/g, "{$1}")}`;
    const key = method.toLowerCase();
    if (document.paths[template]?.[key] === undefined) continue;
    const problem = explain(template, key, answer);
    if (problem !== undefined) wrong.add(`${method} ${template}: ${problem}`);
    if (answer.status < 400) walked.add(`${method} ${template}`);
  }
  assertEquals([...wrong], []);
  const example = JSON.parse(
    await Deno.readTextFile(
      new URL("../../../examples/accounts/openapi.json", import.meta.url),
    ),
  );
  const operations = listOperations(example).filter(({ path }) => path.startsWith("/auth/"));
  assertEquals(
    operations.filter(({ path, method }) => !walked.has(`${method.toUpperCase()} ${path}`))
      .map(({ path, method }) => `${method.toUpperCase()} ${path}`),
    NOT_WALKED,
  );
  for (const { path, operation } of operations) {
    const schema = operation.responses[200]?.content?.["application/json"]?.schema;
    assert(schema === undefined || Object.keys(schema).length > 0, `${path} says nothing`);
  }
});

Deno.test("createAuthHandler() answers 404 for routes of a plugin that is not configured", async () => {
  const browser = openBrowser(await open(), {});
  assertEquals((await browser.post("/two-factor/enable", {})).status, 404);
});
