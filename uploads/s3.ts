import type * as S3 from "@aws-sdk/client-s3";
import { loadOnce } from "../core/async/single_flight.ts";
import type { RequestLimit } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";

/** The loaded client of S3. */
export interface S3Connection {
  /** The package. */
  readonly sdk: typeof S3;
  /** The client, with region and credentials of the environment. */
  readonly client: S3.S3Client;
}

/** The limit of a request, and of the credentials for a signature. */
export const S3_LIMIT: RequestLimit = { service: "Amazon S3", limitMs: 5000 };

/**
 * Loads the client of S3, once for all uploads.
 *
 * @throws {ConfigurationError} If the package is not installed.
 */
export const connectS3: () => Promise<S3Connection> = loadOnce(async () => {
  const sdk = await import("@aws-sdk/client-s3").catch(
    explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-s3", "defineUpload"),
  );
  // a checksum that is computed in advance would be that of an empty file
  const client = new sdk.S3Client({ requestChecksumCalculation: "WHEN_REQUIRED" });
  return { sdk, client };
});
