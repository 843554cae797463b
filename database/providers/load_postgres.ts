import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads postgres.js on first use. `trellis build` replaces this file by a static import if the
 * function certainly uses the driver.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadPostgres(): Promise<{ readonly default: typeof import("postgres") }> {
  try {
    return await import("postgres");
  } catch (error) {
    const purpose = "A connection to PostgreSQL or Aurora DSQL";
    return explainMissing(DATABASE_PACKAGES, "postgres", purpose)(error);
  }
}
