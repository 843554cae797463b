import { ConfigurationError } from "../../errors/http_errors.ts";
import { createTokenSource } from "./iam_token.ts";
import { loadRdsSigner } from "./load_rds_signer.ts";

/** The address that a token is signed for. */
export interface RdsTokenOptions {
  /** The endpoint of the instance, cluster or RDS Proxy; not an alias. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /**
   * The AWS region.
   * @default the region in the host name
   */
  readonly region?: string;
}

const RDS_HOST = /\.([a-z]{2}(?:-[a-z]+)+-\d)\.rds\.amazonaws\.com(?:\.cn)?$/i;

/**
 * Creates the password function for IAM authentication. Tokens are signed locally and valid for 15
 * minutes; the server checks one only while a connection opens, so each connection gets its own.
 *
 * @param options The address.
 * @returns Creates a token.
 * @throws {ConfigurationError} If the region is unknown, or if credentials are not in environment variables and
 * the signer of the AWS SDK, which finds others, is not installed.
 */
export async function createRdsToken(
  { host, port, username, region = RDS_HOST.exec(host)?.[1].toLowerCase() }: RdsTokenOptions,
): Promise<() => Promise<string>> {
  if (region === undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.region is missing, and the host name does not contain it: IAM tokens need " +
        "the region, and the endpoint that RDS shows",
    );
  }
  const request = {
    service: "rds-db",
    host: `${host}:${port}`,
    region,
    parameters: { Action: "connect", DBUser: username },
  } as const;
  return await createTokenSource(request, async () => {
    const { Signer } = await loadRdsSigner();
    const signer = new Signer({ hostname: host, port, username, region });
    return () => signer.getAuthToken();
  });
}
