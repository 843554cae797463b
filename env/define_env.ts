import { ConfigurationError } from "../errors/http_errors.ts";
import { environment, type EnvSource, readEnv } from "./get_env.ts";
import { sourceState } from "./source_state.ts";
import type { StandardSchema } from "./standard_schema.ts";
import { getStandIn, record } from "./recording.ts";

/** Description of one variable. */
export interface EnvVariable<T = string> {
  /** A schema of any library that follows Standard Schema (zod, valibot, arktype): it parses the text. */
  schema?: StandardSchema<T>;
  /** The value when the variable is unset. Without one the variable is required. */
  default?: T;
  /** True if the variable may be unset; its value is then `undefined`. */
  optional?: boolean;
  /** True if the value must not be printed, logged or serialised. */
  secret?: boolean;
}

/** Variables by name: a description, or a schema alone. */
export type EnvDefinition = Readonly<
  Record<string, EnvVariable<unknown> | StandardSchema<unknown>>
>;

/** The type of the value of one variable. */
export type EnvValue<V> = V extends StandardSchema<infer T> ? T
  : V extends { schema: StandardSchema<infer T> } ? T
  : string;

/** The values of a definition. */
export type Env<D extends EnvDefinition> = {
  readonly [K in keyof D]: D[K] extends { optional: true } ? EnvValue<D[K]> | undefined
    : EnvValue<D[K]>;
};

/** Options of {@link defineEnv}. */
export interface DefineEnvOptions {
  /**
   * Source of the variables.
   * @default process.env
   */
  source?: EnvSource;
}

const REDACTED = "[REDACTED]";

/**
 * Declares the typed environment of a program. The first access reads all variables and reports all errors together.
 * They are read again after `loadSources` has read a value that was rotated.
 * Printing or serialising the result shows `[REDACTED]` for secrets.
 *
 * @param definition Variables by name.
 * @param options Where to read from.
 * @returns An object with a value for each variable.
 * @throws {ConfigurationError} At the first access, if variables are missing or invalid. Names each, never a value.
 *
 * @example
 * ```ts
 * import { defineEnv } from "@trellis/fn/env";
 * import * as z from "zod";
 *
 * const env = defineEnv({
 *   PORT: { schema: z.coerce.number().int(), default: 8080 },
 *   API_KEY: { secret: true },
 * }, { source: { API_KEY: "k-123" } });
 *
 * console.log(env.PORT + 1, JSON.stringify(env)); // 8081 {"PORT":8080,"API_KEY":"[REDACTED]"}
 * ```
 */
export function defineEnv<const D extends EnvDefinition>(
  definition: D,
  options: DefineEnvOptions = {},
): Env<D> {
  let values: Record<string, unknown> | undefined;
  let version = 0;
  function read(): Record<string, unknown> {
    if (values === undefined || version !== sourceState.version) {
      ({ version } = sourceState);
      values = parseEnv(definition, options.source);
    }
    return values;
  }
  function printable(): Record<string, unknown> {
    const parsed = read();
    return Object.fromEntries(
      Object.keys(definition).map((
        name,
      ) => [name, isSecret(definition[name]) ? REDACTED : parsed[name]]),
    );
  }
  const env = Object.create(null, {
    toJSON: { value: printable },
    [Symbol.for("nodejs.util.inspect.custom")]: { value: printable },
    [Symbol.for("Deno.customInspect")]: {
      value: (inspect: (value: unknown) => string) => inspect(printable()),
    },
  });
  for (const name of Object.keys(definition)) {
    Object.defineProperty(env, name, { enumerable: true, get: () => read()[name] });
  }
  return record("defineEnv", [definition, options], Object.freeze(env) as Env<D>);
}

function isSchema(
  variable: EnvVariable<unknown> | StandardSchema<unknown>,
): variable is StandardSchema<unknown> {
  return "~standard" in variable;
}

function isSecret(variable: EnvVariable<unknown> | StandardSchema<unknown> | undefined): boolean {
  return variable !== undefined && !isSchema(variable) && variable.secret === true;
}

function parseEnv(
  definition: EnvDefinition,
  given: EnvSource | undefined,
): Record<string, unknown> {
  const source = given ?? environment();
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  function addMissing(name: string): void {
    const standIn = given === undefined ? getStandIn(name, true) : undefined;
    if (standIn === undefined) problems.push(`${name} is not set`);
    else values[name] = standIn;
  }
  for (const [name, entry] of Object.entries(definition)) {
    const variable: EnvVariable<unknown> = isSchema(entry) ? { schema: entry } : entry;
    const text = readEnv(source, name) ??
      (given === undefined ? getStandIn(name, false) : undefined);
    if (text === undefined && variable.default !== undefined) values[name] = variable.default;
    else if (text === undefined && variable.optional) values[name] = undefined;
    else if (variable.schema === undefined) {
      if (text === undefined) addMissing(name);
      else values[name] = text;
    } else {
      // a schema also receives an unset variable: it may have a default or be optional
      const result = variable.schema["~standard"].validate(text);
      if (result instanceof Promise) {
        problems.push(`${name} has a schema that validates asynchronously: use a synchronous one`);
      } else if (result.issues === undefined) values[name] = result.value;
      else if (text === undefined) addMissing(name);
      else {problems.push(`${name} ${
          variable.secret ? "is not valid" : result.issues.map((i) => i.message).join(", ")
        }`);}
    }
  }
  if (problems.length > 0) {
    throw new ConfigurationError(`The environment does not fit: ${problems.join("; ")}`, {
      details: { problems },
    });
  }
  return values;
}
