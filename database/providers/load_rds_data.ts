import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads the client of the Data API.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export async function loadRdsData(): Promise<typeof import("@aws-sdk/client-rds-data")> {
  return await import("@aws-sdk/client-rds-data").catch(
    explainMissing(
      DATABASE_PACKAGES,
      "@aws-sdk/client-rds-data",
      "Provider serverless-pg over the Data API",
    ),
  );
}
