/**
 * Does one piece of work that a test kills: `killed_process.ts permissions <config as JSON>` or
 * `killed_process.ts generate <what> <root> <file>`, which dies before it gives that many files their name. The first line
 * on standard output says that the work begins.
 */
// deno-lint-ignore-file no-console -- its output is what the test reads
import { runCli } from "../../cli/run_cli.ts";
import { applyPermissions } from "../../database/mod.ts";

const [work, ...args] = Deno.args;
console.log("begin");
if (work === "permissions") {
  const config = JSON.parse(args[0]);
  const result = await applyPermissions({ ...config, logger: (line) => console.log(line) });
  console.log(JSON.stringify(result));
  Deno.exit(0);
}
const [what, root, dieAt] = args;
const { renameSync } = Deno;
let renames = 0;
// node:fs goes through it
Deno.renameSync = function renameOrDie(from, to): void {
  if (++renames === Number(dieAt)) Deno.kill(Deno.pid, "SIGKILL");
  renameSync(from, to);
};
const quiet = { write: () => {}, isTTY: false };
Deno.exit(
  await runCli(["generate", what, "--project", root], { env: {}, stdout: quiet, stderr: quiet }),
);
