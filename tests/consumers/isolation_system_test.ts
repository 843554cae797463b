// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { startPostgres } from "../support/postgres.ts";
import { makeConsumer, ROOT } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow } from "../../scripts/program.ts";
import { findTool, IS_FULL, NODES, type Tool } from "./support/tools.ts";

const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
const installed = await pickPackages(
  ["drizzle-orm", "postgres"].map((name) => imports[name].slice("npm:".length).replace("@^", "@")),
);
const folder = await makeConsumer(installed, { "isolation.mjs": undefined });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const RUNTIMES: (Tool | "deno")[] = IS_FULL
  ? [...NODES, "bun", "deno"]
  : ["node20", "node24", "deno"];
/** 1,000,000 over all runtimes in the long form; nested requests count too. */
const REQUESTS = IS_FULL ? 156_000 : 2_400;

const SANDBOX = {
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  AWS_LAMBDA_FUNCTION_NAME: "isolation",
};
const MOST = "on Lambda, 64 at once";
/**
 * Where a function runs: the same code must do everywhere. The short form tries all on the Node of Lambda, and
 * the last on the others.
 */
const PLACES: Record<string, Record<string, string>> = {
  "on a machine": {},
  "on Lambda": SANDBOX,
  [MOST]: { ...SANDBOX, AWS_LAMBDA_MAX_CONCURRENCY: "64" },
};

interface Report {
  runtime: string;
  requests: number;
  lines: number;
  metrics: number;
  spans: number;
  checks: number;
  foreign: number;
  lost: number;
  /** How many requests of each kind. */
  kinds: Record<string, number>;
  /** How many requests used the database to their end: a few meet a connection that was cut. */
  stored: number;
  examples: unknown[];
}

async function isolate(
  runtime: Tool | "deno",
  input: unknown,
  env: Record<string, string>,
): Promise<Report | undefined> {
  const found = runtime === "deno" ? "" : await findTool(runtime);
  if (found === undefined) return undefined;
  const program = ["isolation.mjs", JSON.stringify(input)];
  const [command, args] = runtime === "deno"
    ? [Deno.execPath(), ["run", "-A", "--no-lock", ...program]]
    : [join(found, "bin", runtime === "bun" ? "bun" : "node"), program];
  const { stdout } = await runOrThrow(command, args, { cwd: folder, env });
  return JSON.parse(stdout);
}

for (const runtime of RUNTIMES) {
  Deno.test(`interleaved requests on ${runtime} show nothing of each other, on Lambda too`, async () => {
    await using postgres = await startPostgres();
    const connectionString = `${postgres.url}?application_name=isolation`;
    for (const [name, env] of Object.entries(PLACES)) {
      if (!IS_FULL && runtime !== "node24" && name !== MOST) continue;
      const report = await isolate(runtime, {
        requests: REQUESTS / 3,
        config: {
          provider: "serverless-pg",
          connectionString,
          maxConnections: 4,
          instrument: false,
        },
      }, env);
      if (report === undefined) return;
      const { requests, lines, metrics, spans, checks, foreign, lost, kinds, stored, examples } =
        report;
      console.log(
        `${report.runtime} ${name}: ${requests} requests, ${lines} lines, ${metrics} metric documents, ${spans} spans, ` +
          `${checks} checks: ${foreign} of another request, ${lost} lines lost; ${
            JSON.stringify({ ...kinds, stored })
          }`,
      );
      assertEquals([foreign, lost], [0, 0], JSON.stringify(examples));
      assert(stored > kinds.stored * 0.5, `${stored} of ${kinds.stored} used the database`);
      assert(
        requests >= REQUESTS / 3 && metrics >= requests && spans >= requests,
        JSON.stringify(report),
      );
    }
  });
}
