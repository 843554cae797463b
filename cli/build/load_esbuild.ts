import type * as Esbuild from "esbuild";
import { explainMissing } from "../../core/optional_package.ts";

/**
 * Loads the bundler: in the npm package it is an optional peer.
 *
 * @param command Who needs it, for the message: `trellis build`.
 * @returns esbuild.
 * @throws {ConfigurationError} When it is not installed: names the command that installs it.
 */
export async function loadEsbuild(command: string): Promise<typeof Esbuild> {
  return await import("esbuild").catch(explainMissing("esbuild", command));
}
