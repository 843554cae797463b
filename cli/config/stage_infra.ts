/** Settings of a stage. In texts, `{stage}` is replaced by the name of the stage. */
export interface StageInfra {
  /** Host name of the REST API: `api.example.com`. */
  domain?: string;
  /** Id of the Route 53 zone for the certificate and the records of `domain`. */
  hostedZoneId?: string;
  /** ARN of a certificate for `domain`, if it is not to be created. */
  certificateArn?: string;
  /** Host name of the CDN of `infra.cdn`: `www.example.com`. */
  cdnDomain?: string;
  /** ARN of the certificate for `cdnDomain`, in us-east-1. */
  cdnCertificateArn?: string;
  /** Region of the stage, if it is not `infra.region`. */
  region?: string;
  /** Values of other Terraform variables. */
  variables?: Record<string, string | number | boolean>;
}

/** The bucket with the Terraform states of all stages. */
export interface StateInfra {
  /** Name of the bucket, which must be private and versioned. */
  bucket: string;
  /** Region of the bucket. */
  region: string;
  /** ARN of the key that encrypts the states, in place of the bucket's own. */
  kmsKeyId?: string;
}

/** The release of new versions of the functions in `api/`. */
export interface ReleaseInfra {
  /**
   * Share of requests in percent that the new versions answer at first, 1 to 99.
   * @default 10
   */
  percent?: number;
  /**
   * Minutes until the new versions answer all requests. An alarm in this time rolls back.
   * @default 5
   */
  minutes?: number;
  /**
   * Share of answers with a status from 500, in percent of all answers in a minute, that raises the
   * alarm.
   * @default 5
   */
  errorPercent?: number;
}
