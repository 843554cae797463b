/**
 * Clones in a separate process: `clone_process.ts <work as JSON> [progress to die after] [milliseconds later]`. The last
 * line on standard output is the outcome.
 */
// deno-lint-ignore-file no-console -- its output is what the test reads
import process from "node:process";
import { type CloneWork, runClone } from "../../../cli/database/clone/run_clone.ts";

const [json, dieAt, delay] = Deno.args;
const work: CloneWork = JSON.parse(json);
let seen = 0;
function die(): void {
  process.kill(process.pid, "SIGKILL");
}
const outcome = await runClone({
  ...work,
  onMessage: (message) => console.log(message),
  onProgress(): void {
    if (String(++seen) !== dieAt) return;
    if (Number(delay) === 0) die();
    else setTimeout(die, Number(delay));
  },
});
console.log(JSON.stringify({ ...outcome, seen }));
