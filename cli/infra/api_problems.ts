import type { ResolvedConfig } from "../config/config.ts";
import { type InfraFunction, listRoutes, type Problem, usesAuthorizer } from "./infra_plan.ts";
import type { ResourcePlan } from "./plan_resources.ts";

type Infra = Pick<ResolvedConfig["infra"], "api" | "release">;

/**
 * Finds functions that their gateway, or the lack of one, cannot serve.
 *
 * @param infra The configuration.
 */
export function findApiErrors({ routes, withUrl }: ResourcePlan, infra: Infra): Problem[] {
  return [
    ...routes.flatMap((fn) => toProblem(fn, findRouteProblem(fn, infra))),
    ...withUrl.flatMap((fn) => toProblem(fn, findUrlProblem(fn))),
  ];
}

function toProblem({ name }: InfraFunction, message: string | undefined): Problem[] {
  return message === undefined ? [] : [{ message: `${name} ${message}`, functionName: name }];
}

function findRouteProblem(
  { options, settings }: InfraFunction,
  { api, release }: Infra,
): string | undefined {
  if (options.auth === "gateway-jwt" && api.jwt === undefined) {
    return "relies on a gateway that verifies tokens, but none is configured, so every request " +
      'would be refused: set infra.api = { type: "http", jwt: { issuer, audience } }, or use createJwtAuth';
  }
  if (options.streaming && api.type === "http") {
    return "streams its response, which HTTP APIs do not: give it a URL of its own with " +
      "export const infra = { url: true }, or use a REST API";
  }
  if (options.ranges && !options.streaming && api.type !== "http") {
    return "sends bytes, which a REST API passes on as text in base64: add streaming: responseStreaming() to its handler";
  }
  if (settings.provisionedConcurrency !== undefined && release === undefined) {
    return "has provisionedConcurrency, which needs the alias of releases: add infra.release = {}";
  }
  return undefined;
}

/** A URL has neither routes nor authorizers. */
function findUrlProblem(fn: InfraFunction): string | undefined {
  const guarded = listRoutes([fn]).find((route) =>
    usesAuthorizer(route) || route.options.auth === "gateway-jwt"
  );
  if (guarded !== undefined) {
    return `has a URL of its own, where no gateway decides who may call: change its auth "${guarded.options.auth}", ` +
      "or remove url";
  }
  if (fn.routes === undefined && fn.path?.includes("{")) {
    return "has a URL of its own, which has no path parameters: use defineRouter, or remove url";
  }
  if (fn.settings.provisionedConcurrency !== undefined) {
    return "has a URL of its own, which calls no alias: remove provisionedConcurrency, or url";
  }
  return undefined;
}
