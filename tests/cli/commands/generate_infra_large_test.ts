import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { writeLargeProject } from "../fixtures/large_project.ts";
import { infra, readInfra } from "../fixtures/infra_project.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const FUNCTIONS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 1000 : 150;
/** 20 groups, and a fixed part and a parameter for each function. */
const RESOURCES = 20 + 2 * FUNCTIONS;

Deno.test(`generate infra on ${FUNCTIONS} functions gives each its file, and shares what their paths share`, async () => {
  await withTempFolder({}, async (root) => {
    const expected = await writeLargeProject(root, {
      functions: FUNCTIONS,
      queries: 0.3 * FUNCTIONS,
      tables: 40,
    });
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
    assertMatch(stdout, new RegExp(`${FUNCTIONS} functions, \\d+ files: done\\n$`));
    assertStringIncludes(
      stderr,
      `the API has ${RESOURCES + 1} resources, but the default quota of AWS is 300`,
    );
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
    assertEquals([resources.length, new Set(resources).size], [RESOURCES, RESOURCES]);
  });
});
