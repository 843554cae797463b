import { assertEquals, assertRejects } from "@std/assert";
import { type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { checkSecrets } from "../../../cli/deploy/secret_step.ts";

/**
 * A deployment of `dev` with secrets, in an account that accepts values or not. Only `AUTH_SECRET` can be any random
 * text.
 */
function createDeployment(
  isThere: boolean,
  put: string[],
  names: readonly string[] = ["AUTH_SECRET"],
): Deployment {
  return {
    context: { options: { "generate-secrets": true } },
    plan: {
      secrets: names.map((variable) => ({
        variable,
        isSecret: true,
        isGenerated: variable === "AUTH_SECRET",
        service: "secretsmanager",
      })),
    },
    stage: { name: "dev" },
    secrets: {
      getName: () => "notes-dev/AUTH_SECRET",
      find: () => Promise.resolve(isThere ? "empty" : "missing"),
      put: (_source: unknown, value: string) => {
        put.push(value);
        return Promise.resolve(isThere);
      },
    },
  } as unknown as Deployment;
}

Deno.test("checkSecrets() puts random values with --generate-secrets", async () => {
  const put: string[] = [];
  assertEquals(await checkSecrets(createDeployment(true, put)), "1 generated, 0 had a value");
  assertEquals(put.map((value) => /^[0-9a-f]{64}$/.test(value)), [true]);
});

Deno.test("checkSecrets() puts no random value for the address of a database", async () => {
  const put: string[] = [];
  await assertRejects(
    () => checkSecrets(createDeployment(true, put, ["AUTH_SECRET", "DATABASE_URL"])),
    StepError,
    "2 values are missing. Put them first:\n" +
      "  trellis secrets set AUTH_SECRET --stage dev --generate\n" +
      "  trellis secrets set DATABASE_URL --stage dev < file",
  );
  assertEquals(put, []);
});

Deno.test("checkSecrets() stops the deployment when the secret is not where the AWS clients look for it", async () => {
  await assertRejects(
    () => checkSecrets(createDeployment(false, [])),
    StepError,
    "the secret notes-dev/AUTH_SECRET does not exist in AWS, although it was created",
  );
});
