import { collectAuthConfig } from "./collect_auth_config.ts";
import type { Collector } from "./collector.ts";
import {
  AUTH_MODE,
  AUTH_SCHEMA,
  AUTH_TABLE,
  type AuthNeed,
  CALL,
  isCall,
  isUnused,
  NONE,
} from "./effects.ts";
import { collectOriginSecret, type PackageCollector, type PackageUse } from "./package_use.ts";
import { collectNeeds } from "./required_constants.ts";
import type { ts } from "./typescript.ts";

/** Functions that use some tables of the given instance; they do not use its routes. */
const SESSION_NEEDS: Readonly<Record<string, AuthNeed>> = {
  validateSession: "check",
  validateSessionFromHeader: "check",
  refreshSession: "check",
  expireSession: "expire",
  listAuthEvents: "events",
  removeExpiredAuthRows: "cleanup",
};

/** Collectors of the functions that check sessions, configure sign-in, or run its routes. */
export const AUTH_COLLECTORS: Readonly<Record<string, PackageCollector>> = {
  ...Object.fromEntries(Object.keys(SESSION_NEEDS).map((name) => [name, collectSessionCheck])),
  createAuth: collectInstance,
  getAuth: collectInstance,
  getConfiguredSessionAuth: collectInstance,
  createAuthHandler(c, use): void {
    collectOriginSecret(c, use);
    collectInstanceUser(c, use, "routes", readRoutes(c, use.given[1]));
  },
  createAuthCleanupHandler: (c, use) => collectInstanceUser(c, use, "cleanup"),
  configureSessionAuth: collectSessionConfiguration,
  defineAuth: collectDefinition,
  configureApiKeyAuth(c, { path, given }): void {
    if (given[1] !== undefined) {
      c.reach(given[1], ["schema", AUTH_SCHEMA]);
      c.reach(given[1], ["schema", "user", `${AUTH_TABLE}user`]);
    }
    c.release(path);
  },
  configureRateLimits(c, use): void {
    const { node, name, path, given } = use;
    c.emit({ kind: "auth", need: "limits", why: name, node });
    collectOriginSecret(c, use);
    if (given[1] !== undefined) c.reach(given[1], ["table", `${AUTH_TABLE}rateLimit`]);
    c.release(path);
  },
  defineWebSocketHandler(c, { path, given }): void {
    if (given[0] !== undefined) c.reach(given[0], ["auth", AUTH_MODE]);
    c.release(path);
  },
  defineApiHandler(c, { path, given }): void {
    if (given[0] !== undefined) {
      c.reach(given[0], ["auth", AUTH_MODE]);
      collectNeeds(c, given[0]);
    }
    c.release(path);
  },
};

function collectSessionCheck(c: Collector, { node, name, rest, given }: PackageUse): void {
  c.emit({ kind: "auth", need: SESSION_NEEDS[name], why: name, node });
  for (const argument of given.slice(1)) c.reach(argument, []);
  c.release(rest);
}

function collectInstance(c: Collector, { node, name, path, rest, given }: PackageUse): void {
  const [first] = path;
  const [member] = isCall(first) || first === CALL ? rest : [];
  if (member === undefined || member === "api" || member === "handler") {
    // an instance without a member may be passed to code that serves its routes
    c.emit({ kind: "auth", need: "routes", why: name, node, isCalled: member === "api" });
  }
  if (given[1] !== undefined) collectAuthConfig(c, given[1]);
  c.release(path);
}

/** Collects a call whose first argument is a function that returns the instance. */
function collectInstanceUser(
  c: Collector,
  { node, name, rest, given }: PackageUse,
  need: AuthNeed,
  routes?: readonly string[],
): void {
  c.emit({ kind: "auth", need, why: name, node, routes });
  // the function is only called to get the instance; the use of its tables is collected above
  if (given[0] !== undefined) c.reach(given[0], [CALL, NONE]);
  for (const argument of given.slice(1)) c.reach(argument, []);
  c.release(rest);
}

function collectSessionConfiguration(c: Collector, { rest, given }: PackageUse): void {
  c.emit({ kind: "auth-configured" });
  if (given[0] !== undefined) c.reach(given[0], []);
  if (given[1] !== undefined) {
    collectAuthConfig(c, given[1]);
    c.emit({ kind: "auth-functions", unit: c.units.get(given[1], []).unit });
  }
  for (const argument of given.slice(2)) c.reach(argument, []);
  c.release(rest);
}

/** Collects the use of `defineAuth(getDb, config)`: of its functions, or of all of them. */
function collectDefinition(c: Collector, use: PackageUse): void {
  const { path: [call, member, ...path], given } = use;
  collectSessionConfiguration(c, { ...use, rest: [] });
  if (!isCall(call) || isUnused([member ?? ""])) return;
  if (member === undefined || member === "getAuth") {
    collectInstance(c, { ...use, given: [], path, rest: path.slice(1) });
  } else if (isCall(path[0])) {
    for (const argument of path[0].call.arguments ?? []) c.reach(argument, []);
    if (member === "apiKey" && given[1] !== undefined) {
      c.reach(given[1], ["schema", `${AUTH_TABLE}apikey`]);
    }
    c.release(path.slice(1).filter((step) => step !== AUTH_MODE));
  }
}

/** Returns the option `routes` of an auth handler; `undefined` if it is omitted or cannot be determined. */
function readRoutes(
  { evaluator }: Collector,
  options: ts.Expression | undefined,
): readonly string[] | undefined {
  if (options === undefined) return undefined;
  const value = evaluator.getMember(evaluator.evaluate(options), "routes", options);
  const literal = evaluator.toLiteral(value, options);
  if (literal.kind !== "known" || !Array.isArray(literal.value)) return undefined;
  return literal.value.every((pattern) => typeof pattern === "string") ? literal.value : undefined;
}
