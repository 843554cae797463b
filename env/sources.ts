import { ConfigurationError } from "../errors/http_errors.ts";
import type { ReadValue, WantedValue } from "./aws_sources.ts";
import { IdleTimer } from "./idle_timer.ts";
import { limitRequest } from "./limit_request.ts";
import { loadAwsSources } from "./load_aws_sources.ts";
import { runtimeProcess } from "./builtin_module.ts";
import { parseSource, SOURCE_SUFFIX, type SourceReference } from "./source_reference.ts";
import { sourceState } from "./source_state.ts";

/** Options of {@link loadSources}. */
export interface LoadSourcesOptions {
  /**
   * Seconds after which a value is read again, at least 10. A value that was rotated is used after
   * this time at the latest.
   * @default 300
   */
  ttlSeconds?: number;
}

/** Time until the next attempt after a failed refresh. */
const RETRY_MS = 30_000;
/** Time between two reads that are asked for with `fresh`. */
const FRESH_MS = 10_000;
/** Longest wait for a new value where there is an earlier one. */
const REFRESH_MS = 2000;

/** A value that this process has read. */
interface Loaded {
  readonly value: string;
  /** Started by the last attempt to read it. */
  readonly age: IdleTimer;
  /** The age at which it is read again. */
  readonly ttlMs: number;
}

const loaded = new Map<string, Loaded>();
const pending = new Map<string, Promise<void>>();
let ttlMs = 300_000;

/**
 * Reads the values of all variables that have a source, and sets the variables. `AUTH_SECRET_SOURCE`
 * is the source of `AUTH_SECRET`: `secretsmanager:<name or ARN>` for AWS Secrets Manager (with
 * `#<field>` for a field of a JSON secret), or `ssm:<name or ARN>` for the SSM Parameter Store.
 * `generate infra` sets these variables.
 *
 * Call it before the module that reads the environment: with `await` at the start of the file. From
 * then on values are read again when they are older than `ttlSeconds`: before an invocation of a
 * handler of this package, and by {@link secret}. A variable that has a value already, as in local
 * development, is kept and its source is not read. Without sources nothing is loaded.
 *
 * @param options The time limit.
 * @throws {ConfigurationError} If a value cannot be read and there is no earlier one. The message
 * names the variable and the source.
 *
 * @example
 * ```ts
 * import { getOptionalEnv, loadSources } from "@trellis/fn/env";
 *
 * await loadSources();
 * console.log(getOptionalEnv("A_SECRET_OF_THIS_EXAMPLE", "none")); // none
 * ```
 */
export async function loadSources(options: LoadSourcesOptions = {}): Promise<void> {
  const { ttlSeconds = ttlMs / 1000 } = options;
  if (!(ttlSeconds >= 10 && ttlSeconds < Infinity)) {
    throw new ConfigurationError(
      `ttlSeconds of loadSources is ${ttlSeconds}: it must be a number of seconds from 10`,
    );
  }
  ttlMs = ttlSeconds * 1000;
  await load(listSources().filter(isExpired));
  sourceState.refresh ??= refreshExpired;
}

/**
 * Reads the source of one variable, if it has one and its value is missing or too old.
 *
 * @param variable The variable.
 * @param isFresh True reads it again even before the time limit, at most every ten seconds.
 * @throws {ConfigurationError} If it cannot be read and there is no earlier value.
 */
export async function loadSource(variable: string, isFresh: boolean): Promise<void> {
  const source = listSources().filter((each) => each.variable === variable);
  const age = loaded.get(variable)?.age.elapsedMs ?? Infinity;
  const isWanted = isFresh && age >= FRESH_MS;
  await load(source.filter((each) => isWanted || isExpired(each)));
}

/** Reads expired values again. Returns `undefined` if there are none, which costs no promise. */
function refreshExpired(): Promise<void> | undefined {
  for (const { age, ttlMs } of loaded.values()) {
    if (age.elapsedMs >= ttlMs) return load(listSources().filter(isExpired));
  }
  return undefined;
}

/** Lists the variables that have a source and whose value does not come from elsewhere. */
function listSources(): WantedValue[] {
  const env: Readonly<Record<string, string | undefined>> = runtimeProcess?.env ?? {};
  const found: WantedValue[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.endsWith(SOURCE_SUFFIX) || !text) continue;
    const reference: SourceReference | undefined = parseSource(name, text);
    const variable = name.slice(0, -SOURCE_SUFFIX.length);
    if (reference === undefined || variable === "") continue;
    const isGiven = Boolean(env[variable]) && env[variable] !== loaded.get(variable)?.value;
    if (!isGiven) found.push({ variable, reference });
  }
  return found;
}

function isExpired({ variable }: WantedValue): boolean {
  const known = loaded.get(variable);
  return known === undefined || known.age.elapsedMs >= known.ttlMs;
}

/**
 * Reads values. Concurrent calls share the requests. Where all have an earlier value, it waits only for a part of the
 * invocation's time: the requests continue, and the earlier values are used.
 */
async function load(wanted: readonly WantedValue[]): Promise<void> {
  const missing = wanted.filter(({ variable }) => !pending.has(variable));
  if (missing.length > 0) {
    const flight = read(missing).finally(() => {
      for (const { variable } of missing) pending.delete(variable);
    });
    for (const { variable } of missing) pending.set(variable, flight);
  }
  const flights = Promise.all(new Set(wanted.map(({ variable }) => pending.get(variable))));
  if (!wanted.every(({ variable }) => loaded.has(variable))) return void await flights;
  const limitMs = Math.min(REFRESH_MS, sourceState.remainingMs() / 2);
  const service = "The source of a value";
  await limitRequest({ service, limitMs }, () => flights).catch(() => wanted.forEach(keep));
}

/** Keeps the known value: an outage of the service must not become an outage of the function. */
function keep({ variable }: { readonly variable: string }): void {
  loaded.set(variable, {
    value: loaded.get(variable)!.value,
    age: new IdleTimer(),
    ttlMs: RETRY_MS,
  });
}

async function read(wanted: readonly WantedValue[]): Promise<void> {
  const results = await readAll(wanted);
  const errors: ConfigurationError[] = [];
  for (const result of results) {
    const { variable } = result;
    const before = loaded.get(variable);
    if ("value" in result) {
      loaded.set(variable, { value: result.value, age: new IdleTimer(), ttlMs });
      if (before?.value === result.value) continue;
      runtimeProcess!.env[variable] = result.value;
      sourceState.version++;
    } else if (before === undefined) {
      errors.push(result.error);
    } else {
      keep(result);
      runtimeProcess?.emitWarning?.(`${result.error.message}. The value read before is used`);
    }
  }
  if (errors.length > 0) {
    const messages = new Set(errors.map(({ message }) => message));
    throw new ConfigurationError([...messages].join("; "), {
      cause: errors[0],
    });
  }
}

async function readAll(wanted: readonly WantedValue[]): Promise<readonly ReadValue[]> {
  try {
    const { readAwsSources } = await loadAwsSources();
    return await readAwsSources(wanted);
  } catch (error) {
    const failure = error instanceof ConfigurationError ? error : new ConfigurationError(
      `${wanted.map(({ variable }) => variable).join(", ")} could not be read`,
      { cause: error },
    );
    return wanted.map(({ variable }) => ({ variable, error: failure }));
  }
}

/** Forgets all values that were read, for tests. */
export function resetSources(): void {
  const env: Record<string, string | undefined> = runtimeProcess?.env ?? {};
  for (const variable of loaded.keys()) delete env[variable];
  loaded.clear();
  pending.clear();
  sourceState.refresh = undefined;
  ttlMs = 300_000;
}
