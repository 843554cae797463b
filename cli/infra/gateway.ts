import {
  block,
  comment,
  type Expression,
  expression,
  type HclBlock,
  type HclValue,
} from "./hcl.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { getIdentifiers } from "./names.ts";
import { renderPreflights } from "./preflights.ts";

/** A path segment, which becomes an API Gateway resource. */
interface PathPart {
  /** `/notes/{noteId}` */
  readonly path: string;
  readonly parent: string;
  /** `{noteId}` */
  readonly part: string;
}

/** The paths of an API, each once. */
export interface GatewayPaths {
  /** Parents before children. */
  readonly parts: readonly PathPart[];
  /** Resource ids by path, including the root. */
  readonly ids: ReadonlyMap<string, Expression>;
  /** Terraform names of the resources, by path. */
  readonly names: ReadonlyMap<string, string>;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/**
 * Maximum number of resources of a REST API, including the root (API Gateway quotas; can be
 * raised).
 */
const MAX_RESOURCES = 300;

/** Valid fixed path segments (API Gateway, CreateResource, `pathPart`). */
const FIXED_PART = /^[A-Za-z0-9._:~$-]+$/;

/**
 * Builds the tree of API Gateway resources from the routes.
 *
 * @param functions The functions in `api/`.
 * @returns The paths, and errors that API Gateway would report.
 */
export function planPaths(functions: readonly InfraFunction[]): GatewayPaths {
  const parts = new Map<string, PathPart & { readonly owner: string }>();
  const parameters = new Map<string, { readonly part: string; readonly owner: string }>();
  const errors: Problem[] = [];
  for (const { name, path = "/" } of functions) {
    const segments = path.split("/").filter(Boolean);
    let parent = "";
    segments.forEach((part, index) => {
      const whole = `${parent}/${part}`;
      if (part.startsWith("{")) {
        const other = parameters.get(parent);
        if (other !== undefined && other.part !== part) {
          errors.push({
            functionName: name,
            message:
              `${name} uses ${part} where ${other.owner} uses ${other.part} at the same position of the path: ` +
              "API Gateway requires the same parameter name. Rename one of them",
          });
        }
        parameters.set(parent, other ?? { part, owner: name });
        if (part.endsWith("+}") && index < segments.length - 1) {
          errors.push({
            functionName: name,
            message: `${name} has ${part} before other path segments: it must be the last one`,
          });
        }
      } else if (!FIXED_PART.test(part)) {
        errors.push({
          functionName: name,
          message:
            `${name} has "${part}" in its path: API Gateway only accepts letters, digits and . _ : ~ $ -. Rename the file`,
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
    message: `the API has ${ids.size} resources, but the default quota of AWS is ${MAX_RESOURCES}`,
  }];
  return { parts: sorted, ids, names, errors, warnings };
}

/** The authorizer of the REST API. */
export interface AuthorizerPlan {
  /** The authorizer function. */
  readonly fn: InfraFunction;
  /** True if requests without credentials reach it. */
  readonly admitsAnonymous: boolean;
}

/** Returns true for auth modes that use the authorizer of API Gateway. */
export function usesAuthorizer({ options }: InfraFunction): boolean {
  return options.auth === "authorizer" || options.auth === "authorizer-optional";
}

/**
 * Renders the method and integration of a function.
 *
 * @param fn The function.
 * @param paths The API's paths.
 * @param hasAuthorizer True if the API has an authorizer.
 */
export function renderRoute(
  fn: InfraFunction,
  paths: GatewayPaths,
  hasAuthorizer: boolean,
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

/** The parts of the API that its functions share. */
export interface ApiOptions {
  readonly functions: readonly InfraFunction[];
  readonly paths: GatewayPaths;
  readonly authorizer?: AuthorizerPlan;
  /** The configured value of `CORS_ALLOW_ORIGIN`. */
  readonly corsOrigin?: HclValue;
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
  { functions, paths, authorizer, corsOrigin, settings, source }: ApiOptions,
): HclBlock[] {
  const preflights = renderPreflights(functions, paths, corsOrigin);
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
