/**
 * Runs migrations in a separate process: `migrate_process.ts <config as JSON> [statement to die before]`. Each line on
 * standard output is a message of the run; the last one is the result.
 */
// deno-lint-ignore-file no-console -- its output is what the test reads
import process from "node:process";
import { type DatabaseConfig, runMigrations } from "../../database/mod.ts";

const [json, dieAt] = Deno.args;
const config: { migrationsFolder: string; database: DatabaseConfig; lockTtlSeconds?: number } = JSON
  .parse(
    json,
  );
let boundaries = 0;
const result = await runMigrations({
  ...config,
  logger(message): void {
    console.log(message);
    if (!/: (?:statement \d+ of|applied in)/.test(message)) return;
    if (String(++boundaries) === dieAt) process.kill(process.pid, "SIGKILL");
  },
});
console.log(JSON.stringify(result));
