import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { withProject } from "../fixtures/analyse.ts";
import { define, infra, readInfra } from "../fixtures/infra_project.ts";

/** A project with one route, and a configuration of `infra`. */
function project(settings: string): Record<string, string> {
  return {
    "deno.json": `{ "name": "shop" }`,
    "src/functions/api/a.get.ts": define(
      "defineApiHandler",
      "{}",
      `getRequiredEnv("AUTH_BASE_URL");`,
      `import { getRequiredEnv } from "@trellis/fn/env";`,
    ),
    "src/functions/queue/work.ts": define("defineQueueHandler"),
    "trellis.config.ts":
      `import { defineConfig } from "@trellis/fn/cli";\nexport default defineConfig({ infra: ${settings} });`,
  };
}

Deno.test("generate infra writes a backend and variables for each stage, and removes those of former stages", async () => {
  const settings = `{ region: "eu-central-1", state: { bucket: "states", region: "us-east-1" },
    environment: { AUTH_BASE_URL: { api: "/auth" } },
    stages: { dev: {}, prod: { domain: "api.example.com", hostedZoneId: "Z1", variables: { level: 3 } }, "*": {} } }`;
  await withProject(project(settings), async (root) => {
    assertEquals((await infra(root)).exitCode, 0);
    assertStringIncludes(await readInfra(root, "backend.tf"), 'backend "s3" {}');
    // the first version with use_lockfile
    assertStringIncludes(await readInfra(root, "versions.tf"), 'required_version = ">= 1.10"');
    const [backend, variables] = await Promise.all(
      ["stages/prod.tfbackend", "stages/prod.tfvars"].map((name) => readInfra(root, name)),
    );
    assertStringIncludes(backend, 'key          = "shop/prod.tfstate"\n');
    assertStringIncludes(variables, 'domain_name    = "api.example.com"\n');
    assertStringIncludes(variables, "level          = 3\n");
    assertStringIncludes(await readInfra(root, "fn_a.tf"), '"${module.api.base_url}/auth"');

    await Deno.writeTextFile(
      join(root, "trellis.config.ts"),
      project(`{ environment: { AUTH_BASE_URL: "x" } }`)["trellis.config.ts"],
    );
    assertStringIncludes((await infra(root)).stdout, "removed infra/stages/prod.tfvars\n");
    assertStringIncludes(await readInfra(root, "versions.tf"), 'required_version = ">= 1.9"');
  });
});

Deno.test("generate infra gives functions in api/ an alias with an alarm if releases are gradual", async () => {
  const settings = `{ environment: { AUTH_BASE_URL: "x" }, release: { errorPercent: 2 },
    functions: { A: { provisionedConcurrency: 3 } } }`;
  await withProject(project(settings), async (root) => {
    assertEquals((await infra(root)).exitCode, 0);
    const fn = await readInfra(root, "fn_a.tf");
    assertStringIncludes(fn, 'alias_name              = "live"\n  provisioned_concurrency = 3\n');
    assert(!(await readInfra(root, "fn_work.tf")).includes("alias_name"));
    const release = await readInfra(root, "release.tf");
    assertStringIncludes(release, "= 0.02\n");
    assertStringIncludes(release, "version = module.fn_a.version\n");
  });
});

Deno.test("generate infra refuses invalid stages and releases", async () => {
  for (
    const [settings, message] of [
      [`{ stages: { Prod: {} } }`, 'infra.stages has "Prod"'],
      [`{ stages: { prod: { zone: "x" } } }`, "unknown setting infra.stages.prod.zone"],
      [`{ release: { percent: 100 } }`, "infra.release.percent must be 1 to 99, got 100"],
      [`{ environment: { AUTH_BASE_URL: { api: "auth" } } }`, ".api must be true, or a path"],
    ]
  ) {
    await withProject(project(settings), async (root) => {
      const { exitCode, stdout } = await infra(root);
      assertEquals(exitCode, 1, settings);
      assertStringIncludes(stdout, message);
    });
  }
});

Deno.test("createProjectFiles() writes a workflow without keys, whose plan has a role of its own", () => {
  for (const runtime of ["node", "deno"] as const) {
    const files = createProjectFiles("my-api", runtime, { withCi: true });
    const workflow = files.get(".github/workflows/deploy.yml")!;
    // no keys of AWS; the address of a database is a secret of the steps that migrate it
    assert(!/aws-access-key/.test(workflow), workflow);
    const secrets = workflow.split("\n").filter((line) => line.includes("secrets."));
    assertEquals(secrets, Array(3).fill("          DATABASE_URL: ${{ secrets.DATABASE_URL }}"));
    const options = { withCi: true, database: "aurora-dsql" } as const;
    const ofCluster = createProjectFiles("my-api", runtime, options);
    assert(!ofCluster.get(".github/workflows/deploy.yml")!.includes("DATABASE_URL:"));
    const jobs = [...workflow.matchAll(/^ {2}(\w+):\n {4}if:/gm)].map(([, name]) => name);
    assertEquals(jobs, ["check", "plan", "preview", "close", "sweep", "dev", "prod"]);
    assertStringIncludes(workflow, "environment: plan\n");
    assertStringIncludes(workflow, "trellis deploy --stage prod --plan\n");
    const roles = files.get("infra-ci/main.tf")!;
    assertStringIncludes(roles, '"repo:${var.repository}:environment:${each.key}"');
    assertStringIncludes(roles, '"token.actions.githubusercontent.com:ref" = "refs/heads/main"');
    // a closed pull request waits for the deployment of its last push
    assertStringIncludes(workflow, "\nconcurrency:\n  group: deploy-${{ github.event.number ||");
    assertEquals(/cancel-in-progress/.test(workflow), false);
    const actions = [...workflow.matchAll(/uses: (.+)/g)].map(([, action]) => action);
    assertEquals(
      actions.filter((action) => !/^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)),
      [],
    );
    assertEquals(
      workflow.match(/actions\/checkout@/g)!.length,
      workflow.match(/persist-credentials: false/g)!.length,
    );
    // a plan reads neither values nor rows, messages and objects but the state of prod
    const plan = roles.slice(
      roles.indexOf('"aws_iam_role_policy" "plan"'),
      roles.indexOf("# The most that a role"),
    );
    const data =
      /GetSecretValue|ssm:|kms:Decrypt|Scan|Query|GetItem|ReceiveMessage|LogEvents|GetRecords|Invoke/;
    assertEquals(data.test(plan), false);
    assertEquals(
      [...plan.matchAll(/"s3:GetObject"[^}]*Resource = "([^"]*)"/g)].map(([, resource]) =>
        resource
      ),
      ["prod.tfstate", "prod.tfstate.releases.json", "prod.tfstate.tflock"].map((key) =>
        "${aws_s3_bucket.state[0].arn}/my-api/" + key
      ),
    );
    // nothing but bounded roles can be created, and nothing can take the boundary away
    assertStringIncludes(roles, '"iam:PermissionsBoundary" = aws_iam_policy.boundary.arn');
    assertEquals(/iam:\*Role|DeleteRolePermissionsBoundary/.test(roles), false);
    const config = files.get("trellis.config.ts")!;
    assertStringIncludes(config, 'permissionsBoundary: "my-api-functions"');
    assertEquals(createProjectFiles("my-api", runtime).has("infra-ci/main.tf"), false);
  }
});
