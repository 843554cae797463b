import { NAMING } from "./names.ts";
import { expression, type HclBlock, type HclValue } from "./hcl.ts";
import { type InfraFunction, usesAuthorizer } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { findPreflights } from "./preflights.ts";
import { getCorsOrigin } from "./rest_api_file.ts";

/** The authorization of a preflight request, which has no credentials. */
const OPEN = "NONE";

/**
 * Renders the HTTP API with the routes of its functions. Functions answer preflight requests
 * themselves, because the gateway would replace their CORS headers.
 */
export function renderHttpApi(plan: ResourcePlan): HclBlock {
  const { routes, authorizers: { api: authorizer }, infra: { api }, createModule } = plan;
  const preflights = [...findPreflights(routes, getCorsOrigin(plan))];
  const sources = api.identitySources?.map(toHttpSource);
  return createModule("api", "http-api", NAMING, {
    description: api.description,
    throttle_burst_limit: api.throttleBurstLimit,
    throttle_rate_limit: api.throttleRateLimit,
    domain_name: expression("var.domain_name"),
    hosted_zone_id: expression("var.hosted_zone_id"),
    certificate_arn: expression("var.certificate_arn"),
    jwt: api.jwt && { issuer: api.jwt.issuer, audience: api.jwt.audience },
    authorizer: authorizer && {
      invoke_arn: getInvokeArn(authorizer.fn),
      ...authorizer.admitsAnonymous
        ? { identity_sources: [], ttl_seconds: 0 }
        : { identity_sources: sources, ttl_seconds: api.authorizerTtlSeconds },
    },
    routes: Object.fromEntries([
      ...routes.map((
        fn,
      ) => [`${fn.method} ${fn.path}`, toRoute(fn, getAuthorization(fn, authorizer))]),
      ...preflights.map(([path, fn]) => [`OPTIONS ${path}`, toRoute(fn, OPEN)]),
    ]),
  });
}

function getAuthorization(fn: InfraFunction, authorizer: unknown): string {
  if (fn.options.auth === "gateway-jwt") return "JWT";
  return authorizer !== undefined && usesAuthorizer(fn) ? "CUSTOM" : OPEN;
}

function toRoute(fn: InfraFunction, authorization: string): HclValue {
  return {
    invoke_arn: getInvokeArn(fn),
    authorization: authorization === OPEN ? undefined : authorization,
  };
}

function getInvokeArn({ id, owner = id }: InfraFunction): HclValue {
  return expression(`module.fn_${owner}.invoke_arn`);
}

/** Converts an identity source of a REST API: `method.request.header.X` to `$request.header.X`. */
function toHttpSource(source: string): string {
  return `$${source.replace(/^method\./, "")}`;
}
