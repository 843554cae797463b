import { assertEquals, assertStringIncludes } from "@std/assert";
import { API_KEY_COLUMNS } from "../../../auth/keys/api_key_options.ts";
import {
  type Files,
  generate,
  getDocument,
  route,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

const CONFIGURE = `import { configureApiKeyAuth } from "@trellis/fn/auth";
import { apikey, getDb, user } from "./database.ts";
`;

/** A project with a route whose keys are configured in a module that its own import loads. */
function withKeys(configuration: string): Files {
  return {
    [routeFile("a.get")]: route(`{ auth: "api-key" }`, `import "../../auth.ts";`),
    "src/auth.ts": `import "./keys.ts";`,
    "src/keys.ts": `${CONFIGURE}${configuration}`,
    "package.json":
      `{ "name": "shop", "type": "module", "dependencies": { "zod": "4.6.7", "drizzle-orm": "0.45.4" } }`,
    "src/database.ts": `import { pgTable, text } from "drizzle-orm/pg-core";
export const apikey: any = pgTable("keys", { ${
      API_KEY_COLUMNS.map((name) => `${name}: text("${name}")`).join(", ")
    } });
export const user: any = pgTable("users", { id: text("id") });
export const getDb: any = () => {};`,
  };
}

async function getHeader(configuration: string): Promise<string> {
  const document = await getDocument(withKeys(configuration));
  return document.components.securitySchemes["api-key"].name;
}

Deno.test("generate openapi names the header of API keys that the plugin reads first", async () => {
  const constant = `const plugin = { apiKeyHeaders: ["x-client-key", "x-api-key"] };`;
  const configured = "configureApiKeyAuth(getDb, { schema: { apikey, user }, plugin });";
  assertEquals(await getHeader(`${constant}${configured}`), "x-client-key");
  assertEquals(await getHeader(`const plugin = { rateLimit: {} };${configured}`), "x-api-key");
  assertEquals(
    await getHeader("configureApiKeyAuth(getDb, { schema: { apikey, user } });"),
    "x-api-key",
  );
});

Deno.test("generate openapi names the header of apiKey() of defineAuth()", async () => {
  for (
    const [options, header] of [
      [
        `{ plugin: { apiKeyHeaders: "x-client-key" }, permissions: { notes: ["read"] } }`,
        "x-client-key",
      ],
      ["", "x-api-key"],
    ]
  ) {
    const document = await getDocument({
      ...withKeys(""),
      [routeFile("a.get")]: route(
        `{ auth: apiKey(${options}) }`,
        `import { apiKey } from "../../auth.ts";`,
      ),
      "src/auth.ts": `import { defineAuth } from "@trellis/fn/auth";
        import { apikey, getDb, user } from "./database.ts";
        export const { session, apiKey } = defineAuth(getDb, {
          secret: "at-least-32-random-characters-0123456789", baseURL: "http://localhost:3000",
          schema: { user, apikey },
        });`,
    });
    assertEquals(document.components.securitySchemes["api-key"].name, header);
    const { responses } = document.paths["/a"].get;
    assertEquals("403" in responses, options !== "");
  }
});

Deno.test("generate openapi refuses a header of API keys that is only known at run time", async () => {
  const plugin = `{ apiKeyHeaders: process.env.KEY_HEADER }`;
  const files = withKeys(
    `configureApiKeyAuth(getDb, { schema: { apikey, user }, plugin: ${plugin} });`,
  );
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stdout } = await generate(root);
    assertEquals(exitCode, 1);
    assertStringIncludes(stdout, "src/keys.ts:3: KEY_HEADER decides what is described");
  });
});
