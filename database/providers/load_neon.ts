import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads Neon's driver on first use. `trellis build` replaces this file by a static import if the
 * function certainly uses the driver.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadNeon(): Promise<typeof import("@neondatabase/serverless")> {
  try {
    return await import("@neondatabase/serverless");
  } catch (error) {
    const name = "@neondatabase/serverless";
    return explainMissing(DATABASE_PACKAGES, name, "Provider branching-pg")(error);
  }
}
