// deno-lint-ignore-file no-console
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../support/postgres.ts";
import { SERVER_USER } from "../support/postgres_files.ts";
import { hasOffline, TERRAFORM } from "../support/terraform_providers.ts";
import { writeFiles } from "../support/temp_folder.ts";
import { type Emulator, hasPython, startEmulator } from "./emulator.ts";
import { listProjectFiles, STATES } from "./project.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const BUILT = Deno.env.get("TRELLIS_NPM_PACKAGE") ??
  fileURLToPath(new URL("../../npm", import.meta.url));

const missing = [
  ...await hasPython() ? [] : ["Python 3 with venv"],
  ...hasOffline ? [] : ["terraform or its stand-in providers"],
  ...existsSync(join(BUILT, "package.json")) ? [] : ["the npm package (deno task build:npm)"],
];
const mustRun = Deno.env.get("CI") === "true" && hasOffline;
if (missing.length > 0) {
  console.warn(
    `SKIPPED: ${missing.join(", ")} is missing. Not run: the suite on an emulator of AWS.`,
  );
}

/** What a program printed, and how it ended. */
export interface Outcome {
  readonly code: number;
  /** Standard output and standard error. */
  readonly text: string;
}

interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Starts a program with pipes. */
function start(program: string, args: readonly string[], { cwd, env }: RunOptions) {
  return new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { ...env, NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function run(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Outcome> {
  const child = start(program, args, options);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(options.input ?? "")).catch(() => {});
  await writer.close().catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const [printed, noted] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, text: `${printed}${noted}` };
}

/** A project of the suite. */
export interface SuiteProject {
  /** Template of `trellis init`. */
  readonly template: string;
  /** Packages of the project beside those of the template and of a deployment. */
  readonly packages?: readonly string[];
  /** Renders files, some of which replace those of the template. */
  readonly render: (read: (path: string) => Promise<string>) => Promise<Record<string, string>>;
}

/** One with PostgreSQL by address and a function of every kind. */
const EVERY_KIND: SuiteProject = {
  template: "api",
  render: () => Promise.resolve({ ...listProjectFiles() }),
};

/** Makes the project of a user: `trellis init`, its packages, and what is generated. */
async function createProject(
  root: string,
  env: Readonly<Record<string, string>>,
  { template, packages = [], render }: SuiteProject,
): Promise<void> {
  const main = join(BUILT, "cli/main.js");
  const need = async (program: string, args: readonly string[], cwd: string) => {
    const { code, text } = await run(program, args, { cwd, env });
    assertEquals(code, 0, `${program} ${args.join(" ")}\n${text}`);
    return text;
  };
  const options = ["--template", template, "--database", "postgres", "--runtime", "node"];
  await need("node", [main, "init", root, ...options], dirname(root));
  const packed = await need("npm", ["pack", BUILT, "--silent"], root);
  const manifest = JSON.parse(await Deno.readTextFile(join(root, "package.json")));
  manifest.dependencies["@trellis/fn"] = `file:./${packed.trim().split("\n").at(-1)}`;
  const { imports } = JSON.parse(await Deno.readTextFile(join(HERE, "../../deno.json")));
  const clients = ["cloudwatch", "dynamodb", "lambda", "s3", "secrets-manager", "sqs"];
  const names = ["fflate", ...clients.map((client) => `@aws-sdk/client-${client}`), ...packages];
  for (const name of names) {
    manifest.devDependencies[name] = imports[name].split("@").at(-1);
  }
  const files = await render((path) => Deno.readTextFile(join(root, path)));
  await writeFiles(root, { "package.json": JSON.stringify(manifest), ...files });
  await need("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"], root);
  for (const what of ["permissions", "infra", "openapi"]) {
    await need("npx", ["trellis", "generate", what], root);
  }
}

/** Asks until an answer is right, because triggers deliver in their own time. */
export async function until<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const answer = await ask();
    if (isRight(answer) || attempt === 200) return answer;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/**
 * Deploys for the first time, with the address of the database put when the deployment stops for it. A project without a
 * function that asks the database needs none.
 *
 * @returns The address of the API.
 */
export async function deployFirst({ trellis, databaseUrl }: Suite): Promise<string> {
  let deployed = await trellis("deploy --stage dev --yes --generate-secrets");
  if (deployed.text.includes("trellis secrets set DATABASE_URL")) {
    const put = await trellis("secrets set DATABASE_URL --stage dev", databaseUrl);
    assertEquals(put.code, 0, put.text);
    deployed = await trellis("deploy --stage dev --yes --generate-secrets");
  }
  assertEquals(deployed.code, 0, deployed.text);
  return /API: (\S+)/.exec(deployed.text)![1];
}

/** Checks that a plan has nothing to do. */
export async function checkPlanIsEmpty({ trellis }: Suite): Promise<void> {
  const { code, text } = await trellis("deploy --stage dev --plan");
  assertEquals(code, 0, text);
  assertStringIncludes(text, "done plan: no changes");
}

/** Destroys the stage. */
export async function destroyStage({ trellis }: Suite): Promise<void> {
  const { code, text } = await trellis("destroy --stage dev --confirm dev");
  assertEquals(code, 0, text);
}

/** Lines of the emulator's log that are printed after a failure. */
const MAX_LINES = 60;

/** A request to AWS: `["s3", "GetObject", { Bucket: "files", Key: "a" }]`. */
export type AwsRequest = readonly [service: string, operation: string, input: unknown];
// deno-lint-ignore no-explicit-any
type AwsResult = any;

/** A project on the emulator, with a database. */
export interface Suite {
  readonly emulator: Emulator;
  readonly root: string;
  /** The shell of the project. */
  readonly env: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  /** Another database of the same server. */
  readonly otherUrl: string;
  /** Runs a step; after a failure the others are left out, because a step builds on those before. */
  step(name: string, fn: () => Promise<void>): Promise<void>;
  /** Runs `trellis` in the project. */
  trellis(line: string, input?: string): Promise<Outcome>;
  /** Starts `trellis` in the project. */
  startTrellis(line: string): Deno.ChildProcess;
  /** Sends requests to AWS, one after another. Returns their results; `text` is a body. */
  send(...requests: readonly AwsRequest[]): Promise<AwsResult[]>;
}

/**
 * Defines a test with a project on the emulator. It is left out where a program is missing.
 *
 * @param options With `isLong`, the test belongs to the long form. `preloads` are scripts of this folder that every
 * `trellis` loads.
 */
export function testOnEmulator(
  name: string,
  tour: (suite: Suite) => Promise<void>,
  { isLong = false, preloads = [], project = EVERY_KIND }: {
    readonly isLong?: boolean;
    readonly preloads?: readonly string[];
    readonly project?: SuiteProject;
  } = {},
): void {
  const isLeftOut = isLong && Deno.env.get("TRELLIS_FULL_TESTS") === undefined;
  Deno.test({
    name,
    ignore: isLeftOut || missing.length > 0 && !mustRun,
    fn: async (t) => {
      assertEquals(missing, []);
      const work = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-emulator-" }));
      const root = join(work, "app");
      const seconds: string[] = [];
      let emulator: Emulator | undefined;
      let hasFailed = false;
      const postgres = await startPostgres({ settings: [`hba_file=${await writeRules(work)}`] });
      try {
        const { env: aws, clients, readLog } = emulator = await startEmulator(work);
        const env: Readonly<Record<string, string>> = {
          ...aws,
          DATABASE_URL: postgres.url,
          NODE_OPTIONS: [
            aws.NODE_OPTIONS,
            ...preloads.map((name) => `--require ${join(HERE, name)}`),
          ].join(" "),
        };
        const program = join(root, "node_modules/.bin/trellis");
        const otherUrl = await postgres.createDatabase("other");
        const suite: Suite = {
          ...{ emulator, root, env, databaseUrl: postgres.url, otherUrl },
          async step(name, fn): Promise<void> {
            if (hasFailed) return;
            const startedAt = performance.now();
            hasFailed = !await t.step(name, fn);
            if (hasFailed) console.log((await readLog()).split("\n").slice(-MAX_LINES).join("\n"));
            seconds.push(`${name} ${((performance.now() - startedAt) / 1000).toFixed(1)}`);
          },
          trellis: (line, input) => run(program, toArgs(line), { cwd: root, env, input }),
          startTrellis: (line) => start(program, toArgs(line), { cwd: root, env }),
          async send(...requests): Promise<AwsResult[]> {
            const args = [join(HERE, "send_requests.mjs"), clients, JSON.stringify(requests)];
            const { code, text } = await run("node", args, { cwd: work, env });
            assertEquals(code, 0, text);
            return JSON.parse(text);
          },
        };
        await suite.step("init and install", async () => {
          // packages come from the registry
          await createProject(root, { ...env, HTTPS_PROXY: "" }, project);
          const CreateBucketConfiguration = { LocationConstraint: env.AWS_REGION };
          await suite.send(["s3", "CreateBucket", { Bucket: STATES, CreateBucketConfiguration }]);
        });
        await tour(suite);
      } finally {
        await emulator?.stop();
        await postgres.stop();
        await Deno.remove(work, { recursive: true });
        console.log(`seconds: ${seconds.join(", ")}`);
      }
      assert(!hasFailed);
    },
  });
}

/** Returns the arguments of `trellis`, with the program of the tests for commands that run Terraform. */
function toArgs(line: string): string[] {
  const runsTerraform = /^(?:deploy|destroy|db rotate)\b/.test(line);
  const isChosen = !runsTerraform || line.includes("--terraform");
  return [...line.split(" "), ...isChosen ? [] : ["--terraform", TERRAFORM]];
}

/** Writes the rules of a server that checks the password of everyone but its owner. */
async function writeRules(work: string): Promise<string> {
  const file = join(work, "hba.conf");
  await Deno.chmod(work, 0o755);
  await Deno.writeTextFile(
    file,
    "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
  );
  if (SERVER_USER.uid !== undefined) await Deno.chown(file, SERVER_USER.uid, SERVER_USER.gid!);
  return file;
}
