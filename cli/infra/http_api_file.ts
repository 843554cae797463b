import { NAMING } from "./names.ts";
import { block, expression, type HclBlock, type HclValue } from "./hcl.ts";
import { type InfraFunction, listAnsweredPaths, usesAuthorizer } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { acceptsCookies } from "./preflights.ts";

/** The authorization of a preflight request, which has no credentials. */
const OPEN = "NONE";

/**
 * Renders the HTTP API with the routes of its functions. Functions answer preflight requests
 * themselves, because the gateway would replace their CORS headers.
 */
export function renderHttpApi(
  { routes, authorizers: { api: authorizer }, infra: { api }, getModule }: ResourcePlan,
): HclBlock {
  const sources = api.identitySources?.map(toHttpSource);
  return block(
    "module",
    ["api"],
    { source: getModule("http-api") },
    NAMING,
    {
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
        ...routes.map((fn) => [getRouteKey(fn), toRoute(fn, getAuthorization(fn, authorizer))]),
        ...findPreflights(routes).map((fn) => [`OPTIONS ${fn.path}`, toRoute(fn, OPEN)]),
      ]),
    },
  );
}

function getRouteKey({ method, path }: InfraFunction): string {
  return `${method} ${path}`;
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

/**
 * Finds the function that answers the preflight requests of each path: that which accepts cookies,
 * else the first one that allows other origins.
 */
function findPreflights(routes: readonly InfraFunction[]): InfraFunction[] {
  const answered = listAnsweredPaths(routes);
  const found = new Map<string, InfraFunction>();
  for (const fn of routes) {
    const known = found.get(fn.path!);
    if (answered.has(fn.path) || fn.definer === undefined || fn.options.cors === false) continue;
    if (known === undefined || !acceptsCookies(known) && acceptsCookies(fn)) {
      found.set(fn.path!, fn);
    }
  }
  return [...found.values()];
}

/** Converts an identity source of a REST API: `method.request.header.X` to `$request.header.X`. */
function toHttpSource(source: string): string {
  return `$${source.replace(/^method\./, "")}`;
}
