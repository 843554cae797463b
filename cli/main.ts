#!/usr/bin/env node
/**
 * The program `trellis`, for Node and Deno.
 *
 * @module
 */
import process from "node:process";
import { runCli } from "./run_cli.ts";

// with a listener a signal waits for the step under way, such as the writing of files; the shell expects 128 + number
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

// the process ends by itself, when all that was written has left
process.exitCode = await runCli(process.argv.slice(2));
