/** `trellis db clone` in a separate process, with the signals of the real program. */
import process from "node:process";
import { dbClone } from "../../../cli/commands/db_clone.ts";
import { runCli } from "../../../cli/run_cli.ts";

process.once("SIGINT", () => process.exit(130));
process.exitCode = await runCli(process.argv.slice(2), { commands: [dbClone] });
