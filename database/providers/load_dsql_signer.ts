import { explainMissing } from "../../env/optional_package.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";

/**
 * Loads the signer of the AWS SDK, which finds credentials that are not in environment variables: profiles,
 * single sign-on, containers, instances. `trellis build` replaces this module.
 */
export async function loadDsqlSigner(): Promise<typeof import("@aws-sdk/dsql-signer")> {
  try {
    return await import("@aws-sdk/dsql-signer");
  } catch (error) {
    const purpose = "Provider distsql without AWS credentials in environment variables";
    return explainMissing(DATABASE_PACKAGES, "@aws-sdk/dsql-signer", purpose)(error);
  }
}
