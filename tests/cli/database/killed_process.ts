/** Applies migrations in a process that is killed, or rolls them back: `killed_process.ts <target as JSON> [to as JSON]`. */
import { migrateAndKeep, rollBack } from "./rollback_lab.ts";

const [target, to] = Deno.args.map((text) => JSON.parse(text));
const problems = to === undefined ? await migrateAndKeep(target) : await rollBack(target, to);
if (problems !== undefined && problems.length > 0) throw new Error(problems.join("\n"));
Deno.exit(0);
