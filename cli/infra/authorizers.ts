import type { InfraSettings } from "../config/infra.ts";
import { checkIdentitySources } from "./identity_sources.ts";
import {
  type AuthorizerPlan,
  type InfraFunction,
  type Problem,
  usesAuthorizer,
} from "./infra_plan.ts";

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
