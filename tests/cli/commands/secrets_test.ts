import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { secretsList, secretsSet } from "../../../cli/commands/secrets.ts";
import {
  getSecretsEnvironment,
  type SecretsServer,
  startSecretsServer,
} from "../../support/secrets_server.ts";
import { withEnv } from "../../support/with_env.ts";
import { withProject } from "../fixtures/analyse.ts";
import { infra, readInfra } from "../fixtures/infra_project.ts";
import { runInProcess } from "../fixtures/run.ts";

const API = "src/functions/api";
const KEY = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const SHARED = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shared/db-AbCdEf";

/** A project with a session check, sign-in routes with a provider, and secrets of every kind. */
const PROJECT = {
  "deno.json": `{ "name": "@acme/shop" }`,
  "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { database: "none", environment: {
  GITHUB_SECRET: { secret: true, kmsKeyArn: "${KEY}" },
  DB_PASSWORD: { secret: "${SHARED}", field: "password" },
  LIMIT: { parameter: true },
  PEPPER: { parameter: "/shared/pepper", secret: true, kmsKeyArn: "${KEY}" },
} } });`,
  "src/auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
import { getRequiredEnv, loadSources } from "@trellis/fn/env";
await loadSources();
export const config = {
  secret: getRequiredEnv("AUTH_SECRET"), baseURL: "https://shop.example.com",
  socialProviders: () => ({ github: { clientId: "id", clientSecret: getRequiredEnv("GITHUB_SECRET") } }),
};
configureSessionAuth(() => null as never, config);`,
  [`${API}/me.get.ts`]: `import { defineApiHandler } from "@trellis/fn";
import "../../auth.ts";
export const handler = defineApiHandler({ auth: "session" })(async () => {});`,
  [`${API}/auth/[...proxy].any.ts`]:
    `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
import "../../../auth.ts";
export const handler = createAuthHandler(getConfiguredSessionAuth);`,
  [`${API}/settings.get.ts`]: `import { defineApiHandler } from "@trellis/fn";
import { getRequiredEnv, loadSources, secret } from "@trellis/fn/env";
await loadSources();
const hook = secret("HOOK_KEY");
export const handler = defineApiHandler({})(async () => {
  getRequiredEnv("LIMIT") + getRequiredEnv("PEPPER") + getRequiredEnv("DB_PASSWORD") + await hook.get();
});`,
};

async function withShop(
  use: (root: string, server: SecretsServer) => Promise<void>,
): Promise<void> {
  const server = startSecretsServer();
  try {
    await withEnv(
      getSecretsEnvironment(server),
      () => withProject(PROJECT, (root) => use(root, server)),
    );
  } finally {
    await server.stop();
  }
}

function run(root: string, command: string, input = "", ...args: string[]) {
  return runInProcess([...command.split(" "), "--project", root, ...args], {
    commands: [secretsSet, secretsList],
    readInput: () => Promise.resolve(input),
  });
}

Deno.test("generate infra gives each function the right to read exactly the secrets that it reaches", async () => {
  await withProject(PROJECT, async (root) => {
    const { exitCode, stdout } = await infra(root);
    assertEquals(exitCode, 0, stdout);
    const [me, auth, settings, secrets, variables] = await Promise.all(
      ["fn_me.tf", "fn_auth_by_proxy.tf", "fn_settings.tf", "secrets.tf", "variables.tf"].map((
        name,
      ) => readInfra(root, name)),
    );
    // a function that only checks sessions has no secret of the provider
    assertStringIncludes(
      me,
      'AUTH_SECRET_SOURCE = "secretsmanager:${aws_secretsmanager_secret.auth_secret.arn}"',
    );
    assert(!me.includes("github") && !me.includes("GITHUB"), me);
    assertMatch(
      me,
      /Action += "secretsmanager:GetSecretValue"\n +Resource = \[aws_secretsmanager_secret\.auth_secret\.arn\]/,
    );
    assertMatch(
      auth,
      /GITHUB_SECRET_SOURCE = "secretsmanager:\$\{aws_secretsmanager_secret\.github_secret\.arn\}"/,
    );
    assertMatch(auth, /Action += "kms:Decrypt"\n +Resource = \["arn:aws:kms:[^"]*"\]/);
    for (
      const text of [
        `DB_PASSWORD_SOURCE = "secretsmanager:${SHARED}#password"`,
        'LIMIT_SOURCE       = "ssm:/${module.core.name_prefix}/LIMIT"',
        'PEPPER_SOURCE      = "ssm:/shared/pepper"',
        ":parameter/shared/pepper",
        '"kms:ViaService" = "ssm.${module.core.region}.amazonaws.com"',
        "aws_secretsmanager_secret.hook_key.arn",
      ]
    ) assertStringIncludes(settings, text);
    // Terraform has the secrets of the stage, without values
    assertEquals(
      [...secrets.matchAll(/^resource "(.*)" "(.*)"/gm)].map(([, type, name]) => `${type}.${name}`),
      [
        "aws_secretsmanager_secret.auth_secret",
        "aws_secretsmanager_secret.github_secret",
        "aws_secretsmanager_secret.hook_key",
      ],
    );
    assert(!secrets.includes("secret_version") && !/secret|password/i.test(variables), variables);
  });
});

Deno.test("generate infra refuses a secret for a function that does not load sources", async () => {
  const files = {
    "deno.json": `{ "name": "shop" }`,
    [`${API}/a.get.ts`]: `import { defineApiHandler } from "@trellis/fn";
import { readToken } from "../../token.ts";
export const handler = defineApiHandler({})(async () => { readToken(); });`,
    "src/token.ts": `import { getRequiredEnv } from "@trellis/fn/env";
export const readToken = () => getRequiredEnv("API_TOKEN");`,
    "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { environment: { API_TOKEN: { secret: true } } } });`,
  };
  await withProject(files, async (root) => {
    const { exitCode, stdout } = await infra(root);
    assertEquals(exitCode, 1);
    assertStringIncludes(
      stdout,
      "API_TOKEN is read from AWS Secrets Manager, but A does not load it: write await loadSources() " +
        "at the start of src/token.ts (import",
    );
  });
});

Deno.test("generate infra refuses invalid settings of secrets and parameters", async () => {
  for (
    const [value, message] of [
      [`{ secret: "name" }`, ".secret must be true, or the ARN"],
      [`{ secret: true, field: "x" }`, ".field needs the ARN"],
      [`{ secret: true, kmsKeyArn: "alias/x" }`, ".kmsKeyArn must be the ARN"],
      [`{ parameter: "a b" }`, ".parameter must be true"],
      [
        `{ parameter: true, kmsKeyArn: "${KEY}" }`,
        ".kmsKeyArn must be the ARN of a KMS key, and needs secret: true",
      ],
    ]
  ) {
    const config = `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ infra: { database: "none", environment: { LIMIT: ${value} } } });`;
    await withProject({ ...PROJECT, "trellis.config.ts": config }, async (root) => {
      const { exitCode, stdout } = await infra(root);
      assertEquals(exitCode, 1, value);
      assertStringIncludes(stdout, `infra.environment.LIMIT${message}`);
    });
  }
});

Deno.test("secrets set puts values from standard input by the official clients, and secrets list names what is missing", async () => {
  await withShop(async (root, { secrets, parameters, calls }) => {
    const early = await run(root, "secrets set AUTH_SECRET --stage dev", "value-4711\n");
    assertEquals(early.exitCode, 1);
    assertStringIncludes(
      early.stdout,
      "shop-dev/AUTH_SECRET does not exist yet: run trellis deploy --stage dev",
    );

    for (const name of ["AUTH_SECRET", "GITHUB_SECRET", "HOOK_KEY"]) {
      secrets.set(`shop-dev/${name}`, undefined);
    }
    parameters.set("/shared/pepper", "x");
    secrets.set(SHARED, "{}");
    const set = await run(root, "secrets set AUTH_SECRET --stage dev", "value-4711\n");
    assertEquals([set.exitCode, set.stdout], [0, "shop-dev/AUTH_SECRET: value put\n"]);
    assertEquals(secrets.get("shop-dev/AUTH_SECRET"), "value-4711");
    const limit = await run(root, "secrets set LIMIT --stage dev", "20");
    assertEquals([limit.exitCode, parameters.get("/shop-dev/LIMIT")], [0, "20"]);
    const generated = await run(root, "secrets set HOOK_KEY --stage dev --generate");
    assertEquals(generated.exitCode, 0);
    assertMatch(secrets.get("shop-dev/HOOK_KEY")!, /^[0-9a-f]{64}$/);
    assert(!generated.stdout.includes(secrets.get("shop-dev/HOOK_KEY")!));

    const list = await run(root, "secrets list --stage dev");
    assertEquals(list.exitCode, 1);
    assertMatch(list.stdout, /^GITHUB_SECRET +shop-dev\/GITHUB_SECRET +empty +AuthByProxy$/m);
    assertMatch(list.stdout, /^AUTH_SECRET +shop-dev\/AUTH_SECRET +set /m);
    assert(!calls.some((call) => call.startsWith("GetSecretValue")));
    await run(root, "secrets set GITHUB_SECRET --stage dev", "x");
    assertEquals((await run(root, "secrets list --stage dev")).exitCode, 0);
    // another stage has its own
    assertEquals((await run(root, "secrets list --stage prod")).exitCode, 1);
  });
});

Deno.test("secrets list asks the region of the stage, else that of Terraform, else that of the shell", async () => {
  const withRegion = PROJECT["trellis.config.ts"].replace(
    "infra: {",
    'infra: { stages: { prod: { region: "eu-west-1" } },',
  );
  await withShop(async (root, { regions }) => {
    await Deno.writeTextFile(`${root}/trellis.config.ts`, withRegion);
    const read = async (stage: string) => {
      regions.clear();
      await run(root, `secrets list --stage ${stage}`);
      return [...regions];
    };
    assertEquals(await read("dev"), ["eu-central-1"]);
    await withEnv({ TF_VAR_region: "us-west-2" }, async () => {
      assertEquals(await read("dev"), ["us-west-2"]);
      assertEquals(await read("prod"), ["eu-west-1"]);
    });
  });
});

Deno.test("secrets set refuses an unknown name, a secret of others, no value and a stage that is no name", async () => {
  await withShop(async (root) => {
    const cases: [string, number, string][] = [
      ["secrets set OTHER --stage dev", 1, "No function reads OTHER"],
      ["secrets set DB_PASSWORD --stage dev", 1, "does not belong to this project"],
      ["secrets set AUTH_SECRET --stage dev", 2, "There is no value on standard input"],
      ["secrets set AUTH_SECRET --stage Dev", 2, '--stage is "Dev"'],
      ["secrets set AUTH_SECRET", 2, "Name the stage"],
    ];
    for (const [command, exitCode, message] of cases) {
      const result = await run(root, command);
      assertEquals(result.exitCode, exitCode, command);
      assertStringIncludes(result.stdout + result.stderr, message);
    }
  });
});
