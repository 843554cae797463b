import { limitRequest } from "../../env/limit_request.ts";
import { createEnvironmentSigner, CREDENTIALS_LIMIT, type IamTokenRequest } from "./iam_token.ts";
import { loadDsqlSigner } from "./load_dsql_signer.ts";

/** The cluster and the kind of role that a token is signed for. */
export interface DsqlTokenOptions {
  readonly host: string;
  readonly region: string;
  /** True for the role `admin`. */
  readonly isAdmin: boolean;
}

/**
 * Creates the password function for Aurora DSQL. Tokens are signed locally and valid for 15 minutes.
 *
 * @param options The cluster and the kind of role.
 * @returns Creates a token.
 * @throws {ConfigurationError} If credentials are not in environment variables and the signer of the AWS
 * SDK, which finds others, is not installed.
 */
export async function createDsqlToken(
  { host, region, isAdmin }: DsqlTokenOptions,
): Promise<() => Promise<string>> {
  const request: IamTokenRequest = {
    service: "dsql",
    host,
    region,
    parameters: { Action: isAdmin ? "DbConnectAdmin" : "DbConnect" },
  };
  const signToken = createEnvironmentSigner(request);
  if (signToken !== undefined) return signToken;
  const { DsqlSigner } = await loadDsqlSigner();
  const signer = new DsqlSigner({ hostname: host, region });
  return function createToken(): Promise<string> {
    return limitRequest(
      CREDENTIALS_LIMIT,
      () => isAdmin ? signer.getDbConnectAdminAuthToken() : signer.getDbConnectAuthToken(),
    );
  };
}
