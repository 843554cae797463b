// deno-lint-ignore-file no-console
/**
 * Runs the long forms of the tests and prints their results in one table.
 *
 *   deno run -A scripts/soak.ts                          everything; hours
 *   deno run -A scripts/soak.ts --only sql,handlers      some topics
 *   deno run -A scripts/soak.ts --minutes 5              time per topic, if the topic supports it
 *   deno run -A scripts/soak.ts --seed 7                 the same cases again
 *   deno run -A scripts/soak.ts --list                   the topics
 *
 * Exits with 1 if a test failed. Its output is printed above the table.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { listFiles } from "./list_files.ts";
import { runProgram } from "./program.ts";

interface Topic {
  readonly what: string;
  /** Files or folders of tests. */
  readonly tests?: readonly string[];
  /** Cases of each property; the files report how many they ran. */
  readonly cases?: number;
  /** A program instead of tests, and its option for minutes. */
  readonly program?: readonly string[];
  readonly minutesOption?: string;
}

const TOPICS: Readonly<Record<string, Topic>> = {
  sql: {
    what: "SQL through tokenizer and translation, beside PostgreSQL's own parser",
    tests: ["tests/property/distsql_translation_test.ts"],
    cases: 85_000,
  },
  handlers: {
    what: "events and bodies through defineApiHandler, interleaved too",
    tests: ["tests/property/handler_property_test.ts"],
    cases: 100_000,
  },
  requests: {
    what: "correlation ids, trace headers, bearer headers, query strings",
    tests: ["tests/property/request_headers_test.ts"],
    cases: 100_000,
  },
  triggers: {
    what: "events of queues, topics, buckets, sockets, schedules, authorizers",
    tests: ["tests/property/trigger_handlers_test.ts"],
    cases: 50_000,
  },
  webhooks: {
    what: "webhook headers of every scheme, on both engines",
    tests: ["tests/property/webhook_headers_test.ts"],
    cases: 50_000,
  },
  migrations: {
    what: "folders of migrations",
    tests: ["tests/property/migration_folders_test.ts"],
    cases: 20_000,
  },
  permissions: {
    what: "permission files and their variables",
    tests: ["tests/property/permission_variables_test.ts"],
    cases: 20_000,
  },
  config: {
    what: "texts of trellis.config.ts",
    tests: ["tests/property/config_files_test.ts"],
    cases: 20_000,
  },
  schemas: {
    what: "compiled schemas beside zod",
    tests: ["tests/cli/build/compile_schema_test.ts"],
    cases: 20_000,
  },
  kills: {
    what: "processes killed while they migrate, roll back, recreate, clone",
    tests: [
      "tests/database/migrations/processes_system_test.ts",
      "tests/database/migrations/backfill_system_test.ts",
      "tests/distsql/recreate",
      "tests/cli/database/clone_killed_system_test.ts",
      "tests/cli/database/rollback_killed_system_test.ts",
    ],
  },
  traffic: {
    what: "readers and writers beside each change of the guide of migrations",
    tests: ["tests/database/migrations/traffic_system_test.ts"],
  },
  writers: { what: "64 writers of one row", tests: ["tests/database/conflicts_test.ts"] },
  faults: { what: "databases, networks and disks that fail", tests: ["tests/faults"] },
  concurrency: { what: "invocations that overlap, calls that race", tests: ["tests/concurrency"] },
  security: { what: "the threat model, line by line", tests: ["tests/security"] },
  upgrades: { what: "files and data of former releases", tests: ["tests/upgrades"] },
  load: {
    what: "the example under mixed traffic",
    program: ["bench/load/load.ts"],
    minutesOption: "--minutes",
  },
  mutation: {
    what: "changes of the program that a test must notice",
    program: ["scripts/mutation.ts"],
  },
  drizzle: {
    what: "the tests that use drizzle, with the release candidate of drizzle 1.0",
    program: ["scripts/drizzle_next.ts"],
  },
  deployments: {
    what:
      "projects on an emulator of AWS: from the first deployment to the end, killed, taken back, each template with both kinds of API, with other services, and with OpenTofu",
    tests: "deployment releases kills live services clients programs templates".split(" ")
      .map((name) => `tests/emulator/${name}.ts`),
  },
  contract: {
    what:
      "clients of other tools and languages, pages of Vite and Next.js, schemathesis, generated requests to builds, oasdiff and linters on the documents of the examples, and AWS's sample events",
    tests: ["clients", "schemathesis", "built", "pages", "oasdiff", "linters", "samples"].map((
      name,
    ) => `tests/contract/${name}.ts`),
  },
  consumers: {
    what: "the packed package on every Node, Bun and TypeScript, and by every package manager",
    tests: ["tests/consumers"],
  },
};
const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Time limit of a topic. */
const LIMIT_MINUTES = 6 * 60;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string" },
    list: { type: "boolean", default: false },
  },
});
const topics: Readonly<Record<string, Topic>> = { ...TOPICS, ...listFolderTopics() };
const names = values.only?.split(",") ?? Object.keys(topics);
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
const seed = values.seed ?? String(Date.now() % 2 ** 31);
const unknown = names.filter((name) => !Object.hasOwn(topics, name));
if (unknown.length > 0) {
  fail(`There is no topic ${unknown.join(", ")}; known are ${Object.keys(topics).join(", ")}`);
}
if (minutes !== undefined && !(minutes > 0)) {
  fail(`--minutes must be a number over 0, got ${values.minutes}`);
}
if (!/^\d+$/.test(seed)) fail(`--seed must be a whole number, got ${seed}`);
if (values.list) {
  for (const [name, { what }] of Object.entries(topics)) console.log(`${name.padEnd(12)} ${what}`);
  Deno.exit(0);
}

interface Row {
  readonly what: string;
  readonly howMany: string;
  readonly outcome: string;
  readonly command: string;
}

const rows: Row[] = [];
for (const name of names) {
  console.error(`${name} …`);
  const row = await soak(name, topics[name]);
  console.error(`${name}: ${row.howMany}, ${row.outcome}`);
  rows.push(row);
}
console.log("\n| what | how many | outcome | command | seed |\n| --- | --- | --- | --- | ---: |");
for (const { what, howMany, outcome, command } of rows) {
  console.log(`| ${what} | ${howMany} | ${outcome} | \`${command}\` | ${seed} |`);
}
Deno.exit(rows.every(({ outcome }) => /^(?:held|skipped)/.test(outcome)) ? 0 : 1);

/** Lists a topic for each folder with tests that have a long form and belong to no other topic. */
function listFolderTopics(): Record<string, Topic> {
  const known = Object.values(TOPICS).flatMap(({ tests }) => tests ?? []);
  const others = listFiles(join(ROOT, "tests")).map((file) => `tests/${file}`).filter((file) =>
    file.endsWith("_test.ts") &&
    !known.some((path) => file === path || file.startsWith(`${path}/`)) &&
    /TRELLIS_FULL_TESTS|\bIS_FULL\b/.test(Deno.readTextFileSync(join(ROOT, file)))
  );
  const folders = Object.groupBy(others, (file) => file.split("/")[1]);
  return Object.fromEntries(
    Object.entries(folders).map(([folder, tests]) => [
      folder,
      { what: `the long forms of the other tests in tests/${folder}`, tests },
    ]),
  );
}

async function soak(name: string, topic: Topic): Promise<Row> {
  const command = `deno task soak --only ${name}`;
  const missing = [...topic.tests ?? [], ...topic.program ?? []].find((path) => !isThere(path));
  if (missing !== undefined) {
    return { what: topic.what, howMany: "0", outcome: `skipped: there is no ${missing}`, command };
  }
  const report = await Deno.makeTempFile();
  try {
    const began = performance.now();
    const signal = AbortSignal.timeout(LIMIT_MINUTES * 60_000);
    const env = getEnvironment(topic, report);
    const options = { cwd: ROOT, env, signal };
    const { code, stdout, stderr } = await runProgram(
      Deno.execPath(),
      getArguments(topic),
      options,
    );
    const text = stdout + stderr;
    const took = `${Math.round((performance.now() - began) / 1000)} s`;
    if (code !== 0) console.error(text);
    const outcome = signal.aborted
      ? `no end after ${LIMIT_MINUTES} minutes`
      : code === 0
      ? "held"
      : "failed";
    return {
      what: topic.what,
      howMany: getCount(topic, await Deno.readTextFile(report), text),
      outcome: `${outcome}, ${took}`,
      command,
    };
  } finally {
    await Deno.remove(report);
  }
}

function getArguments({ tests, program, minutesOption }: Topic): string[] {
  if (tests !== undefined) return ["test", "-A", "--no-check", ...tests];
  const options = minutes === undefined || minutesOption === undefined
    ? []
    : [minutesOption, String(minutes)];
  return ["run", "-A", ...program!, ...options];
}

function getEnvironment({ cases, tests }: Topic, report: string): Record<string, string> {
  const environment = { TRELLIS_FULL_TESTS: "1", TRELLIS_SEED: seed };
  if (cases === undefined) return environment;
  const own = {
    ...environment,
    TRELLIS_PROPERTY_REPORT: report,
    TRELLIS_PROPERTY_RUNS: String(cases),
  };
  const count = getProperties(tests!);
  if (minutes === undefined || count === 0) return own;
  return {
    ...own,
    TRELLIS_PROPERTY_RUNS: String(2 ** 31 - 1),
    TRELLIS_PROPERTY_SECONDS: String(minutes * 60 / count),
  };
}

/** Counts the properties that share the time. Zero if a file has no time limit. */
function getProperties(files: readonly string[]): number {
  return files.map((file) => Deno.readTextFileSync(join(ROOT, file)))
    .reduce((count, text) => count + (text.match(/^property\(/gm)?.length ?? 0), 0);
}

function getCount({ cases, program }: Topic, report: string, text: string): string {
  const lines = report.split("\n").filter((line) => line !== "").map((line) =>
    JSON.parse(line) as { cases: number }
  );
  if (lines.length > 0) {
    const total = lines.reduce((sum, line) => sum + line.cases, 0);
    return `${total.toLocaleString("en")} cases of ${lines.length} properties`;
  }
  const passed = /(\d+) passed/.exec(text)?.[1];
  if (passed !== undefined) {
    return cases === undefined
      ? `${passed} tests`
      : `${passed} tests, ${cases.toLocaleString("en")} cases where they are random`;
  }
  // a program prints its results as a table in its last lines
  return program === undefined
    ? "0"
    : text.match(/\|[^\n]*\|/g)?.at(-1)?.replaceAll("|", " ").trim() ?? "see above";
}

function isThere(path: string): boolean {
  try {
    const { isDirectory } = Deno.statSync(join(ROOT, path));
    return !isDirectory ||
      [...Deno.readDirSync(join(ROOT, path))].some(({ name }) => name.endsWith("_test.ts"));
  } catch {
    return false;
  }
}

function fail(message: string): never {
  console.error(message);
  Deno.exit(2);
}
