import { block, comment, Expression, expression, type HclBlock, type HclValue } from "./hcl.ts";
import type { Fault, InfraFunction } from "./infra_plan.ts";
import { getIdentifiers } from "./names.ts";

/** A part of a path that methods or longer paths stand under. */
interface PathPart {
  /** `/notes/{noteId}` */
  readonly path: string;
  readonly parent: string;
  /** `{noteId}` */
  readonly part: string;
}

/** The paths of an API, each once however many routes go through it. */
export interface GatewayPaths {
  /** In the order in which they hang under each other. */
  readonly parts: readonly PathPart[];
  /** The resource of each path, the root's among them. */
  readonly ids: ReadonlyMap<string, Expression>;
  /** Names of the resources in Terraform, by path. */
  readonly names: ReadonlyMap<string, string>;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/** Resources of one REST API, the root among them (API Gateway quotas; it can be raised). */
const MAX_RESOURCES = 300;

/** What API Gateway takes as a fixed part of a path (CreateResource, `pathPart`). */
const FIXED_PART = /^[A-Za-z0-9._:~$-]+$/;

/**
 * Puts the paths of the routes into the tree that API Gateway wants.
 *
 * @param functions The functions of `api/`.
 * @returns The paths, and what API Gateway would refuse.
 */
export function planPaths(functions: readonly InfraFunction[]): GatewayPaths {
  const parts = new Map<string, PathPart & { readonly owner: string }>();
  const parameters = new Map<string, { readonly part: string; readonly owner: string }>();
  const faults: Fault[] = [];
  for (const { name, path = "/" } of functions) {
    const segments = path.split("/").filter(Boolean);
    let parent = "";
    segments.forEach((part, index) => {
      const whole = `${parent}/${part}`;
      if (part.startsWith("{")) {
        const other = parameters.get(parent);
        if (other !== undefined && other.part !== part) {
          faults.push({
            functionName: name,
            message:
              `${name} has ${part} where ${other.owner} has ${other.part} in the same place of the path: ` +
              "API Gateway takes one name for both. Rename one",
          });
        }
        parameters.set(parent, other ?? { part, owner: name });
        if (part.endsWith("+}") && index < segments.length - 1) {
          faults.push({
            functionName: name,
            message: `${name} has ${part} before other parts of the path: it must be last`,
          });
        }
      } else if (!FIXED_PART.test(part)) {
        faults.push({
          functionName: name,
          message:
            `${name} has "${part}" in its path: API Gateway takes letters, digits and . _ : ~ $ - only. Rename the file`,
        });
      }
      if (!parts.has(whole)) parts.set(whole, { path: whole, parent, part, owner: name });
      parent = whole;
    });
  }
  const sorted = [...parts.values()].sort((a, b) => a.path < b.path ? -1 : 1);
  const names = getIdentifiers(sorted.map(({ path }) => path));
  const ids = new Map([["", expression("module.api.rest_api_root_resource_id")]]);
  for (const [path, name] of names) {
    ids.set(path, expression(`aws_api_gateway_resource.${name}.id`));
  }
  const warnings = ids.size <= MAX_RESOURCES ? [] : [{
    message:
      `the API has ${ids.size} resources, and an account may have ${MAX_RESOURCES} in one until it asks AWS for more`,
  }];
  return { parts: sorted, ids, names, faults, warnings };
}

/** How methods ask who calls. */
export interface AuthorizerPlan {
  /** The function that is asked. */
  readonly fn: InfraFunction;
  /** Whether requests without a credential reach it. */
  readonly admitsAnonymous: boolean;
}

/** Auth modes that read what a gateway's authorizer found out. */
export function asksAuthorizer({ options }: InfraFunction): boolean {
  return options.auth === "authorizer" || options.auth === "authorizer-optional";
}

/**
 * A function's method and integration.
 *
 * @param fn The function.
 * @param paths The API's paths.
 * @param hasAuthorizer Whether the API has an authorizer.
 */
export function renderRoute(
  fn: InfraFunction,
  paths: GatewayPaths,
  hasAuthorizer: boolean,
): HclBlock[] {
  const isAsked = hasAuthorizer && asksAuthorizer(fn);
  const method = `aws_api_gateway_method.${fn.id}`;
  return [
    block("resource", ["aws_api_gateway_method", fn.id], {
      rest_api_id: expression("module.api.rest_api_id"),
      resource_id: paths.ids.get(fn.path === "/" ? "" : fn.path ?? ""),
      http_method: fn.method,
      authorization: isAsked ? "CUSTOM" : "NONE",
      authorizer_id: isAsked ? expression("module.api.authorizer_id") : undefined,
    }),
    block("resource", ["aws_api_gateway_integration", fn.id], {
      rest_api_id: expression(`${method}.rest_api_id`),
      resource_id: expression(`${method}.resource_id`),
      http_method: expression(`${method}.http_method`),
      type: "AWS_PROXY",
      integration_http_method: "POST",
      uri: expression(`module.fn_${fn.id}.invoke_arn`),
    }),
  ];
}

/** The part of the API that is not one function's. */
export interface ApiOptions {
  readonly functions: readonly InfraFunction[];
  readonly paths: GatewayPaths;
  readonly authorizer?: AuthorizerPlan;
  /** The origin of `CORS_ALLOW_ORIGIN`, where the configuration gives one. */
  readonly corsOrigin?: HclValue;
  /** Further arguments of the module. */
  readonly settings: Readonly<Record<string, HclValue | undefined>>;
  readonly source: string;
}

/**
 * The API: the module, the resources that paths are made of, and answers to browsers that ask before a request.
 *
 * @param options The routes and settings.
 */
export function renderApi(
  { functions, paths, authorizer, corsOrigin, settings, source }: ApiOptions,
): HclBlock[] {
  const preflight = preflightPaths(functions, corsOrigin);
  const consistsOf = [
    ...paths.parts.map(({ path }) => `aws_api_gateway_resource.${paths.names.get(path)}`),
    ...functions.flatMap((
      { id },
    ) => [`aws_api_gateway_method.${id}`, `aws_api_gateway_integration.${id}`]),
    ...preflight.size === 0 ? [] : PREFLIGHT_RESOURCES,
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
        cors_allow_origin: corsOrigin === undefined ? null : firstOrigin(corsOrigin),
        create_usage_plan: false,
        ...settings,
      },
      authorizer === undefined ? {} : {
        authorizer_function_invoke_arn: expression(`module.fn_${authorizer.fn.id}.invoke_arn`),
        ...authorizer.admitsAnonymous
          ? { authorizer_identity_source: "", authorizer_ttl_seconds: 0 }
          : {},
      },
      comment(
        "All that the API consists of: a change deploys it anew, and the deployment waits for it.",
      ),
      {
        redeployment_trigger: expression(
          `sha1(jsonencode([\n${consistsOf.map((each) => `  ${each},\n`).join("")}]))`,
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
    ...preflight.size === 0 ? [] : renderPreflight(preflight, paths),
  ];
}

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

/** Paths whose functions let pages of other origins in, and do not answer OPTIONS themselves. */
function preflightPaths(
  functions: readonly InfraFunction[],
  corsOrigin: HclValue | undefined,
): ReadonlyMap<string, Preflight> {
  const found = new Map<string, Preflight>();
  const answered = new Set(
    functions.filter(({ method }) => method === "OPTIONS" || method === "ANY").map(({ path }) =>
      path
    ),
  );
  for (const { path, method, options: { cors }, definer } of functions) {
    const isOfPackage = definer === "defineApiHandler" || definer === "createAuthHandler";
    const origin = cors === undefined
      ? (isOfPackage ? corsOrigin : undefined)
      : cors === false
      ? undefined
      : cors;
    if (origin === undefined || answered.has(path)) continue;
    const known = found.get(path!);
    found.set(path!, {
      methods: new Set([...known?.methods ?? [], method!]),
      origin: typeof origin === "string" && !origin.includes(",") &&
          (known === undefined || known.origin === origin)
        ? origin
        : Array.isArray(origin) && origin.length === 1
        ? origin[0]
        : origin instanceof Expression
        ? moduleOrigin(origin)
        // the answer itself names the one origin that asked, when it may
        : "*",
    });
  }
  return found;
}

function renderPreflight(
  preflight: ReadonlyMap<string, Preflight>,
  paths: GatewayPaths,
): HclBlock[] {
  const table = Object.fromEntries([...preflight].map(([path, { methods, origin }]) => [path, {
    resource_id: paths.ids.get(path === "/" ? "" : path)!,
    methods: [...methods, "OPTIONS"].sort().join(","),
    origin,
  }]));
  const name = "preflight_of_paths";
  const of = (resource: string) => ({
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
    block("locals", [], comment("What browsers are told that ask before a request, by path."), {
      preflight: table,
    }),
    block("resource", ["aws_api_gateway_method", name], each, {
      rest_api_id: expression("module.api.rest_api_id"),
      resource_id: expression("each.value.resource_id"),
      http_method: "OPTIONS",
      authorization: "NONE",
    }),
    block("resource", ["aws_api_gateway_integration", name], each, {
      ...of("aws_api_gateway_method"),
      type: "MOCK",
      request_templates: { "application/json": expression("jsonencode({ statusCode = 204 })") },
    }),
    block("resource", ["aws_api_gateway_method_response", name], each, {
      ...of("aws_api_gateway_method"),
      status_code: "204",
      response_parameters: headers(() => true),
    }),
    block("resource", ["aws_api_gateway_integration_response", name], each, {
      ...of("aws_api_gateway_integration"),
      status_code: expression(`aws_api_gateway_method_response.${name}[each.key].status_code`),
      response_parameters: headers((header) =>
        header === "Headers"
          ? "'Authorization,Content-Type,X-Api-Key,X-Correlation-Id,X-Request-Id'"
          : expression(`"'\${each.value.${header.toLowerCase()}}'"`)
      ),
    }),
  ];
}

/** One origin, as the module takes it; of several none can be fixed, and errors hold no data. */
/**
 * Returns the origin that the gateway's own errors name. Their headers are fixed texts, so they can
 * name one origin alone; `*` would show them to every page.
 */
function firstOrigin(origins: HclValue): HclValue {
  if (typeof origins === "string") return origins.split(",")[0].trim();
  return expression(`trimspace(split(",", ${(origins as Expression).hcl})[0])`);
}

function moduleOrigin(origin: HclValue): HclValue {
  if (typeof origin === "string") return origin.includes(",") ? "*" : origin;
  const { hcl } = origin as Expression;
  return expression(`strcontains(${hcl}, ",") ? "*" : ${hcl}`);
}
