import type * as Esbuild from "esbuild";
import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";

/**
 * Loads esbuild, an optional peer dependency of the npm package.
 *
 * @param command The command for the error message: `trellis build`.
 * @throws {ConfigurationError} If it is not installed; the message contains the install command.
 */
export async function loadEsbuild(command: string): Promise<typeof Esbuild> {
  return await import("esbuild").catch(explainMissing(CLI_PACKAGES, "esbuild", command));
}
