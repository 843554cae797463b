import {
  comment,
  type Expression,
  expression,
  type HclBlock,
  type HclValue,
  resource,
} from "./hcl.ts";
import { type InfraFunction, listApiKeyHeaders, usesAuthorizer } from "./infra_plan.ts";
import { NAMING } from "./names.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { findPreflights, PREFLIGHT_RESOURCES, renderPreflights } from "./preflights.ts";

/** Renders the method and integration of a route of the REST API. */
export function renderRoute(
  fn: InfraFunction,
  { paths, authorizers, infra }: ResourcePlan,
): HclBlock[] {
  const isAuthorized = authorizers.api !== undefined && usesAuthorizer(fn);
  const method = `aws_api_gateway_method.${fn.id}`;
  return [
    resource("aws_api_gateway_method", fn.id, {
      rest_api_id: expression("module.api.rest_api_id"),
      resource_id: paths.ids.get(fn.path === "/" ? "" : fn.path ?? ""),
      http_method: fn.method,
      authorization: isAuthorized ? "CUSTOM" : "NONE",
      authorizer_id: isAuthorized ? expression("module.api.authorizer_id") : undefined,
      api_key_required: infra.api.usagePlan ? true : undefined,
    }),
    resource("aws_api_gateway_integration", fn.id, {
      rest_api_id: expression(`${method}.rest_api_id`),
      resource_id: expression(`${method}.resource_id`),
      http_method: expression(`${method}.http_method`),
      type: "AWS_PROXY",
      integration_http_method: "POST",
      ...renderTransfer(fn),
    }),
  ];
}

/** The timeout of a REST API in milliseconds, which only streamed responses may exceed. */
const GATEWAY_MS = 29_000;
/** The longest stream (API Gateway developer guide, "Stream the integration response"). */
const STREAM_MS = 900_000;

/** Renders how the gateway invokes a function and passes on its response. */
function renderTransfer({ id, owner = id, options }: InfraFunction): Record<string, HclValue> {
  const { streaming, timeout = 0 } = options;
  if (!streaming) return { uri: expression(`module.fn_${owner}.invoke_arn`) };
  return {
    uri: expression(`module.fn_${owner}.response_streaming_invoke_arn`),
    response_transfer_mode: "STREAM",
    // one second more, so that the function ends the response before the gateway does
    timeout_milliseconds: Math.min(STREAM_MS, Math.max(GATEWAY_MS, (timeout + 1) * 1000)),
  };
}

/** Renders the module of the REST API, its path resources and preflight responses. */
export function renderRestApi(plan: ResourcePlan): HclBlock[] {
  const { routes, paths, authorizers: { api: authorizer }, infra: { api } } = plan;
  const corsOrigin = getCorsOrigin(plan);
  const preflights = findPreflights(routes, corsOrigin, api.usagePlan);
  const apiKeyHeaders = listApiKeyHeaders(routes);
  const resources = [
    ...paths.parts.map(({ path }) => `aws_api_gateway_resource.${paths.names.get(path)}`),
    ...routes.flatMap(({ id }) => [
      `aws_api_gateway_method.${id}`,
      `aws_api_gateway_integration.${id}`,
    ]),
    ...preflights.size === 0 ? [] : PREFLIGHT_RESOURCES,
  ];
  return [
    plan.createModule(
      "api",
      "rest-api",
      NAMING,
      {
        cors_allow_origin: corsOrigin === undefined ? null : getFirstOrigin(corsOrigin),
        create_usage_plan: api.usagePlan === true,
        domain_name: expression("var.domain_name"),
        hosted_zone_id: expression("var.hosted_zone_id"),
        certificate_arn: expression("var.certificate_arn"),
        description: api.description,
        cors_allow_headers: apiKeyHeaders.length === 0 ? undefined : apiKeyHeaders,
        binary_media_types: routes.some(({ takesFiles }) => takesFiles)
          ? ["multipart/form-data"]
          : undefined,
        minimum_compression_bytes: api.minimumCompressionBytes,
        throttle_burst_limit: api.throttleBurstLimit,
        throttle_rate_limit: api.throttleRateLimit,
        quota_limit: api.usagePlan ? api.quotaLimit : undefined,
        ...authorizer?.admitsAnonymous === false && {
          authorizer_ttl_seconds: api.authorizerTtlSeconds,
          authorizer_identity_source: api.identitySources?.join(","),
        },
      },
      authorizer === undefined ? {} : {
        authorizer_function_invoke_arn: expression(`module.fn_${authorizer.fn.id}.invoke_arn`),
        ...authorizer.admitsAnonymous &&
          { authorizer_identity_source: "", authorizer_ttl_seconds: 0 },
      },
      comment("All resources of the API: a change to any of them triggers a new deployment."),
      {
        redeployment_trigger: expression(
          `sha1(jsonencode([\n${resources.map((each) => `  ${each},\n`).join("")}]))`,
        ),
      },
    ),
    ...paths.parts.map(({ path, parent, part }) =>
      resource("aws_api_gateway_resource", paths.names.get(path)!, {
        rest_api_id: expression("module.api.rest_api_id"),
        parent_id: paths.ids.get(parent),
        path_part: part,
      })
    ),
    ...renderPreflights(preflights, paths),
  ];
}

/** Returns the configured value of `CORS_ALLOW_ORIGIN`. */
export function getCorsOrigin({ infra, environments }: ResourcePlan): HclValue | undefined {
  const given = infra.environment.CORS_ALLOW_ORIGIN;
  if (given === undefined || typeof given === "string") return given;
  const name = environments.terraformNames.get("CORS_ALLOW_ORIGIN");
  return environments.variables.some((variable) => variable.name === name)
    ? expression(`var.${name}`)
    : undefined;
}

/**
 * Returns the origin in the gateway's own error responses. Their headers are constants, so they can
 * contain only one origin; `*` would expose errors to every page.
 */
function getFirstOrigin(origins: HclValue): HclValue {
  if (typeof origins === "string") return origins.split(",")[0].trim();
  return expression(`trimspace(split(",", ${(origins as Expression).hcl})[0])`);
}
