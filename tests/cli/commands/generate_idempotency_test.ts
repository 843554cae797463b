import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createIdempotencyStore } from "../../../idempotency/mod.ts";
import { buildOpenApiDocument, defineApiHandler } from "../../../validation/mod.ts";
import { withProject } from "../fixtures/analyse.ts";
import { define, infra, readInfra } from "../fixtures/infra_project.ts";
import {
  generate,
  type Json,
  route,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

const KEY_HEADER = { name: "Idempotency-Key", in: "header" };

Deno.test("generate openapi describes the key of an idempotent operation and its three answers", async () => {
  const imports = `import { store, shared } from "../../store.ts";`;
  const files = {
    "src/store.ts": `import { createLeaseStore } from "@trellis/fn/idempotency";
export const store = createLeaseStore(() => undefined as any);
export const shared = { store, required: false };`,
    [routeFile("orders/index.post")]: route("{ idempotency: { store } }", imports)
      .replace("../../", "../../../"),
    [routeFile("drafts/index.post")]: route("{ idempotency: shared }", imports)
      .replace("../../", "../../../"),
    [routeFile("hooks/index.post")]: route("{ idempotency: { store, key: () => '1' } }", imports)
      .replace("../../", "../../../"),
    [routeFile("plain/index.post")]: route("{}"),
  };
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const { paths } = JSON.parse(await Deno.readTextFile(join(root, "openapi.json"))) as Json;
    const describe = (path: string) => {
      const { parameters = [], responses } = paths[path].post;
      return [
        parameters.map(({ name, in: place, required }: Json) => ({ name, in: place, required })),
        Object.keys(responses),
      ];
    };
    const answers = ["200", "400", "409", "422", "500", "503", "504"];
    assertEquals(describe("/orders"), [[{ ...KEY_HEADER, required: true }], answers]);
    assertEquals(describe("/drafts"), [[{ ...KEY_HEADER, required: false }], answers]);
    assertEquals(describe("/hooks"), [[], answers]);
    assertEquals(describe("/plain"), [[], ["200", "500", "503", "504"]]);
  });
});

Deno.test("buildOpenApiDocument() describes the key of an idempotent operation", () => {
  const store = createIdempotencyStore({} as never);
  const { operation } = defineApiHandler({ idempotency: { store } })(() => ({
    statusCode: 200,
    body: "",
  }));
  const document = buildOpenApiDocument({ title: "Shop", version: "1" }, [
    { method: "POST", path: "/orders", operation },
  ]) as Json;
  const { parameters, responses } = document.paths["/orders"].post;
  assertEquals([parameters[0].name, parameters[0].required], ["Idempotency-Key", true]);
  assertEquals(Object.keys(responses), ["200", "400", "409", "422", "500", "503", "504"]);
});

Deno.test("generate infra creates the DynamoDB table of idempotency records for the functions that use it", async () => {
  const files = {
    "deno.json": `{ "name": "@acme/app" }`,
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { environment: { RECORDS_TABLE: { idempotency: true } } } });`,
    "src/functions/queue/orders.ts": define(
      "defineQueueHandler",
      `{ idempotency: { store: createDynamoDbStore({ tableName: getRequiredEnv("RECORDS_TABLE") }) } }`,
      "",
      `import { createDynamoDbStore } from "@trellis/fn/idempotency"; import { getRequiredEnv } from "@trellis/fn/env";`,
    ),
    "src/functions/queue/plain.ts": define("defineQueueHandler"),
  };
  await withProject(files, async (root) => {
    const modules = join(Deno.cwd(), "modules");
    const { exitCode, stdout, stderr } = await infra(root, "--modules-path", modules);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    assertStringIncludes(await readInfra(root, "idempotency.tf"), `module "idempotency" {`);
    const used = await readInfra(root, "fn_orders.tf");
    assertStringIncludes(used, "module.idempotency.table_name");
    assertStringIncludes(used, "module.idempotency.policy_json");
    assertEquals((await readInfra(root, "fn_plain.tf")).includes("idempotency"), false);
  });
});
