import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Files,
  generate,
  getDocument,
  route,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

const CONFIGURE = `import { configureApiKeyAuth } from "@trellis/fn/auth";
import { apikey, getDb } from "./database.ts";
`;

/** A project with a route whose keys are configured in a module that its own import loads. */
function withKeys(configuration: string): Files {
  return {
    [routeFile("a.get")]: route(`{ auth: "api-key" }`, `import "../../auth.ts";`),
    "src/auth.ts": `import "./keys.ts";`,
    "src/keys.ts": `${CONFIGURE}${configuration}`,
    "src/database.ts": `export const apikey: any = {}; export const getDb: any = () => {};`,
  };
}

async function getHeader(configuration: string): Promise<string> {
  const document = await getDocument(withKeys(configuration));
  return document.components.securitySchemes["api-key"].name;
}

Deno.test("generate openapi names the header of API keys that the plugin reads first", async () => {
  const constant = `const plugin = { apiKeyHeaders: ["x-client-key", "x-api-key"] };`;
  const configured = "configureApiKeyAuth(getDb, { schema: { apikey }, plugin });";
  assertEquals(await getHeader(`${constant}${configured}`), "x-client-key");
  assertEquals(await getHeader(`const plugin = { rateLimit: {} };${configured}`), "x-api-key");
  assertEquals(await getHeader("configureApiKeyAuth(getDb, { schema: { apikey } });"), "x-api-key");
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
      [routeFile("a.get")]: route(
        `{ auth: apiKey(${options}) }`,
        `import { apiKey } from "../../auth.ts";`,
      ),
      "src/auth.ts": `import { defineAuth } from "@trellis/fn/auth";
        export const { session, apiKey } = defineAuth({} as any, {} as any);`,
    });
    assertEquals(document.components.securitySchemes["api-key"].name, header);
    const { responses } = document.paths["/a"].get;
    assertEquals("403" in responses, options !== "");
  }
});

Deno.test("generate openapi warns if the header of API keys is only known at run time", async () => {
  const plugin = `{ apiKeyHeaders: process.env.KEY_HEADER }`;
  const files = withKeys(`configureApiKeyAuth(getDb, { schema: { apikey }, plugin: ${plugin} });`);
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 0);
    assertStringIncludes(stderr, "src/keys.ts:3: apiKeyHeaders cannot be determined statically");
  });
});
