import { groupBy } from "../../core/lists/group_by.ts";
import type { CredentialedOrigins } from "../../core/http/cors.ts";
import type { ApiInfra } from "../config/api_infra.ts";
import type { GatewayPaths } from "./gateway_paths.ts";
import {
  block,
  comment,
  Expression,
  expression,
  type HclBlock,
  type HclValue,
  resource,
} from "./hcl.ts";
import { type InfraFunction, listAnsweredPaths, type Problem } from "./infra_plan.ts";

/** Addresses of the resources of a REST API that pass preflight requests to functions. */
export const PREFLIGHT_RESOURCES = [
  "aws_api_gateway_method.preflight",
  "aws_api_gateway_integration.preflight",
] as const;

/**
 * Finds the function that answers the preflight requests of each path: one that accepts cookies, else the
 * first one that allows other origins. Only functions know the trusted origins, and can answer with the
 * origin of the request.
 *
 * @param routes The functions in `api/`.
 * @param corsOrigin The configured value of `CORS_ALLOW_ORIGIN`.
 * @param requiresKey True if requests need a key of the usage plan.
 * @returns Functions by path.
 */
export function findPreflights(
  routes: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
  requiresKey = false,
): ReadonlyMap<string, InfraFunction> {
  const answered = listAnsweredPaths(routes, requiresKey);
  const found = new Map<string, InfraFunction>();
  for (const fn of routes) {
    const path = fn.path!;
    const isCalled = fn.options.cors !== false &&
      (acceptsCookies(fn) || getOrigin(fn, corsOrigin) !== undefined);
    if (answered.has(path) || !isCalled) continue;
    const known = found.get(path);
    if (known === undefined || !acceptsCookies(known) && acceptsCookies(fn)) found.set(path, fn);
  }
  return found;
}

/** Checks whether the pages that may call a handler include the trusted origins of `auth`. */
function acceptsCookies({ definer, options }: InfraFunction): boolean {
  return definer === "createAuthHandler" || options.auth === "session";
}

/** Returns what a handler has as `cors`, or the default of its functions; `undefined` if it allows no other origins. */
function getOrigin(
  { definer, options: { cors } }: InfraFunction,
  corsOrigin: HclValue | undefined,
): HclValue | undefined {
  const isOfPackage = definer === "defineApiHandler" || definer === "createAuthHandler";
  if (cors === false || !isOfPackage) return undefined;
  return cors === undefined ? corsOrigin : cors as HclValue;
}

/**
 * Finds paths whose handlers allow different origins. A path has one answer to preflight requests, so one
 * handler's answer would let pages send requests that another handler refuses them, or the other way around.
 *
 * @param routes The functions in `api/`.
 * @param corsOrigin The configured value of `CORS_ALLOW_ORIGIN`.
 * @param api The gateway.
 */
export function findPreflightErrors(
  routes: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
  { usagePlan }: ApiInfra,
): Problem[] {
  const answered = listAnsweredPaths(routes, usagePlan === true);
  const unanswered = routes.filter(({ path }) => !answered.has(path));
  return [...groupBy(unanswered, ({ path }) => path!)].flatMap(([path, handlers]) => {
    const [{ owner, id }] = handlers;
    // a function knows the origins of all its routes
    if (handlers.every((fn) => (fn.owner ?? fn.id) === (owner ?? id))) return [];
    const origins = handlers.map((fn) => describeOrigin(getOrigin(fn, corsOrigin)));
    if (new Set(origins).size <= 1) return [];
    const list = handlers
      .map(({ method, source, line }, at) => `${method} allows ${origins[at]} (${source}:${line})`)
      .join(", ");
    return [{
      message:
        `The handlers of ${path} have different cors: ${list}. A gateway passes preflight requests ` +
        "to one function for a path: write the same cors in all of them, or make them routes of one defineRouter",
      functionName: handlers[0].name,
    }];
  });
}

function describeOrigin(origin: HclValue | undefined): string {
  if (origin === undefined) return "no other origin";
  if (origin instanceof Expression) return origin.hcl;
  const origins = typeof origin === "string"
    ? origin.split(",").map((each) => each.trim())
    : origin;
  return Array.isArray(origins)
    ? origins.join(" ")
    : `${(origins as unknown as CredentialedOrigins).origins.join(" ")} with credentials`;
}

/** Renders the resources of a REST API that pass preflight requests to functions. */
export function renderPreflights(
  preflights: ReadonlyMap<string, InfraFunction>,
  paths: GatewayPaths,
): HclBlock[] {
  if (preflights.size === 0) return [];
  const method = "aws_api_gateway_method.preflight[each.key]";
  const table = [...preflights].map(([path, { id, owner = id }]) => [path, {
    resource_id: paths.ids.get(path === "/" ? "" : path)!,
    uri: expression(`module.fn_${owner}.invoke_arn`),
  }]);
  const each = { for_each: expression("local.preflights") };
  return [
    block("locals", [], comment("Functions that answer preflight requests, by path."), {
      preflights: Object.fromEntries(table),
    }),
    resource("aws_api_gateway_method", "preflight", each, {
      rest_api_id: expression("module.api.rest_api_id"),
      resource_id: expression("each.value.resource_id"),
      http_method: "OPTIONS",
      authorization: "NONE",
    }),
    resource("aws_api_gateway_integration", "preflight", each, {
      rest_api_id: expression(`${method}.rest_api_id`),
      resource_id: expression(`${method}.resource_id`),
      http_method: expression(`${method}.http_method`),
      type: "AWS_PROXY",
      integration_http_method: "POST",
      uri: expression("each.value.uri"),
    }),
  ];
}
