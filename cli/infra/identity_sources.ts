import type { ApiInfra } from "../config/infra.ts";
import type { AuthorizerPlan } from "./gateway.ts";
import type { Fault } from "./infra_plan.ts";

/** What the rest-api module takes when nothing is given. */
const DEFAULT_SOURCES: readonly string[] = ["method.request.header.Authorization"];
const DEFAULT_TTL_SECONDS = 300;

/** What a REST API can remember a decision by (API Gateway, CreateAuthorizer, `identitySource`). */
const SOURCE =
  /^(?:method\.request\.(?:header|querystring)\.[^\s,]+|context\.[A-Za-z.]+|stageVariables\.\w+)$/;

/** What is wrong with what a decision is remembered by. */
export interface IdentityFaults {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/**
 * Checks that a REST API remembers an authorizer's decision by everything that the authorizer
 * reads. Otherwise the decision about one request would count for another that differs in a header
 * or a query parameter.
 *
 * @param plan The authorizer, and who reaches it.
 * @param settings `infra.api` of the configuration.
 * @returns What is wrong.
 */
export function checkIdentitySources(
  { fn, admitsAnonymous }: AuthorizerPlan,
  settings: ApiInfra,
): IdentityFaults {
  const { identitySources, authorizerTtlSeconds = DEFAULT_TTL_SECONDS } = settings;
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  if (admitsAnonymous) {
    if (identitySources !== undefined) {
      faults.push({
        message:
          "infra.api.identitySources has no effect where a function has auth 'authorizer-optional': the gateway would " +
          "refuse requests without them. Remove it",
      });
    }
    return { faults, warnings };
  }
  const sources = identitySources ?? DEFAULT_SOURCES;
  for (const source of sources.filter((each) => !SOURCE.test(each))) {
    faults.push({
      message:
        `infra.api.identitySources has "${source}": it must be method.request.header.<name>, ` +
        "method.request.querystring.<name>, context.<name> or stageVariables.<name>",
    });
  }
  if (authorizerTtlSeconds === 0) return { faults, warnings };
  const known = new Set(sources.map(normalize));
  const missing = new Map(
    (fn.inputs?.reads ?? []).filter(({ source }) => !known.has(normalize(source)))
      .map(({ source, place }) => [normalize(source), place]),
  );
  for (const [source, place] of missing) {
    faults.push({
      functionName: fn.name,
      message:
        `${place} reads ${source}, by which the gateway does not remember the decision: it would count for requests ` +
        `with another value for ${authorizerTtlSeconds} s. Add it to infra.api.identitySources, or set ` +
        "infra.api.authorizerTtlSeconds = 0",
    });
  }
  // who lists the sources vouches for what the text does not tell
  const list = identitySources === undefined ? faults : warnings;
  for (const place of new Set(fn.inputs?.unresolved)) {
    list.push({
      functionName: fn.name,
      message:
        `what of the request ${place} reads cannot be told from the text, and the gateway remembers the decision for ` +
        `${authorizerTtlSeconds} s: read headers and query parameters by their names, list them in ` +
        "infra.api.identitySources, or set infra.api.authorizerTtlSeconds = 0",
    });
  }
  return { faults, warnings };
}

/** Names of headers come in any case. */
function normalize(source: string): string {
  return source.startsWith("method.request.header.") ? source.toLowerCase() : source;
}
