#!/usr/bin/env node
/**
 * The program `trellis`, for Node and Deno.
 *
 * @module
 */
import process from "node:process";
import { runCli } from "./run_cli.ts";

// with a listener, a signal waits until synchronous file writes finish; shells expect 128 + number
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

// not process.exit(): it would lose output that is still buffered
process.exitCode = await runCli(process.argv.slice(2));
