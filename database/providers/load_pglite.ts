import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Imports PGlite.
 *
 * @param caller What an error names if PGlite is not installed.
 * @throws {ConfigurationError} if PGlite is not installed.
 */
export async function loadPglite(caller: string): Promise<typeof import("@electric-sql/pglite")> {
  try {
    return await import("@electric-sql/pglite");
  } catch (error) {
    return explainMissing(DATABASE_PACKAGES, "@electric-sql/pglite", caller)(error);
  }
}
