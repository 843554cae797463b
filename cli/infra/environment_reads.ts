import type { BucketUse } from "./variable_reads.ts";
import { type InfraFunction, listRoutes } from "./infra_plan.ts";

/**
 * Variables that every handler of this package reads if they are set (see the environment guide).
 */
const READ_BY_ALL = [
  "LOG_LEVEL",
  "METRICS_DISABLED",
  "METRICS_IN_SUMMARY",
  "METRICS_NAMESPACE",
  "SERVICE_NAME",
] as const;
const READ_BY_API = ["CORS_ALLOW_ORIGIN"] as const;

/** How a function reads a variable. */
export interface Read {
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly isLoaded: boolean;
  readonly bucketUses?: readonly BucketUse[];
}

const API_DEFINERS: readonly string[] = ["defineApiHandler", "createAuthHandler", "defineRouter"];

/**
 * Lists the variables that a function reads, in its sources and in this package.
 *
 * @param database Variables of its database, and whether each is a secret.
 */
export function listReads(
  fn: InfraFunction,
  database: ReadonlyMap<string, boolean>,
): Map<string, Read> {
  const reads = new Map<string, Read>(fn.variables.map(({ name, ...read }) => [name, read]));
  for (const [name, isSecret] of database) {
    const read = reads.get(name)!;
    reads.set(name, { ...read, isRequired: true, isSecret: isSecret || read.isSecret });
  }
  const byPackage = fn.definer === undefined ? [] : [
    ...READ_BY_ALL,
    ...API_DEFINERS.includes(fn.definer) ? READ_BY_API : [],
  ];
  for (const name of byPackage) {
    if (!reads.has(name)) reads.set(name, { isRequired: false, isSecret: false, isLoaded: false });
  }
  if (listRoutes([fn]).some(({ options }) => options.auth === "bearer")) {
    reads.set("API_BEARER_TOKEN", { isRequired: true, isSecret: true, isLoaded: false });
  }
  return reads;
}
