// deno-lint-ignore-file no-console
/**
 * Creates projects with packed packages, as a user does with `npm create trellis`, and tries all that a project
 * can do without an account: install, types, tests, generated files, bundles with their budgets, and `trellis dev`.
 *
 *   deno run -A scripts/try_templates.ts                                   one combination, chosen by turn
 *   deno run -A scripts/try_templates.ts --template jobs --database neon
 *   deno run -A scripts/try_templates.ts --template notes --database postgres --drizzle 1.0.0-rc.5
 *   deno run -A scripts/try_templates.ts --all                             each template with each database
 *
 * `TRELLIS_NPM_PACKAGE` names a folder with a build of the npm package to use.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import {
  DATABASE_NAMES,
  type DatabaseName,
  TEMPLATE_NAMES,
  type TemplateName,
} from "../cli/init/project_choices.ts";
import { buildNpm } from "./build_npm.ts";
import { buildCreatePackage } from "./create_package.ts";
import { runOrThrow } from "./program.ts";

/** A template with a database. */
export interface Combination {
  readonly template: TemplateName;
  readonly database: DatabaseName;
  /** Another version of drizzle-orm than that of the template. */
  readonly drizzle?: string;
}

/** Each template with each database. */
export const COMBINATIONS: readonly Combination[] = TEMPLATE_NAMES.flatMap((template) =>
  DATABASE_NAMES.map((database) => ({ template, database }))
);

/**
 * Chooses the combination of a run. Consecutive turns differ in template and database, and a round of turns
 * has all combinations.
 *
 * @param turn A whole number that grows with the runs, such as the number of commits.
 */
export function chooseCombination(turn: number): Combination {
  // 7 has no divisor in common with their number
  return COMBINATIONS[turn * 7 % COMBINATIONS.length];
}

/** Returns the number of commits, which grows with the runs. */
export async function readTurn(): Promise<number> {
  const { stdout } = await runOrThrow("git", ["rev-list", "--count", "HEAD"], {
    cwd: import.meta.dirname,
  });
  return Number(stdout);
}

/** Packed packages. */
export interface PackedPackages {
  readonly main: string;
  readonly create: string;
}

/**
 * Packs the npm package and `create-trellis` into a folder.
 *
 * @param built A build of the npm package; built here by default.
 */
export async function packPackages(folder: string, built?: string): Promise<PackedPackages> {
  const main = built ?? join(folder, "npm");
  if (built === undefined) await buildNpm({ out: main, engine: "deno-pack" });
  const create = join(folder, "create-trellis");
  await buildCreatePackage(create, main);
  return { main: await pack(main, folder), create: await pack(create, folder) };
}

async function pack(from: string, to: string): Promise<string> {
  const args = ["pack", from, "--json", "--silent", "--pack-destination", to];
  const [{ filename }] = JSON.parse((await runOrThrow("npm", args, { cwd: to })).stdout);
  // npm takes an archive with a known name from its cache
  const archive = join(to, filename);
  const digest = createHash("sha256").update(await Deno.readFile(archive)).digest("hex");
  const renamed = join(to, `${digest.slice(0, 16)}-${basename(filename)}`);
  await Deno.rename(archive, renamed);
  return renamed;
}

/** A project that passed, and the seconds of each step. */
export interface TriedProject {
  readonly root: string;
  readonly seconds: Readonly<Record<string, number>>;
}

/**
 * Creates a project and tries it.
 *
 * @param combination Template and database.
 * @param packages The packed packages.
 * @param parent An empty folder for it.
 * @throws {Error} If a step fails; the message has its output.
 */
export async function tryCombination(
  { template, database, drizzle }: Combination,
  { main, create }: PackedPackages,
  parent: string,
): Promise<TriedProject> {
  const root = join(parent, "my-api");
  const seconds: Record<string, number> = {};
  async function step(name: string, command: string, ...args: string[]): Promise<string> {
    const start = performance.now();
    const cwd = name === "create" ? parent : root;
    const { stdout } = await runOrThrow(command, args, { cwd, env: SILENT });
    seconds[name] = Math.round((performance.now() - start) / 100) / 10;
    return stdout;
  }
  const packages = [`--package=${create}`, `--package=${main}`];
  const given = ["my-api", "--template", template, "--database", database];
  await step("create", "npm", "exec", "--yes", ...packages, "--", "create-trellis", ...given);
  await replaceVersions(join(root, "package.json"), {
    "@trellis/fn": `file:${main}`,
    ...drizzle !== undefined && { "drizzle-orm": drizzle },
  });
  await step("install", "npm", "install", "--no-audit", "--no-fund", "--prefer-offline");
  await step("generate", "npm", "run", "generate");
  // types, tests, generated files, and the bundles with their budgets
  await step("ci", "npm", "run", "ci");
  const start = performance.now();
  await tryDev(root, template);
  seconds.dev = Math.round((performance.now() - start) / 100) / 10;
  return { root, seconds };
}

/** Variables without which the output depends on the machine. */
const SILENT = { npm_config_loglevel: "error", DATABASE_URL: "", DATABASE_ENDPOINT: "" };

async function replaceVersions(file: string, versions: Record<string, string>): Promise<void> {
  const manifest = JSON.parse(await Deno.readTextFile(file));
  Object.assign(manifest.dependencies, versions);
  await Deno.writeTextFile(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Requests to a project of each template: method, path, body and status. */
const REQUESTS: Readonly<
  Record<
    TemplateName,
    readonly (readonly [path: string, body: object | undefined, status: number])[]
  >
> = (() => {
  const health = ["/health", undefined, 200] as const;
  const ada = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
  const signUp = ["/auth/sign-up/email", ada, 200] as const;
  return {
    notes: [health, signUp, ["/notes", undefined, 401]],
    api: [health, ["/notes", { title: "Milk" }, 201], ["/notes", undefined, 200]],
    accounts: [health, signUp, ["/auth/sign-in/email", ada, 403]],
    jobs: [health, ["/orders", { item: "Tea", quantity: 2 }, 201]],
    empty: [health],
  };
})();

/** Starts `trellis dev`, sends requests, changes a function, and stops it. */
async function tryDev(root: string, template: TemplateName): Promise<void> {
  const main = join(root, "node_modules/@trellis/fn/cli/main.js");
  const child = new Deno.Command("node", {
    args: [main, "dev", "--port", "0"],
    cwd: root,
    env: { NO_COLOR: "1", ...SILENT },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  let printed = "";
  let ended: Deno.CommandStatus;
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let url: string | undefined;
    while (url === undefined) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`trellis dev ended:\n${printed}${await errors}`);
      printed += value;
      url = /runs at (http:\S+)\n/.exec(printed)?.[1];
    }
    for (const [path, body, status] of REQUESTS[template]) {
      const response = await fetch(url + path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await response.text();
      if (response.status === status) continue;
      throw new Error(`trellis dev: ${path} answered ${response.status} ${text}\n${printed}`);
    }
    await replaceInFile(join(root, "src/functions/api/health.get.ts"), '"ok"', '"changed"');
    const changed = await (await fetch(`${url}/health`)).text();
    if (changed !== '{"status":"changed"}') {
      throw new Error(`trellis dev answered ${changed} after a change of the function`);
    }
  } finally {
    await replaceInFile(join(root, "src/functions/api/health.get.ts"), '"changed"', '"ok"');
    child.kill("SIGTERM");
    while (!(await reader.read()).done);
    ended = await child.status;
  }
  if (ended.success) return;
  throw new Error(`trellis dev ended with ${ended.code} after SIGTERM:\n${await errors}`);
}

async function replaceInFile(file: string, from: string, to: string): Promise<void> {
  await Deno.writeTextFile(file, (await Deno.readTextFile(file)).replaceAll(from, to));
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      all: { type: "boolean" },
      template: { type: "string" },
      database: { type: "string" },
      drizzle: { type: "string" },
    },
  });
  const chosen = values.template === undefined && values.database === undefined
    ? values.all ? COMBINATIONS : [chooseCombination(await readTurn())]
    : COMBINATIONS.filter(({ template, database }) =>
      (values.template ?? template) === template && (values.database ?? database) === database
    ).map((each) => ({ ...each, drizzle: values.drizzle }));
  if (chosen.length === 0) {
    throw new Error(`--template is one of ${TEMPLATE_NAMES}, --database one of ${DATABASE_NAMES}`);
  }
  const folder = await Deno.makeTempDir({ prefix: "trellis-templates-" });
  let failed = 0;
  try {
    const packages = await packPackages(folder, Deno.env.get("TRELLIS_NPM_PACKAGE"));
    for (const combination of chosen) {
      const parent = await Deno.makeTempDir({ dir: folder });
      const name = `${combination.template} ${combination.database}`;
      try {
        const { seconds } = await tryCombination(combination, packages, parent);
        const times = Object.entries(seconds).map(([step, time]) => `${step} ${time} s`);
        console.log(`${name}: ${times.join(", ")}`);
      } catch (error) {
        failed++;
        console.error(`${name}: FAILED\n${(error as Error).message}`);
      }
      await Deno.remove(parent, { recursive: true });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  Deno.exit(failed === 0 ? 0 : 1);
}
