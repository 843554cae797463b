import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { writeLargeProject } from "../fixtures/large_project.ts";
import { infra, readInfra } from "../fixtures/infra_project.ts";

Deno.test("generate infra on 1,000 functions gives each its file, and shares what their paths share", async () => {
  const root = await Deno.makeTempDir({ prefix: "trellis-infra-large-" });
  try {
    const expected = await writeLargeProject(root, { functions: 1000, queries: 300, tables: 40 });
    await Deno.writeTextFile(
      join(root, "src/db/client.ts"),
      `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";
export const getDb = () => getDrizzleClient({ provider: "distsql", schema,
  endpoint: getRequiredEnv("DATABASE_ENDPOINT"), username: getRequiredEnv("DATABASE_USERNAME") });
export const { defineQuery, definePreparedQuery } = createQueryFactory(getDb);\n`,
    );
    await Deno.writeTextFile(
      join(root, "trellis.config.ts"),
      `import { defineConfig } from "@trellis/fn/cli"; export default defineConfig({ infra: { projectName: "large" } });\n`,
    );
    // as generate permissions writes it
    await Deno.mkdir(join(root, "infra"));
    const roles = [...expected.keys()].map((name) => `    ${name} = "fn"\n`).join("");
    await Deno.writeTextFile(
      join(root, "infra/database_roles.tf"),
      `locals {\n  database_roles = {\n${roles}  }\n}\n`,
    );
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals(exitCode, 0, stdout + stderr);
    assertMatch(stdout, /1000 functions, \d+ files: done\n$/);
    assertMatch(stderr, /the API has 2021 resources, but the default quota of AWS is 300/);
    for (const name of expected.keys()) {
      const id = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
      const text = await readInfra(root, `fn_${id}.tf`);
      assertStringIncludes(text, `DATABASE_USERNAME = local.database_roles["${name}"]`);
      assertStringIncludes(text, `resource "aws_api_gateway_integration" "${id}"`);
    }
    const api = await readInfra(root, "api.tf");
    const resources = [...api.matchAll(/^resource "aws_api_gateway_resource" "(.*)"/gm)].map((
      [, name],
    ) => name);
    // 20 groups, and a fixed part and a parameter for each function
    assertEquals([resources.length, new Set(resources).size], [2020, 2020]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
