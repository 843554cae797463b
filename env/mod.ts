/**
 * Environment variables: read one, require one, or declare all that a program needs, with types and one report of all
 * errors. `loadSources` and `secret` read values from AWS Secrets Manager and the SSM Parameter Store.
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
export { type Secret, secret, type SecretOptions, type SecretReadOptions } from "./secret.ts";
export { loadSources, type LoadSourcesOptions } from "./sources.ts";
export { type EnvSource, getOptionalEnv, getRequiredEnv } from "./get_env.ts";
export type { StandardIssue, StandardResult, StandardSchema } from "./standard_schema.ts";
