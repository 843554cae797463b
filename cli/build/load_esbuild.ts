import type * as Esbuild from "esbuild";
import { explainMissing } from "../../core/mod.ts";

/**
 * Loads the bundler, which only this command needs: in the npm package it is an optional peer.
 *
 * @returns esbuild.
 * @throws {ConfigurationError} When it is not installed: names the command that installs it.
 */
export async function loadEsbuild(): Promise<typeof Esbuild> {
  return await import("esbuild").catch(explainMissing("esbuild", "trellis build"));
}
