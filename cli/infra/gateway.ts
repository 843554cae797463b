import type { GatewayPaths } from "./gateway_paths.ts";
import {
  block,
  comment,
  type Expression,
  expression,
  type HclBlock,
  type HclValue,
} from "./hcl.ts";
import { type InfraFunction, usesAuthorizer } from "./infra_plan.ts";
import { renderPreflights } from "./preflights.ts";

/** The authorizer of the REST API. */
export interface AuthorizerPlan {
  /** The authorizer function. */
  readonly fn: InfraFunction;
  /** True if requests without credentials reach it. */
  readonly admitsAnonymous: boolean;
}

/**
 * Renders the method and integration of a function.
 *
 * @param fn The function.
 * @param paths The API's paths.
 * @param hasAuthorizer True if the API has an authorizer.
 * @param requiresKey True if requests need a key of the usage plan.
 */
export function renderRoute(
  fn: InfraFunction,
  paths: GatewayPaths,
  hasAuthorizer: boolean,
  requiresKey = false,
): HclBlock[] {
  const isAuthorized = hasAuthorizer && usesAuthorizer(fn);
  const method = `aws_api_gateway_method.${fn.id}`;
  return [
    block("resource", ["aws_api_gateway_method", fn.id], {
      rest_api_id: expression("module.api.rest_api_id"),
      resource_id: paths.ids.get(fn.path === "/" ? "" : fn.path ?? ""),
      http_method: fn.method,
      authorization: isAuthorized ? "CUSTOM" : "NONE",
      authorizer_id: isAuthorized ? expression("module.api.authorizer_id") : undefined,
      api_key_required: requiresKey ? true : undefined,
    }),
    block("resource", ["aws_api_gateway_integration", fn.id], {
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
    // one second more, so that the function can end the response by itself
    timeout_milliseconds: Math.min(STREAM_MS, Math.max(GATEWAY_MS, (timeout + 1) * 1000)),
  };
}

/** The parts of the API that its functions share. */
export interface ApiOptions {
  readonly functions: readonly InfraFunction[];
  readonly paths: GatewayPaths;
  readonly authorizer?: AuthorizerPlan;
  /** The configured value of `CORS_ALLOW_ORIGIN`. */
  readonly corsOrigin?: HclValue;
  /** True if requests need a key of the usage plan. */
  readonly requiresKey: boolean;
  /** More arguments of the module. */
  readonly settings: Readonly<Record<string, HclValue | undefined>>;
  readonly source: string;
}

/**
 * Renders the API module, its path resources and preflight responses.
 *
 * @param options The routes and settings.
 */
export function renderApi(
  { functions, paths, authorizer, corsOrigin, requiresKey, settings, source }: ApiOptions,
): HclBlock[] {
  const preflights = renderPreflights(functions, paths, corsOrigin, requiresKey);
  const resources = [
    ...paths.parts.map(({ path }) => `aws_api_gateway_resource.${paths.names.get(path)}`),
    ...functions.flatMap((
      { id },
    ) => [`aws_api_gateway_method.${id}`, `aws_api_gateway_integration.${id}`]),
    ...preflights.resources,
  ];
  return [
    block(
      "module",
      ["api"],
      { source },
      {
        name_prefix: expression("module.core.name_prefix"),
        tags: expression("module.core.common_tags"),
      },
      {
        cors_allow_origin: corsOrigin === undefined ? null : getFirstOrigin(corsOrigin),
        create_usage_plan: false,
        domain_name: expression("var.domain_name"),
        hosted_zone_id: expression("var.hosted_zone_id"),
        certificate_arn: expression("var.certificate_arn"),
        ...settings,
      },
      authorizer === undefined ? {} : {
        authorizer_function_invoke_arn: expression(`module.fn_${authorizer.fn.id}.invoke_arn`),
        ...authorizer.admitsAnonymous
          ? { authorizer_identity_source: "", authorizer_ttl_seconds: 0 }
          : {},
      },
      comment(
        "All resources of the API: a change to any of them triggers a new deployment.",
      ),
      {
        redeployment_trigger: expression(
          `sha1(jsonencode([\n${resources.map((each) => `  ${each},\n`).join("")}]))`,
        ),
      },
    ),
    ...paths.parts.map(({ path, parent, part }) =>
      block("resource", ["aws_api_gateway_resource", paths.names.get(path)!], {
        rest_api_id: expression("module.api.rest_api_id"),
        parent_id: paths.ids.get(parent),
        path_part: part,
      })
    ),
    ...preflights.blocks,
  ];
}

/**
 * Returns the origin in the gateway's own error responses. Their headers are constants, so they can
 * contain only one origin; `*` would expose errors to every page.
 */
function getFirstOrigin(origins: HclValue): HclValue {
  if (typeof origins === "string") return origins.split(",")[0].trim();
  return expression(`trimspace(split(",", ${(origins as Expression).hcl})[0])`);
}
