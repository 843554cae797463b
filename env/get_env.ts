import { ConfigurationError } from "../errors/http_errors.ts";
import { runtimeProcess } from "./node_process.ts";

/** Where variables are read from: `process.env` unless something else is handed in. */
export type EnvSource = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export function environment(): EnvSource {
  return runtimeProcess?.env ?? {};
}

/**
 * The value of an environment variable, or the fallback. An empty value counts as unset: Terraform and CI systems
 * set a variable that has no value to the empty string.
 *
 * @param name The variable's name.
 * @param fallback What to give when it is unset.
 * @returns The value as it stands, the fallback, or `undefined`.
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
  return readEnv(environment(), name) ?? fallback;
}

/**
 * The value of an environment variable that must be set.
 *
 * @param name The variable's name.
 * @returns The value as it stands, never empty.
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
  const value = readEnv(environment(), name);
  if (value === undefined) {
    throw new ConfigurationError(
      `The environment variable ${name} is not set: set it to a value that is not empty`,
    );
  }
  return value;
}

/** One variable of a source, `undefined` when unset, empty, or when the runtime does not let us read it. */
export function readEnv(source: EnvSource, name: string): string | undefined {
  try {
    return source[name] || undefined;
  } catch {
    return undefined; // Deno without --allow-env for this variable
  }
}
