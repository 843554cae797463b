import { assertEquals, assertRejects } from "@std/assert";
import type { Deployment } from "../../../cli/deploy/deployment.ts";
import { requireClients } from "../../../cli/deploy/source_steps.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";

function createDeployment(services: readonly string[], release?: object): Deployment {
  return {
    plan: {
      config: { infra: { release } },
      secrets: services.map((service) => ({ service })),
      sources: { functions: [] },
    },
  } as unknown as Deployment;
}

Deno.test("requireClients() loads the clients that the project's deployment needs", async () => {
  const loaded: string[] = [];
  const load = (name: string) => Promise.resolve(loaded.push(name));
  await requireClients(createDeployment([]), load);
  assertEquals(loaded, []);
  await requireClients(createDeployment(["ssm", "secretsmanager"], {}), load);
  assertEquals(
    loaded,
    ["secrets-manager", "ssm", "lambda", "cloudwatch"].map((name) => `@aws-sdk/client-${name}`),
  );
});

Deno.test("requireClients() says how to install a client that is missing", async () => {
  const fail = (name: string) =>
    Promise.reject(
      Object.assign(new Error(`Cannot find package '${name}' imported from /deploy.js`), {
        code: "ERR_MODULE_NOT_FOUND",
      }),
    );
  await assertRejects(
    () => requireClients(createDeployment(["secretsmanager"]), fail),
    ConfigurationError,
    "A deployment with secrets needs the package @aws-sdk/client-secrets-manager, which is not installed. " +
      'Install it: npm install "@aws-sdk/client-secrets-manager@^3"',
  );
});
