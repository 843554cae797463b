import type { Collector } from "./collector.ts";
import { envNameStep } from "./collect_sink.ts";
import {
  AUTH_MODE,
  AUTH_TABLE,
  type AuthNeed,
  CALL,
  isCall,
  isUnused,
  NONE,
  type Path,
} from "./effects.ts";
import { isTrellis } from "./evaluate.ts";
import type { ts } from "./typescript.ts";

/** Functions that check or end a session by an instance that they get: the instance's routes are not used. */
const SESSION_NEEDS: Readonly<Record<string, AuthNeed>> = {
  validateSession: "check",
  validateSessionFromHeader: "check",
  refreshSession: "check",
  expireSession: "expire",
};

/** The variable by which the package tells requests that came through the CDN. */
const ORIGIN_SECRET = "ORIGIN_VERIFY_SECRET";

/** The tables of better-auth, by the keys of `AuthConfig.schema`. */
const MODELS = ["user", "session", "account", "verification"] as const;

/**
 * Collects what is used of a name of a package. Of this package the meaning is known; what is given to any other may be
 * called by it.
 *
 * @param c The collector.
 * @param node Where the name stands.
 * @param module The package and its entry point.
 * @param name The name.
 * @param path What is used of it.
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

  const need = SESSION_NEEDS[name];
  if (need !== undefined) {
    c.emit({ kind: "auth", need, why: name, node });
    for (const argument of given.slice(1)) c.reach(argument, []);
    return c.release(rest);
  }
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
      c.emit({ kind: "auth", need: "routes", why: name, node });
      c.emit({ kind: "env", name: ORIGIN_SECRET, isRequired: false, node });
      // it calls what gives the instance; what it does with the instance is counted above
      if (given[0] !== undefined) c.reach(given[0], [CALL, NONE]);
      for (const argument of given.slice(1)) c.reach(argument, []);
      return c.release(rest);
    case "configureSessionAuth":
      c.emit({ kind: "auth-configured" });
      if (given[1] !== undefined) collectAuthConfig(c, given[1]);
      return c.release(path);
    case "defineApiHandler":
      if (given[0] !== undefined) c.reach(given[0], ["auth", AUTH_MODE]);
      return c.release(path);
    case "getClientAddress":
      c.emit({ kind: "env", name: ORIGIN_SECRET, isRequired: false, node });
      for (const argument of given) c.reach(argument, []);
      return c.release(rest);
    case "getRequiredEnv":
    case "getOptionalEnv":
      if (given[0] === undefined) {
        c.unresolved(
          node,
          `${name} is handed on: which variables it reads cannot be told from the text`,
          "environment",
        );
      } else c.reach(given[0], [envNameStep(name === "getRequiredEnv")]);
      return c.release(path);
    case "defineEnv":
      // what a constant holds is read when it is first used; a second argument may name another source
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
 * Whether a specifier names the runtime's own module of the process.
 *
 * @param module A package's specifier.
 */
export function isProcessModule(module: string): boolean {
  return module === "node:process" || module === "process";
}

/**
 * Collects a variable that is read without the package: `process.env.STAGE`. Whether it must be set is not told.
 *
 * @param c The collector.
 * @param node Where the name stands.
 * @param path What is used of `process`.
 */
export function collectProcess(c: Collector, node: ts.Node, path: Path): void {
  const [member, name] = path;
  if (member !== "env" || typeof name !== "string" || name.startsWith("\0")) return;
  c.emit({ kind: "env", name, isRequired: false, node });
}

/** Tables of the project's own in place of the package's. */
function collectAuthConfig(c: Collector, config: ts.Expression): void {
  for (const model of MODELS) c.reach(config, ["schema", model, AUTH_TABLE + model]);
}
