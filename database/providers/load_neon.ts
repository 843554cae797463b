import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads Neon's driver on first use. `trellis build` replaces this file by a static import if the
 * function certainly uses the driver.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadNeon(): Promise<typeof import("@neondatabase/serverless")> {
  return await import("@neondatabase/serverless").catch(
    explainMissing(DATABASE_PACKAGES, "@neondatabase/serverless", "Provider branching-pg"),
  );
}
