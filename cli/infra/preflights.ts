import type { GatewayPaths } from "./gateway_paths.ts";
import { block, comment, Expression, expression, type HclBlock, type HclValue } from "./hcl.ts";
import { type InfraFunction, listAnsweredPaths, listApiKeyHeaders } from "./infra_plan.ts";

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
  readonly origin: HclValue;
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
    const { cors, auth } = fn.options;
    const isAsked = fn.definer === "createAuthHandler" ||
      (auth === "session" && (cors ?? corsOrigin) !== undefined) ||
      needsRequestOrigin(fn, functions, corsOrigin);
    if (!isAsked || cors === false || found.has(fn.path!)) continue;
    found.set(fn.path!, fn);
  }
  return found;
}

/**
 * Checks whether the response to a preflight depends on the origin of the request. Without credentials,
 * handlers of a path with different settings are left to the gateway, because one would answer for all.
 */
function needsRequestOrigin(
  { path, definer, options }: InfraFunction,
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): boolean {
  if (definer !== "defineApiHandler") return false;
  const getOrigins = (cors: unknown): unknown =>
    cors === undefined && typeof corsOrigin === "string" ? corsOrigin : cors;
  const own = getOrigins(options.cors);
  if (typeof own === "object" && own !== null && !Array.isArray(own)) return true;
  const hasMany = Array.isArray(own)
    ? own.length > 1
    : typeof own === "string" && own.includes(",");
  if (!hasMany) return false;
  return functions.every((other) =>
    other.path !== path || JSON.stringify(getOrigins(other.options.cors)) === JSON.stringify(own)
  );
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

/** Finds paths that allow other origins. */
function planPreflights(
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): ReadonlyMap<string, Preflight> {
  const found = new Map<string, Preflight>();
  for (const { path, method, options: { cors }, definer } of functions) {
    const isOfPackage = definer === "defineApiHandler" || definer === "createAuthHandler";
    const origin = cors === undefined
      ? (isOfPackage ? corsOrigin : undefined)
      : cors === false
      ? undefined
      : cors;
    if (origin === undefined) continue;
    const known = found.get(path!);
    found.set(path!, {
      methods: new Set([
        ...known?.methods ?? [],
        ...method === "ANY" ? ALL_METHODS : [method!],
      ]),
      origin: typeof origin === "string" && !origin.includes(",") &&
          (known === undefined || known.origin === origin)
        ? origin
        : Array.isArray(origin) && origin.length === 1
        ? origin[0]
        : origin instanceof Expression
        ? getAllowedOrigin(origin)
        // the function's response contains the allowed origin
        : "*",
    });
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

function getAllowedOrigin(origin: HclValue): HclValue {
  if (typeof origin === "string") return origin.includes(",") ? "*" : origin;
  const { hcl } = origin as Expression;
  return expression(`strcontains(${hcl}, ",") ? "*" : ${hcl}`);
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
