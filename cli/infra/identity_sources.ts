import type { ApiInfra } from "../config/api_infra.ts";
import type { AuthorizerPlan, Problem } from "./infra_plan.ts";

/** The default of the rest-api module. */
const DEFAULT_SOURCES: readonly string[] = ["method.request.header.Authorization"];
const DEFAULT_TTL_SECONDS = 300;

/** Valid identity sources (API Gateway, CreateAuthorizer, `identitySource`). */
const SOURCE =
  /^(?:method\.request\.(?:header|querystring)\.[^\s,]+|context\.[A-Za-z.]+|stageVariables\.\w+)$/;

/** Errors and warnings about identity sources. */
export interface IdentityProblems {
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/**
 * Checks that the identity sources contain everything that the authorizer reads. Otherwise API
 * Gateway would reuse a cached decision for a request with a different header or query parameter.
 *
 * @returns Errors and warnings.
 */
export function checkIdentitySources(
  { fn, admitsAnonymous }: AuthorizerPlan,
  settings: ApiInfra,
): IdentityProblems {
  const { identitySources, authorizerTtlSeconds = DEFAULT_TTL_SECONDS } = settings;
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  if (admitsAnonymous) {
    if (identitySources !== undefined) {
      errors.push({
        message: "infra.api.identitySources has no effect if a function has auth " +
          "'authorizer-optional', because API Gateway would " +
          "reject requests without them. Remove it",
      });
    }
    return { errors, warnings };
  }
  const sources = identitySources ?? DEFAULT_SOURCES;
  for (const source of sources.filter((each) => !SOURCE.test(each))) {
    errors.push({
      message:
        `infra.api.identitySources has "${source}": it must be method.request.header.<name>, ` +
        "method.request.querystring.<name>, context.<name> or stageVariables.<name>",
    });
  }
  if (authorizerTtlSeconds === 0) return { errors, warnings };
  const known = new Set(sources.map(normalize));
  const missing = new Map(
    (fn.inputs?.reads ?? []).filter(({ source }) => !known.has(normalize(source)))
      .map(({ source, place }) => [normalize(source), place]),
  );
  for (const [source, place] of missing) {
    errors.push({
      functionName: fn.name,
      message: `${place} reads ${source}, which is not an identity ` +
        `source: a cached decision would apply to requests ` +
        `with a different value for ${authorizerTtlSeconds} s. ` +
        `Add it to infra.api.identitySources, or set ` +
        "infra.api.authorizerTtlSeconds = 0",
    });
  }
  // explicit identity sources are assumed to be complete
  const list = identitySources === undefined ? errors : warnings;
  for (const place of new Set(fn.inputs?.unresolved)) {
    list.push({
      functionName: fn.name,
      message:
        `the part of the request that ${place} reads cannot be determined statically, and API ` +
        `Gateway caches the decision for ` +
        `${authorizerTtlSeconds} s: read headers and query ` +
        `parameters by literal names, list them in ` +
        "infra.api.identitySources, or set infra.api.authorizerTtlSeconds = 0",
    });
  }
  return { errors, warnings };
}

/** Normalizes header names, which are case-insensitive. */
function normalize(source: string): string {
  return source.startsWith("method.request.header.") ? source.toLowerCase() : source;
}
