import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withProject } from "../fixtures/analyse.ts";
import { define, infra, permissions, readInfra } from "../fixtures/infra_project.ts";

const FUNCTION = "src/functions/api/orders/index.get.ts";

/** A project with one function that queries a database. */
function createFiles(client: string, settings = "{}"): Record<string, string> {
  return {
    "deno.json": `{ "name": "@acme/shop" }`,
    "trellis.config.ts":
      `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig({ infra: ${settings} });`,
    "src/db.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { CONFIG } from "./config.ts";
const { defineQuery } = createQueryFactory(() => getDrizzleClient(CONFIG));
export const listOrders = defineQuery({ tables: [{ table: "orders", operations: ["SELECT"] }] }, async (db) => {});`,
    "src/config.ts": `import { defineEnv, getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
const env = defineEnv({ APP_CLUSTER: {}, APP_ROLE: {} });
const endpoint = getOptionalEnv("APP_CLUSTER");
export const CONFIG = ${client};`,
    [FUNCTION]: define(
      "defineApiHandler",
      "{}",
      "return listOrders();",
      `import { listOrders } from "../../../db.ts";`,
    ),
    "src/functions/api/health/index.get.ts": define("defineApiHandler"),
  };
}

/** Generates the files, and returns those about the database. */
async function generate(
  client: string,
  settings?: string,
): Promise<{ fn: string; other: string; core: string; variables: string; stderr: string }> {
  let result: Awaited<ReturnType<typeof generate>> | undefined;
  await withProject(createFiles(client, settings), async (root) => {
    assertEquals((await permissions(root)).exitCode, 0);
    const { exitCode, stdout, stderr } = await infra(root);
    assertEquals(exitCode, 0, stdout + stderr);
    const [fn, other, core, variables] = await Promise.all(
      ["fn_orders_get.tf", "fn_health_get.tf", "core.tf", "variables.tf"].map((name) =>
        readInfra(root, name)
      ),
    );
    result = { fn, other, core, variables, stderr };
  });
  return result!;
}

const ROLE = 'local.database_roles["OrdersGet"]';

Deno.test("generate infra gives a cluster to variables of any name, as the client reads them", async () => {
  const clients = [
    `{ provider: "distsql", endpoint: getRequiredEnv("APP_CLUSTER"), username: getRequiredEnv("APP_ROLE") }`,
    `{ provider: "distsql", endpoint: process.env.APP_CLUSTER!, username: process.env.APP_ROLE! } as const`,
    `{ provider: "distsql", endpoint: env.APP_CLUSTER, username: env.APP_ROLE }`,
  ];
  for (const client of clients) {
    const { fn, other, core, stderr } = await generate(client);
    assertEquals(stderr, "");
    assertMatch(fn, /APP_CLUSTER += module\.database\.cluster_endpoint/);
    assertStringIncludes(fn, `APP_ROLE    = ${ROLE}`);
    assertStringIncludes(fn, "[module.database.connect_policy_arn]");
    assertStringIncludes(core, 'module "database"');
    assert(!other.includes("database"));
  }
});

Deno.test("generate infra follows constants, and the branch that is deployed", async () => {
  const { fn } = await generate(
    `endpoint === undefined
  ? { provider: "embedded-pg", connectionString: getOptionalEnv("LOCAL_FOLDER", ".data") }
  : { provider: "distsql", endpoint, username: getOptionalEnv("APP_ROLE") }`,
  );
  assertMatch(fn, /APP_CLUSTER += module\.database\.cluster_endpoint/);
  assertStringIncludes(fn, `APP_ROLE    = ${ROLE}`);
  assert(!fn.includes("LOCAL_FOLDER"));
});

Deno.test("generate infra passes the address of a server as a variable, and puts functions in its network", async () => {
  const { fn, other, core, variables } = await generate(
    `{ provider: "postgres", connectionString: getOptionalEnv("APP_DB") }`,
  );
  assertStringIncludes(fn, "APP_DB = var.app_db");
  assertMatch(
    fn,
    /vpc_config = length\(var\.function_subnet_ids\) == 0 \? null : \{\n {4}subnet_ids/,
  );
  assertMatch(variables, /variable "app_db" \{[^}]*sensitive +.?= true/);
  assertMatch(variables, /variable "function_subnet_ids" \{[^}]*default +.?= \[\]/);
  assert(!core.includes('module "database"'));
  assert(!other.includes("vpc_config"));
});

Deno.test("generate infra lets functions sign in to RDS with their own roles", async () => {
  const { fn, variables } = await generate(
    `{ provider: "postgres", host: getRequiredEnv("APP_HOST"), username: getRequiredEnv("APP_USER"), iamAuth: true }`,
  );
  assertStringIncludes(fn, `APP_USER = ${ROLE}`);
  assertStringIncludes(fn, "APP_HOST = var.app_host");
  assertMatch(fn, /"rds-db:connect"\n +Resource = "\$\{var\.database_user_arn\}\/\$\{local/);
  assertMatch(variables, /variable "database_user_arn"/);
});

/** Files of a project whose function reads an address from its source, and settings of the project. */
function createAddressFiles(config: string): Record<string, string> {
  return {
    ...createFiles(""),
    "trellis.config.ts":
      `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig(${config});`,
    "src/config.ts": `import { getOptionalEnv, loadSources } from "@trellis/fn/env";
await loadSources();
export const CONFIG = { provider: "postgres", connectionString: getOptionalEnv("DATABASE_URL") };`,
  };
}

Deno.test("generate infra gives each function that signs in by address a secret of its own", async () => {
  const parameter = `environment: { DATABASE_URL: { parameter: true } }`;
  const own = "aws_secretsmanager_secret.database_url__orders_get.arn";
  const name = "${module.core.name_prefix}/DATABASE_URL";
  const cases: [config: string, source: string, resource: string, secrets: string[]][] = [
    ["{}", `secretsmanager:\${${own}}`, own, [`"${name}"`, `"${name}/OrdersGet"`]],
    [
      `{ permissions: { logins: "shared" } }`,
      "secretsmanager:${aws_secretsmanager_secret.database_url.arn}",
      "aws_secretsmanager_secret.database_url.arn",
      [`"${name}"`],
    ],
    [
      `{ infra: { ${parameter} } }`,
      `ssm:/${name}/OrdersGet`,
      "parameter/${module.core.name_prefix}/DATABASE_URL/OrdersGet",
      [],
    ],
  ];
  for (const [config, source, resource, secrets] of cases) {
    await withProject(createAddressFiles(config), async (root) => {
      assertEquals((await permissions(root)).exitCode, 0);
      const { exitCode, stdout, stderr } = await infra(root);
      assertEquals(exitCode, 0, stdout + stderr);
      const fn = await readInfra(root, "fn_orders_get.tf");
      assertStringIncludes(fn, `DATABASE_URL_SOURCE = "${source}"`);
      assertStringIncludes(/Resource = \[[^]*?\n? *\]/.exec(fn)![0], resource);
      const text = await readInfra(root, "secrets.tf");
      assertEquals([...text.matchAll(/^ +name += (.*)$/gm)].map(([, found]) => found), secrets);
    });
  }
});

Deno.test("generate infra does not put functions with Neon in a network", async () => {
  const { fn } = await generate(
    `{ provider: "branching-pg", connectionString: getRequiredEnv("DATABASE_URL") }`,
  );
  assertStringIncludes(fn, "DATABASE_URL = var.database_url");
  assert(!fn.includes("vpc_config"));
});

Deno.test("generate infra grants the rights of the Data API with infra.database", async () => {
  const { fn, variables } = await generate(
    `{ provider: "serverless-pg", connectionString: getRequiredEnv("AURORA") }`,
    `{ database: "data-api" }`,
  );
  assertStringIncludes(
    fn,
    'AURORA = "rds-data://${var.data_api_cluster_arn}?secretArn=${var.data_api_secret_arn}&database=${var.data_api_database}"',
  );
  assertMatch(fn, /"data-api" = jsonencode\(/);
  assertStringIncludes(fn, '"secretsmanager:GetSecretValue"');
  assert(!fn.includes("vpc_config") && !variables.includes('"aurora"'));
});

Deno.test("generate infra warns when the sources do not show the database", async () => {
  const cases: [client: string, message: RegExp][] = [
    [`{ provider: "embedded-pg" }`, /OrdersGet uses the database, but the sources do not show/],
    [`{ provider: "distsql", endpoint: "x" }`, /reads no environment variable for endpoint/],
    [`{ provider: "postgres", host: "db" }`, /the sources do not show which/],
  ];
  for (const [client, message] of cases) {
    const { fn, stderr } = await generate(client);
    assertMatch(stderr, message);
    assert(!stderr.includes("HealthGet"));
    assert(!fn.includes("module.database"));
    assertEquals((await generate(client, `{ database: "none" }`)).stderr, "");
  }
});

const MIGRATIONS = "src/functions/standalone/migrations.ts";

/** The files of a project with a migration function that has this database. */
function createMigrationFiles(database: string, client: string): Record<string, string> {
  return {
    ...createFiles(client),
    [MIGRATIONS]: `import { defineMigrationHandler } from "@trellis/fn/database/migrate";
import { getRequiredEnv } from "@trellis/fn/env";
export const handler = defineMigrationHandler({ memorySize: 1024, database: ${database} });
`,
  };
}

Deno.test("generate infra gives a migration function the rights of the migrating role only", async () => {
  const cases: [database: string, client: string, found: RegExp[]][] = [
    [
      `{ provider: "postgres", connectionString: getRequiredEnv("OWNER_URL") }`,
      `{ provider: "postgres", connectionString: getRequiredEnv("APP_DB") }`,
      [/OWNER_URL = var\.owner_url/, /vpc_config += length/],
    ],
    [
      `{ provider: "postgres", host: getRequiredEnv("APP_HOST"), username: getRequiredEnv("OWNER"), iamAuth: true }`,
      `{ provider: "postgres", host: getRequiredEnv("APP_HOST"), username: getRequiredEnv("APP_USER"), iamAuth: true }`,
      [/OWNER += var\.owner/, /Resource = "\$\{var\.database_user_arn\}\/\$\{var\.owner\}"/],
    ],
    [
      `{ provider: "distsql", endpoint: getRequiredEnv("CLUSTER"), isAdmin: true }`,
      `{ provider: "distsql", endpoint: getRequiredEnv("CLUSTER"), username: getRequiredEnv("APP_USER") }`,
      [/additional_policy_arns += \[module\.database\.admin_connect_policy_arn\]/],
    ],
  ];
  for (const [database, client, found] of cases) {
    await withProject(createMigrationFiles(database, client), async (root) => {
      assertEquals((await permissions(root)).exitCode, 0);
      const { exitCode, stdout, stderr } = await infra(root);
      assertEquals(exitCode, 0, stdout + stderr);
      const text = await readInfra(root, "fn_migrations.tf");
      for (const pattern of [...found, /timeout +=? 900/, /reserved_concurrent_executions += 1/]) {
        assertMatch(text, pattern);
      }
      assert(
        !/APP_DB|APP_USER|database_roles|[^_]connect_policy_arn/.test(
          text.replace("admin_connect", ""),
        ),
        text,
      );
      assert(!(await readInfra(root, "fn_orders_get.tf")).includes("OWNER"));
    });
  }
});

Deno.test("generate infra refuses a second migration function, and one with a trigger", async () => {
  const client = `{ provider: "postgres", connectionString: getRequiredEnv("APP_DB") }`;
  const files = createMigrationFiles(client, client);
  for (
    const [path, message] of [
      ["src/functions/standalone/more.ts", "More is a second migration function beside Migrations"],
      ["src/functions/schedule/aaa.ts", "the file is in schedule/: move it to standalone/"],
    ]
  ) {
    await withProject({ ...files, [path]: files[MIGRATIONS] }, async (root) => {
      await permissions(root);
      const { exitCode, stdout } = await infra(root);
      assertEquals(exitCode, 1);
      assertStringIncludes(stdout, message);
    });
  }
});
