import type { InfraSettings } from "../config/infra.ts";
import {
  type AuthorizerPlan,
  type InfraFunction,
  type Problem,
  usesAuthorizer,
} from "./infra_plan.ts";
import type { ApiInfra } from "../config/api_infra.ts";

/** The authorizers of both APIs, with errors and warnings about them. */
export interface Authorizers {
  readonly api?: AuthorizerPlan;
  readonly websocket?: InfraFunction;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Selects the authorizers: the configured one, else the only one. */
export function chooseAuthorizers(
  functions: readonly InfraFunction[],
  settings: Pick<InfraSettings, "api" | "websocket">,
): Authorizers {
  const authorizers = functions.filter(({ kind }) => kind === "authorizer");
  const authorized = functions.filter((fn) => fn.kind === "api" && usesAuthorizer(fn));
  const sockets = functions.filter(({ kind }) => kind === "websocket");
  const errors: Problem[] = [];
  const warnings: Problem[] = [];

  function choose(named: string | undefined, setting: string): InfraFunction | undefined {
    if (named !== undefined) {
      const found = authorizers.find(({ name }) => name === named);
      if (found === undefined) {
        const known = authorizers.length === 0
          ? "authorizer/ is empty"
          : `authorizer/ contains ${authorizers.map(({ name }) => name).join(", ")}`;
        errors.push({
          message: `${setting} is ${named}, which is not in authorizer/: ${known}`,
        });
      }
      return found;
    }
    if (authorizers.length > 1) {
      errors.push({
        message: `set ${setting} to one of ${authorizers.map(({ name }) => name).join(", ")}`,
      });
    }
    return authorizers[0];
  }

  const api = authorized.length === 0
    ? undefined
    : choose(settings.api?.authorizer, "infra.api.authorizer");
  if (api === undefined && authorizers.length === 0 && settings.api?.authorizer === undefined) {
    for (const { name, options } of authorized) {
      if (options.auth === "authorizer") {
        errors.push({
          functionName: name,
          message: "auth is 'authorizer', but authorizer/ contains no " +
            "function, so every request would be denied. Add one",
        });
      } else {
        warnings.push({
          functionName: name,
          message: "auth is 'authorizer-optional', but authorizer/ " +
            "contains no function: every request is anonymous",
        });
      }
    }
  }

  let websocket: InfraFunction | undefined;
  const connect = sockets.find(({ routeKey }) => routeKey === "$connect");
  if (sockets.length > 0) {
    errors.push(...findConnectProblems(connect));
    const named = settings.websocket?.authorizer;
    const isAsked = connect?.options.auth === "authorizer";
    if (named !== false && (named !== undefined || isAsked && authorizers.length > 0)) {
      websocket = choose(named, "infra.websocket.authorizer");
    } else if (isAsked) {
      const reason = named === false
        ? "infra.websocket.authorizer is false"
        : "authorizer/ contains no function";
      errors.push({
        functionName: connect.name,
        message: `auth is 'authorizer', but ${reason}, so every connection would be refused`,
      });
    }
  }
  const admitsAnonymous = authorized.some(({ options }) => options.auth === "authorizer-optional");
  const plan = api && { fn: api, admitsAnonymous };
  if (plan !== undefined) {
    const found = checkIdentitySources(plan, settings.api ?? {});
    errors.push(...found.errors);
    warnings.push(...found.warnings);
  }
  return { api: plan, websocket, errors, warnings };
}

/** Finds settings that would refuse all connections, or admit every client. */
function findConnectProblems(connect: InfraFunction | undefined): Problem[] {
  if (connect === undefined) {
    return [{
      message:
        "the WebSocket API accepts all connections, because no function serves $connect: add " +
        "websocket/$connect.ts with the option auth",
    }];
  }
  if (connect.options.auth !== undefined) return [];
  return [{
    functionName: connect.name,
    message:
      "$connect has no option auth, so every connection would be refused: set it to 'session', " +
      "to the result of createConnectionTickets, to 'authorizer', or to 'none' if anybody may connect",
  }];
}

/** The default of the rest-api module. */
const DEFAULT_SOURCES: readonly string[] = ["method.request.header.Authorization"];
const DEFAULT_TTL_SECONDS = 300;

/** Valid identity sources (API Gateway, CreateAuthorizer, `identitySource`). */
const SOURCE =
  /^(?:method\.request\.(?:header|querystring)\.[^\s,]+|context\.[A-Za-z.]+|stageVariables\.\w+)$/;

/**
 * Checks that the identity sources contain everything that the authorizer reads. Otherwise API
 * Gateway would reuse a cached decision for a request with a different header or query parameter.
 *
 * @returns Errors and warnings.
 */
function checkIdentitySources(
  { fn, admitsAnonymous }: AuthorizerPlan,
  settings: ApiInfra,
): Pick<Authorizers, "errors" | "warnings"> {
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
