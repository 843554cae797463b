import { ConfigurationError } from "../errors/http_errors.ts";
import { runtimeProcess } from "./builtin_module.ts";
import { getStandIn } from "./recording.ts";

/** Source of variables, by default `process.env`. */
export type EnvSource = Readonly<Record<string, string | undefined>>;

/** Returns the environment of this process. */
export function environment(): EnvSource {
  return runtimeProcess?.env ?? {};
}

/**
 * Returns the value of an environment variable, or the fallback. An empty value counts as unset, because Terraform and
 * CI systems set variables without a value to the empty string.
 *
 * @param name The variable's name.
 * @param fallback The value if it is unset.
 * @returns The unchanged value, the fallback, or `undefined`.
 *
 * @example
 * ```ts
 * import { getOptionalEnv } from "@trellis/fn/env";
 *
 * console.log(getOptionalEnv("STAGE_OF_THIS_EXAMPLE", "dev")); // dev
 * ```
 */
export function getOptionalEnv(name: string, fallback: string): string;
export function getOptionalEnv(name: string, fallback?: string): string | undefined;
export function getOptionalEnv(name: string, fallback?: string): string | undefined {
  return readEnv(environment(), name) ?? getStandIn(name, false) ?? fallback;
}

/**
 * Returns the value of a required environment variable.
 *
 * @param name The variable's name.
 * @returns The unchanged value, never empty.
 * @throws {ConfigurationError} When it is unset or empty; the message names the variable.
 *
 * @example
 * ```ts
 * import { getRequiredEnv } from "@trellis/fn/env";
 *
 * const path = getRequiredEnv("PATH");
 * console.log(path.length > 0); // true
 * ```
 */
export function getRequiredEnv(name: string): string {
  const value = readEnv(environment(), name) ?? getStandIn(name, true);
  if (value === undefined) {
    throw new ConfigurationError(
      `The environment variable ${name} is not set: set it to a value that is not empty`,
    );
  }
  return value;
}

/** Returns one variable of a source, or `undefined` if it is unset, empty or not readable. */
export function readEnv(source: EnvSource, name: string): string | undefined {
  try {
    return source[name] || undefined;
  } catch {
    return undefined; // Deno without --allow-env for this variable
  }
}
