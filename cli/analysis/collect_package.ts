import type { Collector } from "./collector.ts";
import { collectPackageQuery, PACKAGE_QUERIES } from "./package_tables.ts";
import { collectJobs } from "./collect_jobs.ts";
import { collectMail } from "./collect_mail.ts";
import { getEnvNameStep } from "./required_constants.ts";
import {
  AUTH_EXTENSION,
  AUTH_FIELDS,
  AUTH_MODE,
  AUTH_SCHEMA,
  AUTH_TABLE,
  type AuthNeed,
  CALL,
  isCall,
  isUnused,
  NONE,
  ORGANIZATION,
  type Path,
  type Step,
} from "./effects.ts";
import { isLoopbackUrl } from "../../auth/loopback.ts";
import { isTrellis } from "./values.ts";
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

/** Functions that read an environment variable, with the step that requires its name. */
const ENV_READS: Readonly<Record<string, Step>> = {
  getRequiredEnv: getEnvNameStep("required"),
  getOptionalEnv: getEnvNameStep("optional"),
  secret: getEnvNameStep("secret"),
};

/** The variable with which the package recognizes requests that came through the CDN. */
const ORIGIN_SECRET = "ORIGIN_VERIFY_SECRET";

/** The tables of better-auth by the keys of `AuthConfig.schema`. */
const MODELS = ["user", "session", "account", "verification"] as const;

/**
 * Collects the use of a name that a package exports. The exports of this package are known; any
 * other package may call its arguments.
 *
 * @param c The collector.
 * @param node The reference.
 * @param module The package and its entry point.
 * @param name The exported name.
 * @param path The use of the value.
 */
export function collectPackage(
  c: Collector,
  node: ts.Node,
  module: string,
  name: string,
  path: Path,
): void {
  if (isUnused(path)) return;
  if (isProcessModule(module)) {
    collectProcess(c, node, name === "default" ? path : [name, ...path]);
  }
  if (!isTrellis(module)) {
    if (c.wrapsTrellis(module)) c.emit({ kind: "wrapper", node, module });
    return c.unknown(node, path);
  }
  const [first, ...rest] = path;
  const given = isCall(first) ? first.call.arguments ?? [] : [];

  if (collectJobs(c, node, name, path) || collectMail(c, node, name, path)) return;
  const need = SESSION_NEEDS[name];
  if (need !== undefined) {
    c.emit({ kind: "auth", need, why: name, node });
    for (const argument of given.slice(1)) c.reach(argument, []);
    return c.release(rest);
  }
  if (PACKAGE_QUERIES.has(name)) return collectPackageQuery(c, node, name, path);
  switch (name) {
    case "createAuth":
    case "getAuth":
    case "getConfiguredSessionAuth": {
      const [member] = isCall(first) || first === CALL ? rest : [];
      if (member === undefined || member === "api" || member === "handler") {
        c.emit({ kind: "auth", need: "routes", why: name, node });
      }
      if (given[1] !== undefined) collectAuthConfig(c, given[1]);
      return c.release(path);
    }
    case "createAuthHandler":
      c.emit({ kind: "auth", need: "routes", why: name, node, routes: readRoutes(c, given[1]) });
      c.emit({ kind: "env", name: ORIGIN_SECRET, isRequired: false, node });
      // the handler calls the function to get the instance; its routes are collected above
      if (given[0] !== undefined) c.reach(given[0], [CALL, NONE]);
      for (const argument of given.slice(1)) c.reach(argument, []);
      return c.release(rest);
    case "createAuthCleanupHandler":
      c.emit({ kind: "auth", need: "cleanup", why: name, node });
      if (given[0] !== undefined) c.reach(given[0], [CALL, NONE]);
      for (const argument of given.slice(1)) c.reach(argument, []);
      return c.release(rest);
    case "configureSessionAuth":
      c.emit({ kind: "auth-configured" });
      if (given[0] !== undefined) c.reach(given[0], []);
      if (given[1] !== undefined) {
        collectAuthConfig(c, given[1]);
        c.emit({ kind: "auth-functions", unit: c.units.get(given[1], []).unit });
      }
      for (const argument of given.slice(2)) c.reach(argument, []);
      return c.release(rest);
    case "configureApiKeyAuth":
      if (given[1] !== undefined) c.reach(given[1], ["schema", AUTH_SCHEMA]);
      return c.release(path);
    case "configureRateLimits":
      c.emit({ kind: "auth", need: "limits", why: name, node });
      c.emit({ kind: "env", name: ORIGIN_SECRET, isRequired: false, node });
      if (given[1] !== undefined) c.reach(given[1], ["table", `${AUTH_TABLE}rateLimit`]);
      return c.release(path);
    case "defineApiHandler":
      if (given[0] !== undefined) {
        c.reach(given[0], ["auth", AUTH_MODE]);
        c.reach(given[0], ["organization", ORGANIZATION]);
      }
      return c.release(path);
    case "getClientAddress":
      c.emit({ kind: "env", name: ORIGIN_SECRET, isRequired: false, node });
      for (const argument of given) c.reach(argument, []);
      return c.release(rest);
    case "loadSources":
      c.emit({ kind: "env-sources" });
      return c.release(path);
    case "getRequiredEnv":
    case "getOptionalEnv":
    case "secret":
      if (given[0] === undefined) {
        c.unresolved(
          node,
          `${name} is passed as a value: the variables it reads cannot be determined statically`,
          "environment",
        );
      } else c.reach(given[0], [ENV_READS[name]]);
      return c.release(path);
    case "defineEnv":
      // the environment is read on first use; with a second argument, another source may be read
      if (given[0] !== undefined && given[1] === undefined && !isUnused(rest)) {
        c.emit({ kind: "env-definition", definition: given[0], node });
      }
      return c.release(path);
    case "getTablePermissions":
      return c.release(rest);
    default:
      return c.unknown(node, path);
  }
}

/**
 * Checks whether a specifier is the `process` module.
 *
 * @param module A package's specifier.
 */
export function isProcessModule(module: string): boolean {
  return module === "node:process" || module === "process";
}

/**
 * Collects an environment variable that is read directly: `process.env.STAGE`. It counts as
 * optional.
 *
 * @param c The collector.
 * @param node The reference.
 * @param path The use of `process`.
 */
export function collectProcess(c: Collector, node: ts.Node, path: Path): void {
  const [member, name] = path;
  if (member !== "env" || typeof name !== "string" || name.startsWith("\0")) return;
  c.emit({ kind: "env", name, isRequired: false, node });
}

/** Collects the project's tables that replace those of the package. */
function collectAuthConfig(c: Collector, config: ts.Expression): void {
  for (const model of MODELS) c.reach(config, ["schema", model, AUTH_TABLE + model]);
  c.reach(config, ["schema", AUTH_SCHEMA]);
  c.reach(config, ["plugins", AUTH_EXTENSION]);
  c.reach(config, ["user", "deleteUser", AUTH_EXTENSION]);
  for (const model of ["user", "session"]) {
    c.reach(config, [model, "additionalFields", AUTH_FIELDS + model]);
  }
  if (hasHooks(c, config)) c.emit({ kind: "auth-hooks" });
  if (mayLimit(c, config)) c.emit({ kind: "auth-limits" });
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

/** Options of an auth configuration whose code may do anything in each route. */
const HOOKS = ["plugins", "hooks", "databaseHooks"];

function hasHooks({ evaluator }: Collector, config: ts.Expression): boolean {
  const value = evaluator.evaluate(config);
  return HOOKS.some((name) => evaluator.getMember(value, name, config).kind !== "undefined");
}

/** Checks whether the limits of a configuration may count in the database, as auth/config.ts does. */
function mayLimit({ evaluator }: Collector, config: ts.Expression): boolean {
  function read(...names: readonly string[]): unknown {
    const value = names.reduce(
      (owner, name) => evaluator.getMember(owner, name, config),
      evaluator.evaluate(config),
    );
    const literal = evaluator.toLiteral(value, config);
    return literal.kind === "known" ? literal.value : undefined;
  }
  const storage = read("rateLimit", "storage") ?? "database";
  if (storage !== "database") return false;
  const baseURL = read("baseURL");
  const isLocal = typeof baseURL === "string" && isLoopbackUrl(baseURL);
  return (read("rateLimit", "enabled") ?? !isLocal) !== false;
}
