import type { CdnInfra, PushPlatformInfra } from "../config/delivery_infra.ts";
import type { InfraSettings } from "../config/infra.ts";
import { isText } from "../config/settings.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { Problem } from "./infra_plan.ts";

/** Names that become parts of Terraform names and of names in AWS. */
const NAME = /^(?=.{1,40}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
/** Keys of the settings of a push platform beside `platform`. */
const APPLE_KEYS = ["keyId", "teamId", "bundleId"] as const;
const PRICE_CLASSES: readonly unknown[] = ["PriceClass_100", "PriceClass_200", "PriceClass_All"];

/** A function with the settings that its file exports. */
type CheckedFunction = FunctionFile & { readonly settings?: FunctionInfra };

/** Checks the CDN, image repositories and push platforms. */
export function checkDelivery(
  settings: InfraSettings,
  functions: readonly CheckedFunction[],
): Problem[] {
  const { cdn, repositories = {}, pushPlatforms = {} } = settings;
  const images = functions.flatMap(({ name, settings: own }): Problem[] => {
    const wanted = own?.image?.repository;
    if (wanted === undefined || Object.hasOwn(repositories, wanted)) return [];
    return [{
      functionName: name,
      message: `the image of ${name} is in the repository ${wanted}, which is not in ` +
        `infra.repositories: add { "${wanted}": {} }`,
    }];
  });
  const messages = [
    ...listBadNames("repositories", repositories),
    ...listBadNames("pushPlatforms", pushPlatforms),
    ...Object.entries(repositories).flatMap(([name, { keepImages, ...others }]) =>
      Object.keys(others).length === 0 && isCount(keepImages)
        ? []
        : [`infra.repositories.${name} must be {}, or { keepImages: 20 } from 1 to 1000`]
    ),
    ...Object.entries(pushPlatforms).flatMap(([name, each]) =>
      isPushPlatform(each) ? [] : [
        `infra.pushPlatforms.${name} must be { platform: "GCM" }, or ` +
        '{ platform: "APNS", keyId, teamId, bundleId } ("APNS_SANDBOX" for development)',
      ]
    ),
    ...cdn === undefined ? [] : checkCdn(cdn, functions),
  ];
  return [...images, ...messages.map((message) => ({ message }))];
}

function listBadNames(group: string, entries: object): string[] {
  return Object.keys(entries).filter((name) => !NAME.test(name)).map((name) =>
    `infra.${group} has "${name}": use lower-case letters, digits and single hyphens, at most 40`
  );
}

function isCount(value: unknown): boolean {
  return value === undefined ||
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1000;
}

function isPushPlatform({ platform, ...others }: PushPlatformInfra): boolean {
  const keys = Object.keys(others);
  if (platform === "GCM") return keys.length === 0;
  return (platform === "APNS" || platform === "APNS_SANDBOX") &&
    keys.length === APPLE_KEYS.length &&
    APPLE_KEYS.every((key) => isText((others as Record<string, unknown>)[key]));
}

function checkCdn(cdn: CdnInfra, functions: readonly CheckedFunction[]): string[] {
  const { buckets = {}, cacheMaxSeconds, originHeaders = [], priceClass, ...others } = cdn;
  const errors = Object.keys(others).map((key) =>
    `unknown setting infra.cdn.${key}; known settings: buckets, cacheMaxSeconds, originHeaders, priceClass`
  );
  if (!functions.some(({ kind, settings }) => kind === "api" && settings?.url === undefined)) {
    errors.push(
      "infra.cdn needs an API to serve: api/ contains no function without a URL of its own",
    );
  }
  for (const [pattern, bucket] of Object.entries(buckets)) {
    if (!/^\/[\w.$/~"'@:+*?-]+$/.test(pattern) || pattern === "/*") {
      errors.push(`infra.cdn.buckets has "${pattern}": use a path pattern such as "/assets/*"`);
    }
    if (!/^[a-z0-9][a-z0-9-]{0,39}$/.test(String(bucket))) {
      errors.push(`infra.cdn.buckets["${pattern}"] must be the name of a bucket`);
    }
  }
  if (cacheMaxSeconds !== undefined && !(cacheMaxSeconds >= 1 && cacheMaxSeconds <= 31_536_000)) {
    errors.push(`infra.cdn.cacheMaxSeconds must be 1 to 31536000, got ${cacheMaxSeconds}`);
  }
  if (
    !Array.isArray(originHeaders) || originHeaders.length > 3 ||
    !originHeaders.every((header) => /^[A-Za-z0-9-]+$/.test(header))
  ) {
    errors.push("infra.cdn.originHeaders must be at most three names of headers");
  }
  if (priceClass !== undefined && !PRICE_CLASSES.includes(priceClass)) {
    errors.push(`infra.cdn.priceClass must be one of ${PRICE_CLASSES.join(", ")}`);
  }
  return errors;
}
