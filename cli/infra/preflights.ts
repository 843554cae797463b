import { groupBy } from "../project/group_by.ts";
import type { CredentialedOrigins } from "../../core/http/cors.ts";
import type { ApiInfra } from "../config/api_infra.ts";
import type { GatewayPaths } from "./gateway_paths.ts";
import { block, comment, Expression, expression, type HclBlock, type HclValue } from "./hcl.ts";
import {
  type InfraFunction,
  listAnsweredPaths,
  listApiKeyHeaders,
  type Problem,
} from "./infra_plan.ts";

/** The resources that answer preflight requests. */
export interface RenderedPreflights {
  readonly blocks: readonly HclBlock[];
  /** Their addresses. */
  readonly resources: readonly string[];
}

/**
 * Renders the responses to preflight requests of an API. Functions that accept cookies answer them
 * themselves; for the other paths the gateway does.
 *
 * @param paths The API's paths.
 * @param corsOrigin The configured value of `CORS_ALLOW_ORIGIN`.
 * @param requiresKey True if requests need a key of the usage plan.
 */
export function renderPreflights(
  functions: readonly InfraFunction[],
  paths: GatewayPaths,
  corsOrigin: HclValue | undefined,
  requiresKey: boolean,
): RenderedPreflights {
  const answered = listAnsweredPaths(functions, requiresKey);
  const unanswered = functions.filter(({ path }) => !answered.has(path));
  const asked = planFunctionPreflights(unanswered, corsOrigin);
  const fixed = planPreflights(unanswered.filter(({ path }) => !asked.has(path!)), corsOrigin);
  return {
    blocks: [
      ...asked.size === 0 ? [] : renderFunctionPreflights(asked, paths),
      ...fixed.size === 0 ? [] : renderPreflight(fixed, paths, listApiKeyHeaders(functions)),
    ],
    resources: [
      ...asked.size === 0 ? [] : FUNCTION_PREFLIGHT_RESOURCES,
      ...fixed.size === 0 ? [] : PREFLIGHT_RESOURCES,
    ],
  };
}

const FUNCTION_PREFLIGHT_RESOURCES = [
  "aws_api_gateway_method.preflight_of_functions",
  "aws_api_gateway_integration.preflight_of_functions",
] as const;

const PREFLIGHT_RESOURCES = [
  "aws_api_gateway_method.preflight_of_paths",
  "aws_api_gateway_integration.preflight_of_paths",
  "aws_api_gateway_method_response.preflight_of_paths",
  "aws_api_gateway_integration_response.preflight_of_paths",
] as const;

interface Preflight {
  readonly methods: ReadonlySet<string>;
  readonly origin: string;
}

/**
 * Finds the function that answers the preflight requests of a path: the auth routes, handlers that
 * accept cookies, and handlers with several origins or with credentials. Only they know the trusted
 * origins, and can answer with the origin of the request.
 */
function planFunctionPreflights(
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): ReadonlyMap<string, InfraFunction> {
  const found = new Map<string, InfraFunction>();
  for (const fn of functions) {
    const origin = getOrigin(fn, corsOrigin);
    const isAsked = fn.definer === "createAuthHandler" ||
      (acceptsCookies(fn) && origin !== undefined) ||
      (origin !== undefined && toSingleOrigin(origin) === undefined) ||
      (origin !== undefined && isRouteOfOneFunction(fn, functions, corsOrigin));
    if (!isAsked || fn.options.cors === false) continue;
    const known = found.get(fn.path!);
    if (known === undefined || !acceptsCookies(known) && acceptsCookies(fn)) {
      found.set(fn.path!, fn);
    }
  }
  return found;
}

/** Checks whether the pages that may call a handler include the trusted origins of `auth`. */
export function acceptsCookies({ definer, options }: InfraFunction): boolean {
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

/** Returns the one origin that a constant response can name; `undefined` if it depends on the request. */
function toSingleOrigin(origin: HclValue): string | undefined {
  const origins = typeof origin === "string" ? origin.split(",") : origin;
  return Array.isArray(origins) && origins.length === 1 ? origins[0].trim() : undefined;
}

/** Checks for a path whose handlers differ, but are one function, which knows them all. */
function isRouteOfOneFunction(
  { path, owner }: InfraFunction,
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): boolean {
  const handlers = functions.filter((fn) => fn.path === path);
  return owner !== undefined && handlers.every((fn) => fn.owner === owner) &&
    new Set(handlers.map((fn) => describeOrigin(getOrigin(fn, corsOrigin)))).size > 1;
}

/**
 * Finds paths whose handlers allow different origins. Gateways answer preflight requests once for a path, so one handler's
 * answer would let pages send requests that another handler refuses them, or the other way around.
 *
 * @param routes The functions in `api/`.
 * @param corsOrigin The configured value of `CORS_ALLOW_ORIGIN`.
 * @param api The gateway.
 */
export function findPreflightErrors(
  routes: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
  { type, usagePlan }: ApiInfra,
): Problem[] {
  const answered = listAnsweredPaths(routes, usagePlan === true);
  const unanswered = routes.filter(({ path }) => !answered.has(path));
  const asked = planFunctionPreflights(unanswered, corsOrigin);
  return [...groupBy(unanswered, ({ path }) => path!)].flatMap(([path, handlers]) => {
    const [{ owner, id }] = handlers;
    if (handlers.every((fn) => (fn.owner ?? fn.id) === (owner ?? id))) return [];
    // the gateway's own answer names only methods with origins, a function's the requested method
    const compared = type === "http" || asked.has(path)
      ? handlers
      : handlers.filter((fn) => getOrigin(fn, corsOrigin) !== undefined);
    const origins = compared.map((fn) => describeOrigin(getOrigin(fn, corsOrigin)));
    if (new Set(origins).size <= 1) return [];
    const list = compared
      .map(({ method, source, line }, at) => `${method} allows ${origins[at]} (${source}:${line})`)
      .join(", ");
    return [{
      message:
        `The handlers of ${path} have different cors: ${list}. A gateway answers preflight ` +
        "requests once for a path: write the same cors in all of them, or make them routes of one defineRouter",
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

function renderFunctionPreflights(
  asked: ReadonlyMap<string, InfraFunction>,
  paths: GatewayPaths,
): HclBlock[] {
  const name = "preflight_of_functions";
  const method = `aws_api_gateway_method.${name}[each.key]`;
  const table = [...asked].map(([path, { id, owner = id }]) => [path, {
    resource_id: paths.ids.get(path === "/" ? "" : path)!,
    uri: expression(`module.fn_${owner}.invoke_arn`),
  }]);
  const each = { for_each: expression("local.preflight_functions") };
  return [
    block("locals", [], comment("Functions that answer preflight requests, by path."), {
      preflight_functions: Object.fromEntries(table),
    }),
    preflightMethod(name, each),
    block("resource", ["aws_api_gateway_integration", name], each, {
      rest_api_id: expression(`${method}.rest_api_id`),
      resource_id: expression(`${method}.resource_id`),
      http_method: expression(`${method}.http_method`),
      type: "AWS_PROXY",
      integration_http_method: "POST",
      uri: expression("each.value.uri"),
    }),
  ];
}

/** Request headers that every path allows. */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "X-Api-Key",
  "X-Correlation-Id",
  "X-Request-Id",
] as const;

/** The methods of a route for any method, which Access-Control-Allow-Methods cannot name. */
const ALL_METHODS = ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"] as const;

/** Finds paths that allow one other origin, or all. */
function planPreflights(
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): ReadonlyMap<string, Preflight> {
  const found = new Map<string, Preflight>();
  for (const fn of functions) {
    const given = getOrigin(fn, corsOrigin);
    const origin = given === undefined ? undefined : toSingleOrigin(given);
    if (origin === undefined) continue;
    const known = found.get(fn.path!)?.methods ?? [];
    const methods = fn.method === "ANY" ? ALL_METHODS : [fn.method!];
    found.set(fn.path!, { methods: new Set([...known, ...methods]), origin });
  }
  return found;
}

function renderPreflight(
  preflight: ReadonlyMap<string, Preflight>,
  paths: GatewayPaths,
  apiKeyHeaders: readonly string[],
): HclBlock[] {
  const table = Object.fromEntries([...preflight].map(([path, { methods, origin }]) => [path, {
    resource_id: paths.ids.get(path === "/" ? "" : path)!,
    methods: [...methods, "OPTIONS"].sort().join(","),
    origin,
  }]));
  const name = "preflight_of_paths";
  const reference = (resource: string) => ({
    rest_api_id: expression(`${resource}.${name}[each.key].rest_api_id`),
    resource_id: expression(`${resource}.${name}[each.key].resource_id`),
    http_method: expression(`${resource}.${name}[each.key].http_method`),
  });
  const each = { for_each: expression("local.preflight") };
  const headers = (value: (header: "Headers" | "Methods" | "Origin") => HclValue) =>
    Object.fromEntries(
      (["Headers", "Methods", "Origin"] as const).map((
        header,
      ) => [`method.response.header.Access-Control-Allow-${header}`, value(header)]),
    );
  return [
    block("locals", [], comment("Responses to preflight requests, by path."), {
      preflight: table,
    }),
    preflightMethod(name, each),
    block("resource", ["aws_api_gateway_integration", name], each, {
      ...reference("aws_api_gateway_method"),
      type: "MOCK",
      request_templates: { "application/json": expression("jsonencode({ statusCode = 204 })") },
    }),
    block("resource", ["aws_api_gateway_method_response", name], each, {
      ...reference("aws_api_gateway_method"),
      status_code: "204",
      response_parameters: headers(() => true),
    }),
    block("resource", ["aws_api_gateway_integration_response", name], each, {
      ...reference("aws_api_gateway_integration"),
      status_code: expression(`aws_api_gateway_method_response.${name}[each.key].status_code`),
      response_parameters: headers((header) =>
        header === "Headers"
          ? `'${[...ALLOWED_HEADERS, ...apiKeyHeaders].join(",")}'`
          : expression(`"'\${each.value.${header.toLowerCase()}}'"`)
      ),
    }),
  ];
}

/** Writes the method that receives preflight requests. */
function preflightMethod(name: string, each: Readonly<Record<string, HclValue>>): HclBlock {
  return block("resource", ["aws_api_gateway_method", name], each, {
    rest_api_id: expression("module.api.rest_api_id"),
    resource_id: expression("each.value.resource_id"),
    http_method: "OPTIONS",
    authorization: "NONE",
  });
}
