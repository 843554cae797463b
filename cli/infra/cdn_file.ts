import { block, expression, type HclBlock, type HclValue, output, resource } from "./hcl.ts";
import { createNullableVariable, listApiKeyHeaders, type TerraformVariable } from "./infra_plan.ts";
import { NAMING } from "./names.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/** The variable whose value the CDN sends with each request, if functions read it. */
const ORIGIN_SECRET = "origin_verify_secret";

/** The defaults of the module. */
const FORWARDED_HEADERS: readonly string[] = ["Authorization", "X-Api-Key"];
const DEFAULT_HEADERS: readonly string[] = [
  "Access-Control-Request-Headers",
  "Access-Control-Request-Method",
  "Referer",
  "Sec-Fetch-Dest",
  "Sec-Fetch-Mode",
  "Sec-Fetch-Site",
];

/** Variables of the domain of the CDN. */
export const CDN_VARIABLES: readonly TerraformVariable[] = [
  createNullableVariable(
    "cdn_domain_name",
    "Host name of the CDN, such as www.example.com; null for CloudFront's own.",
  ),
  createNullableVariable("cdn_certificate_arn", "Certificate for cdn_domain_name, in us-east-1."),
];

/** Renders the CDN in front of the API and of buckets, with the records of its domain. */
export function renderCdn(
  { routes, buckets, environments, infra: { cdn }, isHttp, createModule }: ResourcePlan,
): HclBlock[] {
  if (cdn === undefined || routes.length === 0) return [];
  const apiKeyHeaders = listApiKeyHeaders(routes).filter((name) => name !== "authorization");
  const hasSecret = environments.variables.some(({ name }) => name === ORIGIN_SECRET);
  const origins = Object.entries(cdn.buckets ?? {}).map(([pattern, name]): [string, HclValue] => [
    pattern,
    expression(`module.bucket_${buckets.ids.get(name)}.bucket_regional_domain_name`),
  ]);
  return [
    createModule("cdn", "cdn-api", NAMING, {
      origin_domain: expression("module.api.origin_domain"),
      // the URL of an HTTP API has no stage
      origin_path: isHttp ? undefined : expression('"/${module.api.stage_name}"'),
      origin_secret: hasSecret ? expression(`var.${ORIGIN_SECRET}`) : undefined,
      forwarded_headers: apiKeyHeaders.length === 0
        ? undefined
        : [...FORWARDED_HEADERS, ...apiKeyHeaders],
      origin_headers: cdn.originHeaders && [...DEFAULT_HEADERS, ...cdn.originHeaders],
      bucket_origins: origins.length === 0 ? undefined : Object.fromEntries(origins),
      cache_max_seconds: cdn.cacheMaxSeconds,
      price_class: cdn.priceClass,
      aliases: expression("var.cdn_domain_name == null ? [] : [var.cdn_domain_name]"),
      certificate_arn: expression("var.cdn_certificate_arn"),
    }),
    resource(
      "aws_route53_record",
      "cdn",
      {
        for_each: expression(
          'toset(var.cdn_domain_name == null || var.hosted_zone_id == null ? [] : ["A", "AAAA"])',
        ),
        zone_id: expression("var.hosted_zone_id"),
        name: expression("var.cdn_domain_name"),
        type: expression("each.key"),
      },
      block("alias", [], {
        name: expression("module.cdn.distribution_domain_name"),
        zone_id: expression("module.cdn.distribution_hosted_zone_id"),
        evaluate_target_health: false,
      }),
    ),
    output(
      "cdn_url",
      "URL of the CDN.",
      expression(
        '"https://${var.cdn_domain_name == null ? module.cdn.distribution_domain_name : var.cdn_domain_name}"',
      ),
    ),
  ];
}
