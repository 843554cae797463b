import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads the client of the Data API.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadRdsData(): Promise<typeof import("@aws-sdk/client-rds-data")> {
  try {
    // inside of `try`, bundlers tolerate a package that is not installed
    return await import("@aws-sdk/client-rds-data");
  } catch (error) {
    const purpose = "Provider serverless-pg over the Data API";
    return explainMissing(DATABASE_PACKAGES, "@aws-sdk/client-rds-data", purpose)(error);
  }
}
