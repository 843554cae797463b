/** A CDN in front of the API, and of buckets. */
export interface CdnInfra {
  /**
   * Buckets whose objects are served in place of the API, by path pattern: `{ "/assets/*": "site" }`. The
   * whole path is the key of the object.
   * @default {}
   */
  buckets?: Record<string, string>;
  /**
   * Longest time in seconds that a response of the API is kept, if its `Cache-Control` allows it.
   * @default 1
   */
  cacheMaxSeconds?: number;
  /**
   * At most three headers of the viewer that reach the API, beside those that the module forwards: a
   * webhook's signature, for example.
   */
  originHeaders?: string[];
  /**
   * Where CloudFront serves from.
   * @default "PriceClass_100", Europe and North America
   */
  priceClass?: "PriceClass_100" | "PriceClass_200" | "PriceClass_All";
}

/** A repository of container images in Amazon ECR. */
export interface RepositoryInfra {
  /**
   * Number of images that are kept.
   * @default 20
   */
  keepImages?: number;
}

/**
 * An application at a push service. Its key is a Terraform variable, and part of the state: Amazon SNS
 * takes it from no other place.
 */
export type PushPlatformInfra =
  /** Firebase Cloud Messaging, by the JSON key of a service account. */
  | { platform: "GCM" }
  /** Apple, by a signing key (token authentication). */
  | { platform: "APNS" | "APNS_SANDBOX"; keyId: string; teamId: string; bundleId: string };
