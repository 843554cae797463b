// deno-lint-ignore-file no-console
/**
 * From an empty folder to deployed stages, one by day and two in the long form, against Terraform with stand-in providers, the local
 * Aurora DSQL server, and local servers for the rest of AWS.
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../core/async/clock.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import {
  getSecretsEnvironment,
  type SecretsServer,
  startSecretsServer,
} from "../../support/secrets_server.ts";
import { type ReleaseServer, startReleaseServer } from "../../support/release_server.ts";
import { hasOffline, TERRAFORM, withProviders } from "../../support/terraform_providers.ts";
import { withEnv } from "../../support/with_env.ts";
import { denoProjectFiles } from "../build/project.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";

const MODULES = fileURLToPath(new URL("../../../modules", import.meta.url));
if (!hasOffline) {
  console.warn(
    "SKIPPED: terraform or its stand-in providers are missing. Not run: the rehearsal of a deployment.",
  );
}

/** The project, and the servers that stand in for AWS. */
interface Rehearsal {
  readonly root: string;
  readonly secrets: SecretsServer;
  readonly releases: ReleaseServer;
  /** Paths of requests to the deployed API. */
  readonly requests: string[];
  /** Address of the deployed API. */
  readonly url: string;
  /** Runs `trellis` in the project. */
  trellis(line: string, input?: string): Promise<CliResult>;
  deploy(line: string): Promise<CliResult>;
  /** Serves the providers to Terraform in a folder. */
  serve(folder: string): Promise<void>;
  /** Types of the resources in the state of a stage, or nothing without a state. */
  readState(stage: string): Promise<string[]>;
}

async function rehearse(run: (rehearsal: Rehearsal) => Promise<void>): Promise<void> {
  const work = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-rehearsal-" }));
  const root = join(work, "my-api");
  const secrets = startSecretsServer();
  const releases = startReleaseServer();
  const { sleep } = systemClock;
  const requests: string[] = [];
  const api = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    requests.push(new URL(request.url).pathname);
    return Response.json({ status: "ok" });
  });
  // a release shares the requests for a minute
  systemClock.sleep = () => Promise.resolve();
  try {
    await withDistSqlLab(async ({ server }) => {
      await Deno.writeTextFile(join(work, "ca.pem"), server.ca);
      const env = {
        ...getSecretsEnvironment(secrets),
        AWS_ENDPOINT_URL_LAMBDA: releases.url,
        AWS_ENDPOINT_URL_CLOUDWATCH: releases.url,
        AWS_ACCESS_KEY_ID: server.principal.accessKeyId,
        AWS_SECRET_ACCESS_KEY: server.principal.secretAccessKey,
        DATABASE_CA_FILE: join(work, "ca.pem"),
        DATABASE_REGION: server.region,
        DATABASE_URL: undefined,
        DATABASE_ENDPOINT: undefined,
        TF_VAR_region: "us-east-1",
      };
      const trellis = (line: string, input = "") =>
        runInProcess([...line.split(" "), "--project", root], {
          readInput: () => Promise.resolve(input),
        });
      await withProviders(work, async (providers) => {
        await withEnv({ ...env, ...providers.env }, async () =>
          await run({
            serve: (folder) => providers.serve(folder),
            root,
            secrets,
            releases,
            requests,
            url: `http://127.0.0.1:${api.addr.port}`,
            trellis,
            deploy: (line) =>
              trellis(
                `deploy --terraform ${TERRAFORM} --modules-path ${MODULES} --endpoint localhost:${server.port} ` +
                  `--url http://127.0.0.1:${api.addr.port} ${line}`,
              ),
            readState: (stage) => readState(join(root, "infra/states", `${stage}.tfstate`)),
          }));
      });
    });
  } finally {
    systemClock.sleep = sleep;
    await Promise.all([secrets.stop(), releases.stop(), api.shutdown()]);
    await Deno.remove(work, { recursive: true });
  }
}

async function readState(file: string): Promise<string[]> {
  const text = await Deno.readTextFile(file).catch(() => `{"resources":[]}`);
  const { resources } = JSON.parse(text) as { resources: { mode: string; type: string }[] };
  return resources.filter(({ mode }) => mode === "managed").map(({ type }) => type);
}

function assertDone({ exitCode, stdout, stderr }: CliResult): void {
  assertEquals(exitCode, 0, `${stdout}\n${stderr}`);
}

/** Writes the files of `trellis init`, with @trellis/fn from the checkout. */
async function init({ root }: Rehearsal): Promise<void> {
  assertDone(await runInProcess(["init", root, "--runtime", "deno", "--database", "aurora-dsql"]));
  const file = join(root, "deno.json");
  const checkout = await denoProjectFiles();
  const config = JSON.parse(await Deno.readTextFile(file));
  const { imports } = JSON.parse(checkout["deno.json"]);
  await Deno.writeTextFile(
    file,
    JSON.stringify({ ...config, imports: { ...config.imports, ...imports } }),
  );
  await Deno.writeTextFile(join(root, "deno.lock"), checkout["deno.lock"]);
  const settings = join(root, "trellis.config.ts");
  const text = await Deno.readTextFile(settings);
  await Deno.writeTextFile(settings, text.replace("infra: {", "infra: { release: { minutes: 1 },"));
}

/** Deno with the commands of the project. */
function runDeno({ root }: Rehearsal, ...args: string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    // tasks call deno by its name
    env: { NO_COLOR: "1", PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Starts `trellis dev`, requests a path, and stops it. */
async function requestFromDev(rehearsal: Rehearsal, path: string): Promise<unknown> {
  const main = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
  const child = runDeno(
    rehearsal,
    ...["run", "-A", "--no-check", main, "dev", "--port", "0", "--project", rehearsal.root],
  ).spawn();
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const stderr = new Response(child.stderr).text();
  try {
    let text = "";
    while (!text.includes("Press Ctrl-C to stop")) {
      const { value, done } = await stdout.read();
      if (done) throw new Error(`trellis dev ended: ${text}${await stderr}`);
      text += value;
    }
    const url = /runs at (\S+)/.exec(text)![1];
    return await (await fetch(`${url}${path}`)).json();
  } finally {
    child.kill("SIGINT");
    await stdout.cancel();
    await child.status;
    await stderr;
  }
}

/** The aliases that AWS has for the functions of a stage, whose newest version is `$LATEST` here. */
function setAliases({ releases }: Rehearsal, stage: string, version: string): void {
  for (const name of ["AuthByProxy", "Health", "Tags"]) {
    releases.aliases.set(`my-api-${stage}-${name}`, { FunctionVersion: version });
  }
}

const ROUTE = `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { countTags } from "../../queries/tags.ts";

export const handler = defineApiHandler({})(async function getTags({ context }) {
  return buildValidatedResponse(context, 200, { count: await countTags() });
});
`;
const QUERY = `import { DatabaseOperation } from "@trellis/fn/database";
import { defineQuery } from "../database.ts";
import { tags } from "../schema.ts";

export const countTags = defineQuery(
  { tables: [{ table: tags, operations: [DatabaseOperation.Select] }] },
  async function countTags(db) {
    return (await db.select().from(tags)).length;
  },
);
`;
const TABLE = `
export const tags = pgTable("tags", { id: uuid("id").primaryKey(), name: text("name").notNull() });
`;

/** Adds a table with a route, as a developer would. */
async function addTable({ root }: Rehearsal): Promise<void> {
  await Deno.writeTextFile(join(root, "src/schema.ts"), TABLE, { append: true });
  await Deno.writeTextFile(join(root, "src/queries/tags.ts"), QUERY);
  await Deno.writeTextFile(join(root, "src/functions/api/tags.get.ts"), ROUTE);
  await Deno.writeTextFile(
    join(root, "migrations/0003_tags.sql"),
    `CREATE TABLE "tags" ("id" uuid PRIMARY KEY NOT NULL, "name" text NOT NULL);\n`,
  );
}

async function generate({ trellis }: Rehearsal): Promise<void> {
  assertDone(await trellis("generate permissions"));
  assertDone(await trellis(`generate infra --modules-path ${MODULES}`));
}

/** The secrets that Terraform has created in a stage; the stand-in providers have no AWS behind them. */
function createSecrets({ secrets }: Rehearsal, stage: string): void {
  secrets.secrets.set(`my-api-${stage}/AUTH_SECRET`, undefined);
}

/** The deployment of a second stage takes a third of the time. */
const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";

Deno.test({
  name: `a new project is deployed to ${
    IS_FULL ? "two stages" : "a stage"
  }, changed, refused a foreign state, and destroyed`,
  ignore: !hasOffline,
  fn: async (test) => {
    await rehearse(async (rehearsal) => {
      const { root, trellis, deploy, readState, requests, secrets, releases } = rehearsal;
      await test.step("init and generate write a project for two stages", async () => {
        await init(rehearsal);
        await addTable(rehearsal);
        await generate(rehearsal);
        await rehearsal.serve(join(root, "infra"));
        const backend = await Deno.readTextFile(join(root, "infra/stages/prod.tfbackend"));
        assertStringIncludes(backend, 'path = "states/prod.tfstate"');
      });
      await test.step("the tests of the project pass, and trellis dev answers from the new table", async () => {
        // tests/cli/init checks the types of a new project
        const args = ["task", "test", "--no-check"];
        const { success, stdout, stderr } = await runDeno(rehearsal, ...args).output();
        const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
        assertEquals(success, true, text);
        assertStringIncludes(text, "3 passed | 0 failed");
        assertEquals(await requestFromDev(rehearsal, "/tags"), { count: 0 });
        // Terraform plans each function several times, which takes most of the time
        await Deno.remove(join(root, "src/functions/api/notes"), { recursive: true });
        await generate(rehearsal);
      });
      await test.step("deploy refuses at once if nobody can be asked", async () => {
        const refused = await deploy("--stage dev");
        assertEquals([refused.exitCode, refused.stdout], [2, ""]);
        assertStringIncludes(
          refused.stderr,
          "No terminal is attached for a confirmation: use --yes",
        );
      });
      await test.step("deploy stops before code exists if a secret has no value, and says what to do", async () => {
        const stopped = await deploy("--stage dev --yes");
        assertEquals(stopped.exitCode, 1);
        assertMatch(
          stopped.stdout,
          /create aws_secretsmanager_secret\.auth_secret \(USD 0\.40 per month\)/,
        );
        assertMatch(
          stopped.stdout,
          /done plan: \d+ to create, 0 to change, 0 to replace, 0 to destroy/,
        );
        assertStringIncludes(
          stopped.stdout,
          "failed secrets: a value is missing. Put it first:\n  trellis secrets set AUTH_SECRET --stage dev",
        );
        assertStringIncludes(
          stopped.stdout,
          "Not run: migrations, grants, apply, release, smoke.\nThen run again: trellis deploy --stage dev\n",
        );
        const types = await readState("dev");
        assert(types.includes("aws_iam_role") && types.includes("aws_dsql_cluster"));
        assert(!types.includes("aws_lambda_function") && !types.includes("aws_api_gateway_stage"));
      });
      await test.step("deploy goes on with migrations and grants before the functions get traffic", async () => {
        createSecrets(rehearsal, "dev");
        setAliases(rehearsal, "dev", "$LATEST");
        assertDone(await trellis("secrets set AUTH_SECRET --stage dev --generate"));
        const done = await deploy("--stage dev --yes");
        assertDone(done);
        const steps = [...done.stdout.matchAll(/^done (\w+): (.*)$/gm)];
        assertEquals(steps.map(([, name]) => name), [
          "check",
          "build",
          "compat",
          "plan",
          "roles",
          "secrets",
          "migrations",
          "grants",
          "apply",
          "release",
          "smoke",
        ]);
        assertStringIncludes(done.stdout, "3 applied");
        assertMatch(done.stdout, /done grants: [1-9]\d* applied/);
        assertMatch(
          done.stdout,
          /\nChanged: .*\nGo back: trellis deploy --stage dev --rollback\nTime: [\d.]+ s: /,
        );
        assert((await readState("dev")).includes("aws_lambda_function"));
        assertEquals(requests, ["/health"]);
      });
      const deployed = await Deno.readTextFile(join(root, "infra/states/dev.tfstate"));
      await test.step("another stage has its own secret", async () => {
        createSecrets(rehearsal, "prod");
        assertDone(await trellis("secrets set AUTH_SECRET --stage prod --generate"));
        const [dev, prod] = ["dev", "prod"].map((stage) =>
          secrets.secrets.get(`my-api-${stage}/AUTH_SECRET`)
        );
        assert(dev !== undefined && prod !== undefined && dev !== prod);
      });
      await test.step({
        name: "another stage has its own state",
        ignore: !IS_FULL,
        fn: async () => {
          setAliases(rehearsal, "prod", "$LATEST");
          const prod = await deploy("--stage prod --yes");
          assertDone(prod);
          assertMatch(
            prod.stdout,
            /done plan: \d+ to create, 0 to change, 0 to replace, 0 to destroy/,
          );
          assert((await readState("prod")).includes("aws_lambda_function"));
        },
      });
      await test.step("Terraform and deploy refuse the state of another stage", async () => {
        const terraform = await new Deno.Command(TERRAFORM, {
          args: ["plan", "-no-color", "-input=false", "-var=environment=prod"],
          cwd: join(root, "infra"),
          env: { TF_DATA_DIR: ".terraform/stages/dev" },
        }).output();
        assertEquals(terraform.code, 1);
        assertStringIncludes(
          new TextDecoder().decode(terraform.stderr),
          "This state belongs to my-api-dev, not to",
        );

        await Deno.copyFile(
          join(root, "infra/states/dev.tfstate"),
          join(root, "infra/states/test.tfstate"),
        );
        // like a deployment, but without a build before it
        const foreign = await deploy("--stage test --rollback");
        assertEquals(foreign.exitCode, 1);
        assertStringIncludes(
          foreign.stdout,
          "The state of test contains the resources of my-api-dev, not of my-api-test",
        );
        assertEquals(await Deno.readTextFile(join(root, "infra/states/dev.tfstate")), deployed);
      });
      await test.step("a change of the schema and a new route are deployed without --allow-destroy", async () => {
        await Deno.writeTextFile(
          join(root, "migrations/0004_colors.sql"),
          `ALTER TABLE "tags" ADD COLUMN "color" text;\n`,
        );
        await Deno.mkdir(join(root, "src/functions/api/tags"));
        await Deno.writeTextFile(
          join(root, "src/functions/api/tags/count.get.ts"),
          ROUTE.replace("../../queries", "../../../queries"),
        );
        await generate(rehearsal);
        setAliases(rehearsal, "dev", "1");
        releases.aliases.set("my-api-dev-TagsCount", { FunctionVersion: "1" });
        const changed = await deploy("--stage dev --yes");
        assertDone(changed);
        // every change of routes replaces the deployment of a REST API
        assertStringIncludes(
          changed.stdout,
          "  replace module.api.aws_api_gateway_deployment.this\n",
        );
        assertMatch(
          changed.stdout,
          /done plan: \d+ to create, \d+ to change, 1 to replace, 0 to d/,
        );
        assertMatch(
          changed.stdout,
          /done roles: [1-9]\d* created, 0 changed, 0 replaced, 0 destroyed/,
        );
        assertMatch(changed.stdout, /done migrations: .*: 1 applied.*\ndone grants: /);
        assertMatch(
          changed.stdout,
          /done apply: \d+ created, \d+ changed, 1 replaced, 0 destroyed/,
        );
        assertStringIncludes(changed.stdout, "done release: 4 functions released");
      });
      await test.step("--rollback moves the aliases back, and leaves the database", async () => {
        const back = await deploy("--stage dev --rollback");
        assertDone(back);
        assertMatch(
          back.stdout,
          /^done rollback: 4 functions have their previous version. The database is unchanged.*\ndone smoke: /,
        );
        const { FunctionVersion } = rehearsal.releases.aliases.get("my-api-dev-Tags")!;
        assertEquals(FunctionVersion, "1");
      });
      await test.step("destroy needs the stage's name, but no bundles", async () => {
        await Deno.remove(join(root, "dist"), { recursive: true });
        const destroy = (confirmed: string) =>
          trellis(
            `destroy --stage dev --confirm ${confirmed} --terraform ${TERRAFORM} --modules-path ${MODULES}`,
          );
        const refused = await destroy("prod");
        assertEquals(refused.exitCode, 2);
        assertStringIncludes(refused.stderr, '--confirm is "prod", not dev: nothing was changed');
        const destroyed = await destroy("dev");
        assertDone(destroyed);
        assertStringIncludes(
          destroyed.stdout,
          "destroy module.database.aws_dsql_cluster.this (its data is lost)",
        );
        // a run that was killed after Terraform's end has not removed the record
        const record = join(root, "infra/.terraform/stages/dev.releases.json");
        await Deno.writeTextFile(record, "{}");
        assertDone(await destroy("dev"));
        await assertRejects(() => Deno.stat(record), Deno.errors.NotFound);
        assertEquals(await readState("dev"), []);
        for (const stage of IS_FULL ? ["test", "prod"] : ["test"]) {
          assert((await readState(stage)).length > 0, stage);
        }
      });
    });
  },
});
