import type { ResolvedConfig } from "../config/config.ts";
import { renderApi } from "./gateway.ts";
import { expression, type HclBlock, type HclValue } from "./hcl.ts";
import { listApiKeyHeaders, type TerraformVariable } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/**
 * Renders the REST API.
 *
 * @param plan The resources.
 * @param infra The configuration.
 */
export function renderRestApi(plan: ResourcePlan, infra: Infra): HclBlock[] {
  const { routes, paths, authorizers, environments, getModule } = plan;
  const { api } = infra;
  const apiKeyHeaders = listApiKeyHeaders(routes);
  const isCached = authorizers.api?.admitsAnonymous === false;
  return renderApi({
    functions: routes,
    paths,
    authorizer: authorizers.api,
    corsOrigin: getCorsOrigin(infra, environments.variables),
    requiresKey: api.usagePlan === true,
    source: getModule("rest-api"),
    settings: {
      description: api.description,
      cors_allow_headers: apiKeyHeaders.length === 0 ? undefined : apiKeyHeaders,
      binary_media_types: routes.some(({ takesFiles }) => takesFiles)
        ? ["multipart/form-data"]
        : undefined,
      throttle_burst_limit: api.throttleBurstLimit,
      throttle_rate_limit: api.throttleRateLimit,
      ...(api.usagePlan ? { create_usage_plan: true, quota_limit: api.quotaLimit } : {}),
      authorizer_ttl_seconds: isCached ? api.authorizerTtlSeconds : undefined,
      authorizer_identity_source: isCached ? api.identitySources?.join(",") : undefined,
    },
  });
}

type Infra = ResolvedConfig["infra"];

/** Returns the configured value of `CORS_ALLOW_ORIGIN`. */
export function getCorsOrigin(
  infra: Infra,
  variables: readonly TerraformVariable[],
): HclValue | undefined {
  const given = infra.environment.CORS_ALLOW_ORIGIN;
  if (given === undefined || typeof given === "string") return given;
  const variable = variables.find(({ description }) =>
    description.startsWith("CORS_ALLOW_ORIGIN of ")
  );
  return variable && expression(`var.${variable.name}`);
}
