import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withProject } from "../fixtures/analyse.ts";
import {
  API,
  configure,
  HTTP,
  HTTP_SETTINGS,
  JWT,
  JWT_IMPORT,
  STREAMING,
  URL_FILE,
} from "../fixtures/delivery_project.ts";
import { define, infra, readInfra } from "../fixtures/infra_project.ts";

/** Generates, and returns the files, or the errors. */
async function generate(
  settings: string,
  files: Record<string, string>,
  names: readonly string[],
): Promise<string[]> {
  const texts: string[] = [];
  await withProject({ "trellis.config.ts": configure(settings), ...files }, async (root) => {
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    for (const name of names) texts.push(await readInfra(root, name));
  });
  return texts;
}

async function refuse(
  settings: string,
  files: Record<string, string>,
  messages: readonly string[],
): Promise<void> {
  await withProject({ "trellis.config.ts": configure(settings), ...files }, async (root) => {
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals(exitCode, 1, stderr);
    for (const message of messages) assertStringIncludes(stdout, message);
  });
}

Deno.test("generate infra routes an HTTP API, with tokens, an authorizer, and preflights at the functions", async () => {
  const [api, fn, core, variables] = await generate(HTTP_SETTINGS, HTTP, [
    "api.tf",
    "fn_notes_get.tf",
    "core.tf",
    "variables.tf",
  ]);
  const routes = [...api.matchAll(/"((?:ANY|DELETE|GET|OPTIONS|POST) \/[^"]*)" = \{\n([^}]*)\}/g)]
    .map(([, key, body]) => [
      key,
      /module\.fn_(\w+)\.invoke_arn/.exec(body)?.[1],
      /authorization = "(\w+)"/.exec(body)?.[1],
    ]);
  assertEquals(routes.sort(), [
    ["ANY /files/{path+}", "files_by_path", undefined],
    ["DELETE /notes/{id}", "notes_by_id", undefined],
    ["GET /", "get", undefined],
    ["GET /notes", "notes_get", "JWT"],
    ["GET /notes/{noteId}", "notes_by_note_id", "CUSTOM"],
    // pages of other origins call nothing else; the function that accepts cookies knows the origins that may send them
    ["OPTIONS /notes", "notes_post", undefined],
    ["POST /notes", "notes_post", undefined],
  ]);
  assertStringIncludes(api, `["$request.header.Authorization", "$request.querystring.key"]`);
  assertMatch(fn, /api_gateway_execution_arn += module\.api\.execution_arn\n/);
  assertEquals(fn.includes("aws_api_gateway_method"), false);
  // the role for the logs of REST APIs
  assertEquals(`${core}${variables}`.includes("manage_api_gateway_account"), false);
});

Deno.test("generate infra answers preflights of routes for any method that need credentials", async () => {
  const files = {
    "src/functions/authorizer/one.ts": define("defineAuthorizerHandler"),
    [`${API}/guarded.any.ts`]: define("defineApiHandler", `{ auth: "authorizer", cors: "*" }`),
    [`${API}/open.any.ts`]: define("defineApiHandler", `{ cors: "*" }`),
  };
  const listPreflights = (api: string) =>
    [...api.matchAll(/"(?:OPTIONS )?(\/\w+)" = \{\n +(?:invoke_arn|resource_id)/g)].map((
      [, path],
    ) => path);
  const [rest] = await generate("", files, ["api.tf"]);
  assertEquals(listPreflights(rest), ["/guarded"]);
  assertMatch(rest, /"\/guarded" = \{[^}]*module\.fn_guarded\.invoke_arn/);
  const [keyed] = await generate("api: { usagePlan: true }", files, ["api.tf"]);
  assertEquals(listPreflights(keyed), ["/guarded", "/open"]);
  const [http] = await generate(`api: { type: "http" }`, files, ["api.tf"]);
  assertMatch(
    http,
    /"OPTIONS \/guarded" = \{\n +invoke_arn = module\.fn_guarded\.invoke_arn\n +\}/,
  );
  assertEquals(http.includes("OPTIONS /open"), false);
});

Deno.test("generate infra adds a HEAD route for each GET route with headRoutes", async () => {
  const files = {
    "src/functions/authorizer/one.ts": define("defineAuthorizerHandler"),
    [`${API}/notes.get.ts`]: define("defineApiHandler", `{ auth: "authorizer" }`),
    [`${API}/notes.post.ts`]: define("defineApiHandler"),
    [`${API}/files.get.ts`]: define("defineApiHandler"),
    [`${API}/files.head.ts`]: define("defineApiHandler"),
    [`${API}/any.any.ts`]: define("defineApiHandler"),
    [`${API}/any.get.ts`]: define("defineApiHandler"),
    [`${API}/items.router.ts`]: `import { defineRouter } from "@trellis/fn/router";
import { defineApiHandler } from "@trellis/fn/validation";
const handler1 = defineApiHandler()(function list() { return { statusCode: 200, body: "" }; });
export const handler = defineRouter({ "GET /items": handler1 });
`,
  };
  const [http] = await generate(`api: { type: "http", headRoutes: true }`, files, ["api.tf"]);
  const routes = [...http.matchAll(/"(HEAD [^"]*)" = \{\n([^}]*)\}/g)].map(([, key, body]) => [
    key,
    /authorization = "(\w+)"/.exec(body)?.[1],
    /module\.fn_(\w+)\.invoke_arn/.exec(body)?.[1],
  ]);
  assertEquals(routes.sort(), [
    ["HEAD /files", undefined, "files_head"],
    ["HEAD /items", undefined, "items"],
    ["HEAD /notes", "CUSTOM", "notes_get"],
  ]);

  const names = ["api.tf", "fn_notes_get.tf", "fn_files_get.tf", "fn_any_get.tf", "fn_items.tf"];
  const [api, notes, ...others] = await generate("api: { headRoutes: true }", files, names);
  assertMatch(
    notes,
    /"aws_api_gateway_method" "notes_get__head" \{[^}]+http_method += "HEAD"\n +authorization += "CUSTOM"/,
  );
  assertMatch(notes, /"notes_get__head" \{[^}]+uri += module\.fn_notes_get\.invoke_arn/);
  assertStringIncludes(api, "  aws_api_gateway_integration.notes_get__head,\n");
  assertEquals(others.map((text) => text.includes("__head")), [false, false, true]);
});

Deno.test("generate infra refuses ranges of bytes that a REST API would send as text", async () => {
  const sources = { [`${API}/a.get.ts`]: define("defineApiHandler", "{ ranges: true }") };
  await refuse("", sources, ["A sends bytes, which a REST API passes on as text in base64"]);
});

Deno.test("generate infra refuses what an HTTP API cannot do", async () => {
  await refuse(`api: { type: "http", usagePlan: true, jwt: { issuer: "login" } }`, {
    [`${API}/a.get.ts`]: define("defineApiHandler"),
  }, [
    "infra.api.usagePlan needs a REST API",
    'infra.api.jwt must be { issuer: "https://…", audience: ["…"] }, got {"issuer":"login"}',
  ]);
  await refuse(
    `api: { type: "http" }`,
    {
      [`${API}/a.get.ts`]: define(
        "defineApiHandler",
        "{ streaming: responseStreaming() }",
        "",
        STREAMING,
      ),
    },
    ["AGet streams its response, which HTTP APIs do not"].map((text) => text.replace("AGet", "A")),
  );
  // a REST API never checks the token, so that every request would be refused
  await refuse("", { [`${API}/a.get.ts`]: define("defineApiHandler", JWT, "", JWT_IMPORT) }, [
    "A relies on a gateway that verifies tokens, but none is configured",
  ]);
  await refuse(`api: { jwt: { issuer: "https://a.example/", audience: ["a"] } }`, {
    [`${API}/a.get.ts`]: define("defineApiHandler"),
  }, [
    'infra.api.jwt needs infra.api.type = "http"',
  ]);
});

Deno.test("generate infra gives a function a URL in place of a route", async () => {
  const [open, signed, outputs, versions] = await generate(
    `functions: { Signed: { url: { authorization: "iam" } } }, release: {}`,
    {
      [`${API}/export.get.ts`]: URL_FILE,
      [`${API}/signed.post.ts`]: define("defineApiHandler"),
    },
    ["fn_export.tf", "fn_signed.tf", "outputs.tf", "versions.tf"],
  );
  assertMatch(open, /authorization_type = "NONE"\n +invoke_mode += "RESPONSE_STREAM"\n/);
  assertStringIncludes(open, `"lambda:InvokeFunctionUrl"`);
  assertMatch(open, /invoked_via_function_url = true\n/);
  assertEquals(/alias_name|api_gateway/.test(open), false);
  assertMatch(signed, /authorization_type = "AWS_IAM"\n/);
  assertEquals(signed.includes("aws_lambda_permission"), false);
  assertMatch(outputs, /Export += aws_lambda_function_url\.export\.function_url\n/);
  assertStringIncludes(versions, '">= 6.66, < 7.0"');
});

Deno.test("generate infra refuses a URL where a gateway is needed", async () => {
  await refuse(
    `functions: { A: { url: true }, NotesByIdGet: { url: {} }, NotesById: { url: true } }`,
    {
      [`${API}/a.get.ts`]: define("defineApiHandler", `{ auth: "authorizer" }`),
      "src/functions/authorizer/caller.ts": define("defineAuthorizerHandler"),
    },
    ["infra.functions.NotesByIdGet does not match a function"],
  );
  await refuse(`functions: { A: { url: true }, NotesById: { url: true } }`, {
    [`${API}/a.get.ts`]: define("defineApiHandler", `{ auth: "authorizer" }`),
    [`${API}/notes/[id].get.ts`]: define("defineApiHandler"),
    "src/functions/authorizer/caller.ts": define("defineAuthorizerHandler"),
  }, [
    "A has a URL of its own, where no gateway decides who may call",
    "NotesById has a URL of its own, which has no path parameters",
  ]);
  await refuse(`functions: { Work: { url: true } }`, {
    "src/functions/queue/work.ts": define("defineQueueHandler"),
  }, ["infra.functions.Work.url only applies to functions in api/, but Work is in queue/"]);
});

Deno.test("generate infra refuses settings of CDN, repositories and push platforms that are invalid", async () => {
  const image = `${
    define("defineQueueHandler")
  }export const infra = { image: { repository: "x" } };`;
  await refuse(
    `cdn: { buckets: { "/*": "site" }, originHeaders: ["a", "b", "c", "d"], ttl: 1 },
    repositories: { Thumbs: {}, old: { keepImages: 0 } },
    pushPlatforms: { ios: { platform: "APNS" }, web: { platform: "GCM", keyId: "x" } }`,
    { "src/functions/queue/work.ts": image },
    [
      "infra.cdn needs an API to serve",
      'infra.cdn.buckets has "/*": use a path pattern',
      "infra.cdn.originHeaders must be at most three",
      "unknown setting infra.cdn.ttl",
      'infra.repositories has "Thumbs"',
      "infra.repositories.old.keepImages must be a whole number from 1 to 1000, got 0",
      'infra.pushPlatforms.ios must be { platform: "GCM" }, or',
      'infra.pushPlatforms.web must be { platform: "GCM" }, or',
      "the image of Work is in the repository x, which is not in infra.repositories",
    ],
  );
});
