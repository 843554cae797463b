/**
 * Environment variables: read one, require one, or declare all that a program needs, with types and one report of all
 * errors.
 *
 * @example
 * ```ts
 * import { getOptionalEnv } from "@trellis/fn/env";
 *
 * console.log(getOptionalEnv("LOG_LEVEL_OF_THIS_EXAMPLE", "INFO")); // INFO
 * ```
 *
 * @module
 */
export {
  defineEnv,
  type DefineEnvOptions,
  type Env,
  type EnvDefinition,
  type EnvValue,
  type EnvVariable,
} from "./define_env.ts";
export { type EnvSource, getOptionalEnv, getRequiredEnv } from "./get_env.ts";
export type { StandardIssue, StandardResult, StandardSchema } from "./standard_schema.ts";
