import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { checkSecrets } from "../../../cli/deploy/secret_step.ts";

/** A deployment of `dev` with one secret, in an account that accepts values or not. */
function createDeployment(isThere: boolean, put: string[], isGenerated = true): Deployment {
  return {
    context: { options: { "generate-secrets": true } },
    plan: {
      secrets: [{
        variable: "AUTH_SECRET",
        isSecret: true,
        isGenerated,
        service: "secretsmanager",
      }],
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

Deno.test("checkSecrets() refuses to make up a value that is known elsewhere", async () => {
  const put: string[] = [];
  const error = await assertRejects(
    () => checkSecrets(createDeployment(true, put, false)),
    StepError,
    "a value is missing",
  );
  assertStringIncludes(error.message, "trellis secrets set AUTH_SECRET --stage dev < file");
  assertEquals(put, []);
});

Deno.test("checkSecrets() stops the deployment when the secret is not where the AWS clients look for it", async () => {
  await assertRejects(
    () => checkSecrets(createDeployment(false, [])),
    StepError,
    "the secret notes-dev/AUTH_SECRET does not exist in AWS, although Terraform has created it",
  );
});
