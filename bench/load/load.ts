/**
 * Holds the example application under load, good requests and bad ones mixed, and looks whether anything grows, leaks, breaks
 * off or is lost. Exit code 1 when it does.
 *
 *   deno run -A bench/load/load.ts                                            # 10 minutes on the embedded database
 *   deno run -A bench/load/load.ts --database postgres --restart-every 60     # a server that goes down every minute
 *   deno run -A bench/load/load.ts --seconds 15 --rate 200 --seed 7
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import { renderReport } from "./render_report.ts";
import { runLoad } from "./run_load.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    database: { type: "string", default: "embedded" },
    minutes: { type: "string", default: "10" },
    seconds: { type: "string" },
    "restart-every": { type: "string" },
    clients: { type: "string", default: "8" },
    rate: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});

function getNumber(name: keyof typeof values): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (Number(text) > 0) return Number(text);
  console.error(`--${name} is ${text}: it must be a number above 0`);
  Deno.exit(2);
}

const { database } = values;
if (database !== "embedded" && database !== "postgres") {
  console.error(`--database is ${database}: it must be embedded or postgres`);
  Deno.exit(2);
}
const report = await runLoad({
  database,
  seconds: getNumber("seconds") ?? (getNumber("minutes") ?? 10) * 60,
  restartEvery: getNumber("restart-every"),
  clients: getNumber("clients"),
  rate: getNumber("rate"),
  seed: getNumber("seed") ?? 1,
  progress: (line) => console.error(line),
});
console.log(renderReport(report));
Deno.exit(judge(report).length === 0 ? 0 : 1);
