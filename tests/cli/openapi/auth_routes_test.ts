import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compileErrors, validate } from "@readme/openapi-parser";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { createAuth } from "../../../auth/accounts/instance.ts";
import { createAuthHandler } from "../../../auth/routes/auth_handler.ts";
import { describeAuthRoutes } from "../../../auth/routes/describe_routes.ts";
import { type AuthFunction, mountRoutes } from "../../../cli/openapi/auth_functions.ts";
import { addAuthRoutes } from "../../../cli/openapi/auth_operations.ts";
import { toJsonSchema } from "../../../cli/openapi/auth_schemas.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { buildOpenApiDocument } from "../../../validation/openapi/document.ts";
import { ROUTE_PLUGINS } from "../../auth/plugins/all_plugins.ts";
import { generateSchema } from "../../auth/plugins/generated_schema.ts";
import { authModule } from "../fixtures/auth_project.ts";
import { generate, withOpenapiProject } from "../fixtures/openapi_project.ts";

const SECRET = "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-test";

/** An auth function at a route. */
function at(method: string, path: string, routes?: readonly string[]): AuthFunction {
  return {
    fn: { kind: "api", name: "Auth", file: "auth.ts", method, path },
    file: "auth.ts",
    line: 1,
    hasErrorBody: false,
    ...routes && { routes },
  };
}

const EMPTY = buildOpenApiDocument({ title: "Test", version: "1.0.0" }, []);

type Operation = {
  readonly security: Record<string, unknown>[];
  readonly tags: string[];
  readonly requestBody?: { readonly required?: boolean };
  readonly responses: Record<string, { content?: unknown }>;
};

Deno.test("addAuthRoutes() describes every route of every plugin in a valid document", async () => {
  const config: AuthConfig = {
    secret: SECRET,
    baseURL: "https://api.example.com/live/auth",
    plugins: ROUTE_PLUGINS,
    schema: (await generateSchema({ plugins: ROUTE_PLUGINS })).authSchema,
  };
  const described = await describeAuthRoutes(config);
  assert(described.routes.length > 150, `${described.routes.length}`);
  const { document, findings } = addAuthRoutes(EMPTY, [at("ANY", "/auth/{proxy+}")], described);
  assertEquals(findings, []);
  const result = await validate(structuredClone(document) as Parameters<typeof validate>[0]);
  assert(result.valid, result.valid ? "" : compileErrors(result));

  // what is described is what the function serves
  const served = described.routes.filter(({ method }) => method !== "*").map(({ method, path }) =>
    `${method} /auth${path.replace(/:(\w+)/g, "{$1}")}`
  );
  const written = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`)
  );
  assertEquals(written.filter((each) => !served.includes(each)), []);
  const missing = new Set(served.filter((each) => !written.includes(each)));
  assertEquals([...missing].filter((each) => /^(?:GET|POST|PUT|PATCH|DELETE) /.test(each)), []);
  const operations = Object.values(document.paths).flatMap((item) =>
    Object.values(item) as (Operation & { operationId: string })[]
  );
  for (const { operationId, responses } of operations) {
    assert(!operationId.includes("_auth_"), operationId);
    assert(Object.keys(responses).some((status) => Number(status) < 400), operationId);
  }
  assert(!("post" in document.paths["/auth/get-session"]), "better-auth answers 405");
  const { parameters } = document.paths["/auth/delete-user/callback"].get as {
    parameters: { name: string; required?: boolean }[];
  };
  assertEquals(parameters.find(({ name }) => name === "token")?.required, true);
  // what the schemas of the routes take: fields of a union, and optional fields that are not null
  const info = document.paths["/auth/account-info"].get as { parameters: { name: string }[] };
  assert(info.parameters.some(({ name }) => name === "accountId"));
  const mail = JSON.stringify(document.paths["/auth/send-verification-email"].post);
  assertStringIncludes(mail, '"format":"email"');
  assertStringIncludes(mail, '"callbackURL":{"type":"string"');
  assertEquals(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
});

Deno.test("describeAuthRoutes() knows which routes refuse requests without a session", async () => {
  const config: AuthConfig = { secret: SECRET, baseURL: "http://localhost:3000" };
  const { described } = await describeAuthRoutes(config);
  const auth = createAuth(
    {
      select: () => {
        throw new Error("no database");
      },
    } as unknown as Parameters<typeof createAuth>[0],
    config,
  );
  const handler = createAuthHandler(() => auth, { logging: { level: "SILENT" } });
  const restore = setLogOutput(() => {});
  const guarded = described.filter(({ needsSession }) => needsSession);
  assert(guarded.length > 10);
  for (const { method, path } of guarded) {
    const event = createHttpApiEvent({
      method,
      path: `/api/auth${path}`,
      ...method === "POST" && { body: {} },
    });
    const { statusCode } = await handler(event, createLambdaContext());
    // some validate the body first
    assert(statusCode === 401 || statusCode === 400, `${method} ${path}: ${statusCode}`);
  }
  restore();
});

const ROUTES = ["POST /sign-in/email", "GET /get-session", "GET /reset-password/:token"].map(
  (name) => ({ method: name.split(" ")[0], path: name.split(" ")[1] }),
);

const MOUNTS: [string, AuthFunction[], string[]][] = [
  ["one function for all", [at("ANY", "/auth/{proxy+}")], [
    "POST /auth/sign-in/email",
    "GET /auth/get-session",
    "GET /auth/reset-password/{token}",
  ]],
  ["a file for each route", [at("POST", "/a/b/sign-in/email"), at("GET", "/a/b/get-session")], [
    "POST /a/b/sign-in/email",
    "GET /a/b/get-session",
  ]],
  ["a function for a part", [at("ANY", "/auth/sign-in/{proxy+}")], ["POST /auth/sign-in/email"]],
  ["the option routes", [at("ANY", "/auth/{proxy+}", ["/reset-password/*"])], [
    "GET /auth/reset-password/{token}",
  ]],
  ["a parameter of another name", [at("GET", "/auth/reset-password/{code}")], [
    "GET /auth/reset-password/{token}",
  ]],
  ["a method", [at("GET", "/{proxy+}")], ["GET /get-session", "GET /reset-password/{token}"]],
];

for (const [name, functions, expected] of MOUNTS) {
  Deno.test(`mountRoutes() finds the routes of ${name}`, () => {
    const { mounted, unknown } = mountRoutes(functions, ROUTES);
    assertEquals(mounted.map(({ route, path }) => `${route.method} ${path}`), expected);
    assertEquals(unknown, []);
  });
}

Deno.test("mountRoutes() reports functions and patterns that serve no route", () => {
  const { unknown } = mountRoutes([
    at("ANY", "/auth/{proxy+}", ["/get-session", "/two-factor/*"]),
    at("POST", "/auth/log-in"),
  ], ROUTES);
  assertEquals(unknown.length, 2);
  assertStringIncludes(unknown[0].message, "/two-factor/*");
  assertStringIncludes(unknown[1].message, "POST /auth/log-in");
});

Deno.test("toJsonSchema() replaces what JSON Schema does not have, and renames references", () => {
  const found = new Set<string>();
  assertEquals(
    toJsonSchema({
      type: "object",
      properties: {
        at: { type: "date", required: true },
        any: { type: "json" },
        user: { $ref: "#/components/schemas/User", nullable: true },
        owner: { $ref: "#/components/schemas/User", required: ["updatedAt"] },
        redirect: { type: "boolean", enum: [false] },
        name: { type: "string", nullable: true },
        type: { type: "string" },
      },
      required: ["at", "missing"],
    }, found),
    {
      type: "object",
      properties: {
        at: { type: "string", format: "date-time" },
        any: {},
        user: { anyOf: [{ $ref: "#/components/schemas/AuthUser" }, { type: "null" }] },
        owner: { $ref: "#/components/schemas/AuthUser" },
        redirect: { type: "boolean" },
        name: { type: ["string", "null"] },
        type: { type: "string" },
      },
      required: ["at"],
    },
  );
  assertEquals([...found], ["User"]);
  const parameter = { name: "token", in: "path", required: true, schema: { type: "string" } };
  assertEquals(toJsonSchema(parameter, found), parameter);
});

const AUTH_FUNCTION = (options = "") =>
  `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../../auth.ts";
export const handler = createAuthHandler(getConfiguredSessionAuth${options});
`;

Deno.test("generate openapi writes the routes that createAuthHandler mounts, with real errors", async () => {
  await withOpenapiProject({
    "src/auth.ts": authModule(""),
    "src/functions/api/auth/[...proxy].any.ts": AUTH_FUNCTION(
      `, { routes: ["/sign-in/*", "/sign-out", "/list-sessions", "/change-email"] }`,
    ),
  }, async (root) => {
    const { exitCode: code, stderr } = await generate(root);
    assertEquals(code, 0, stderr);
    const document = JSON.parse(await Deno.readTextFile(`${root}/openapi.json`));
    assertEquals(Object.keys(document.paths), [
      "/auth/change-email",
      "/auth/list-sessions",
      "/auth/sign-in/email",
      "/auth/sign-in/social",
      "/auth/sign-out",
    ]);
    const signIn: Operation = document.paths["/auth/sign-in/email"].post;
    assertEquals(signIn.security, [{}, { session: [] }, { sessionCookie: [] }]);
    const change: Operation = document.paths["/auth/change-email"].post;
    assert("422" in change.responses, "an address that another account has taken");
    const list: Operation = document.paths["/auth/list-sessions"].get;
    assertEquals(list.security, [{ session: [] }, { sessionCookie: [] }]);
    assertEquals(list.tags, ["Auth"]);
    assert(signIn.requestBody?.required, "a body without which the route answers 400");
    assert(!JSON.stringify(document).includes('"enum":[false]'));
    assertEquals<unknown>(list.responses["401"], {
      $ref: "#/components/responses/AuthUnauthorized",
    });
    assertEquals(document.components.responses.AuthUnauthorized.content, {
      "application/json": { schema: { $ref: "#/components/schemas/AuthError" } },
    });
    assertEquals(document.components.securitySchemes.sessionCookie.name, COOKIE);
    const result = await validate(document);
    assert(result.valid, result.valid ? "" : compileErrors(result));
    assertEquals((await generate(root, "--check")).exitCode, 0);
  });
});

const COOKIE = "__Secure-better-auth.session_token";

Deno.test("generate openapi reports a mounted route that the configuration does not serve", async () => {
  await withOpenapiProject({
    "src/auth.ts": authModule(""),
    "src/functions/api/auth/[...proxy].any.ts": AUTH_FUNCTION(`, { routes: ["/two-factor/*"] }`),
  }, async (root) => {
    const { exitCode: code, stdout } = await generate(root);
    assertEquals(code, 1);
    assertStringIncludes(stdout, "auth/[...proxy].any.ts:3: routes has /two-factor/*");
  });
});
