import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads the signer of the AWS SDK, which finds credentials that are not in environment variables: profiles,
 * single sign-on, containers, instances. `trellis build` replaces this module.
 */
export async function loadRdsSigner(): Promise<typeof import("@aws-sdk/rds-signer")> {
  try {
    return await import("@aws-sdk/rds-signer");
  } catch (error) {
    const purpose = "DatabaseConfig.iamAuth without AWS credentials in environment variables";
    return explainMissing(DATABASE_PACKAGES, "@aws-sdk/rds-signer", purpose)(error);
  }
}
