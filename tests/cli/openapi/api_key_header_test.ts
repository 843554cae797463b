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

/** A project with a route for API keys, with the options of `apiKey()`. */
function withKeys(options: string): Files {
  return {
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

Deno.test("generate openapi names the header of API keys that the plugin reads first", async () => {
  for (
    const [options, header] of [
      [
        `{ plugin: { apiKeyHeaders: ["x-client-key", "x-api-key"] }, permissions: { notes: ["read"] } }`,
        "x-client-key",
      ],
      [`{ plugin: { rateLimit: {} } }`, "x-api-key"],
      ["", "x-api-key"],
    ]
  ) {
    const document = await getDocument(withKeys(options));
    assertEquals(document.components.securitySchemes["api-key"].name, header);
    const { responses } = document.paths["/a"].get;
    assertEquals("403" in responses, options.includes("permissions"));
  }
});

Deno.test("generate openapi refuses a header of API keys that is only known at run time", async () => {
  const files = withKeys(`{ plugin: { apiKeyHeaders: process.env.KEY_HEADER } }`);
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stdout } = await generate(root);
    assertEquals(exitCode, 1);
    assertStringIncludes(stdout, "KEY_HEADER decides what is described");
  });
});
