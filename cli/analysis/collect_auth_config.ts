import { isLoopbackUrl } from "../../auth/config/loopback.ts";
import type { Collector } from "./collector.ts";
import { AUTH_EXTENSION, AUTH_FIELDS, AUTH_SCHEMA, AUTH_TABLE } from "./effects.ts";
import type { ts } from "./typescript.ts";

/** The tables of better-auth by the keys of `AuthConfig.schema`. */
const MODELS = ["user", "session", "account", "verification"] as const;

/**
 * Collects what a configuration of sign-in changes: tables and columns of the project, plugins, and
 * limits.
 */
export function collectAuthConfig(c: Collector, config: ts.Expression): void {
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

/** Options of an auth configuration whose code may do anything in each route. */
const HOOKS = ["plugins", "hooks", "databaseHooks"];

function hasHooks({ evaluator }: Collector, config: ts.Expression): boolean {
  const value = evaluator.evaluate(config);
  return HOOKS.some((name) => evaluator.getMember(value, name, config).kind !== "undefined");
}

/** Checks whether the limits of a configuration may count in the database, as auth/config/resolve_config.ts does. */
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
