import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { DATABASE_PROVIDERS, type DatabaseProvider } from "../../database/config/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { type DatabaseSide, getEnvironmentPrefix } from "./database_options.ts";
import { readPostgresParts } from "./postgres_parts.ts";
import {
  type DatabaseTarget,
  type SelectedDatabase,
  toDatabaseTarget,
} from "./to_database_target.ts";

/** Sources of the connection settings. */
export interface TargetSources {
  /** The options of the command. */
  readonly options: CommandContext["options"];
  /** The settings of the project; omitted for the target of a clone. */
  readonly settings?: ResolvedConfig["database"];
  /** The environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the project. */
  readonly root: string;
}

/**
 * Finds the database in options, environment and settings, in this order. Opens no connection.
 *
 * @returns The target, or `undefined` if no database is configured.
 * @throws {UsageError} If options contradict each other.
 * @throws {ConfigurationError} If a setting is missing or invalid.
 */
export function findDatabase(
  sources: TargetSources,
  side: DatabaseSide = "",
): DatabaseTarget | undefined {
  const { options, settings, env, root } = sources;
  const flag = (name: string) => options[`${side}${name}`] as string | undefined;
  const variable = (name: string) => env[`${getEnvironmentPrefix(side)}${name}`] || undefined;
  const provider = readProvider(flag("provider"), `--${side}provider`) ??
    readProvider(variable("PROVIDER"), `${getEnvironmentPrefix(side)}PROVIDER`) ??
    settings?.provider;
  const isByFlag = ["url-env", "endpoint", "folder"].some((name) => flag(name) !== undefined);
  const named = isByFlag
    ? readFlags(sources, side, flag("provider") === undefined ? undefined : provider)
    : readEnvironment(sources, side, provider);
  if (named === undefined) return undefined;
  const caFile = flag("ca-file") ?? variable("CA_FILE");
  const ca = caFile === undefined ? undefined : readCa(resolve(root, caFile), caFile);
  const region = flag("region") ?? variable("REGION") ?? settings?.region ??
    (named.endpoint !== undefined && !/\.on\.aws(?::\d+)?$/.test(named.endpoint)
      ? env.AWS_REGION
      : undefined);
  const username = flag("username");
  const { statementTimeoutSeconds } = settings ?? {};
  const parts = readPostgresParts(env, getEnvironmentPrefix(side));
  return toDatabaseTarget(named, { ca, region, username, root, statementTimeoutSeconds, parts });
}

/**
 * Returns the configured database, like {@link findDatabase}.
 *
 * @throws {ConfigurationError} If no database is configured; the message lists the options.
 */
export function requireDatabase(sources: TargetSources, side: DatabaseSide = ""): DatabaseTarget {
  const found = findDatabase(sources, side);
  if (found !== undefined) return found;
  const which = side === "to-" ? "target" : side === "from-" ? "source" : "database";
  const url = side === "to-" ? "TARGET_DATABASE_URL" : sources.settings?.urlEnv ?? "DATABASE_URL";
  throw new ConfigurationError(
    `No ${which} is configured: set ${url} to a connection ` +
      `string, or use --${side}url-env <variable>, ` +
      `--${side}endpoint <host> (Aurora DSQL) or --${side}folder <folder> (embedded)`,
  );
}

function readProvider(value: string | undefined, name: string): DatabaseProvider | undefined {
  if (value === undefined || DATABASE_PROVIDERS.includes(value as DatabaseProvider)) {
    return value as DatabaseProvider | undefined;
  }
  throw new UsageError(
    `${name} must be one of ${DATABASE_PROVIDERS.join(", ")}, got ${JSON.stringify(value)}`,
  );
}

function readFlags(
  { options, env }: TargetSources,
  side: DatabaseSide,
  provider?: DatabaseProvider,
): SelectedDatabase {
  const [urlEnv, endpoint, folder] = ["url-env", "endpoint", "folder"].map((name) =>
    options[`${side}${name}`] as string | undefined
  );
  const given = [urlEnv && "url-env", endpoint && "endpoint", folder && "folder"].filter(Boolean);
  if (given.length !== 1) {
    throw new UsageError(
      `Use only one of ${
        given.map((name) => `--${side}${name}`).join(" and ")
      }: each selects a database`,
    );
  }
  const implied = endpoint !== undefined
    ? "distsql"
    : folder !== undefined
    ? "embedded-pg"
    : undefined;
  if (implied !== undefined && provider !== undefined && provider !== implied) {
    throw new UsageError(
      `--${side}${given[0]} requires the provider ${implied}, but --${side}provider is ${provider}`,
    );
  }
  if (urlEnv === undefined) return { provider: implied!, endpoint, folder };
  if (/[:/@]/.test(urlEnv)) {
    throw new UsageError(
      `--${side}url-env expects the name of an environment variable, ` +
        `such as PROD_DATABASE_URL: a connection string on the ` +
        "command line would be stored in the shell history",
    );
  }
  const url = env[urlEnv];
  if (!url) {
    throw new ConfigurationError(
      `The environment variable ${urlEnv} (--${side}url-env) is not set`,
    );
  }
  return fromUrl(url, urlEnv, provider);
}

function readEnvironment(
  { env, settings }: TargetSources,
  side: DatabaseSide,
  provider?: DatabaseProvider,
): SelectedDatabase | undefined {
  const start = getEnvironmentPrefix(side);
  const urlName = side === "to-" ? `${start}URL` : settings?.urlEnv ?? `${start}URL`;
  const url = env[urlName] || undefined;
  const endpoint = env[`${start}ENDPOINT`] || settings?.endpoint;
  const folder = settings?.folder;
  const { host } = readPostgresParts(env, start);
  const found = { [urlName]: url, "an endpoint": endpoint, [`${start}HOST`]: host };
  if (provider === undefined) assertOne(found, start, side);
  const isOr = (one: DatabaseProvider) => provider === undefined || provider === one;
  if (url !== undefined && provider !== "distsql") return fromUrl(url, urlName, provider);
  if (host !== undefined && isOr("postgres")) return { provider: "postgres" };
  if (endpoint !== undefined && isOr("distsql")) return { provider: "distsql", endpoint };
  if (folder !== undefined && isOr("embedded-pg")) return { provider: "embedded-pg", folder };
  if (provider === undefined) return undefined;
  const address: Record<DatabaseProvider, string> = {
    "postgres": `${urlName} to a connection string, or ${start}HOST to a host name`,
    "distsql": `${start}ENDPOINT to the cluster's host name`,
    "embedded-pg": `${urlName} to a folder`,
    "serverless-pg": `${urlName} to a connection string`,
    "branching-pg": `${urlName} to a connection string`,
  };
  throw new ConfigurationError(
    `The provider is ${provider}, but its address is missing: set ${address[provider]}`,
  );
}

/** Throws if several variables select a database. */
function assertOne(
  found: Readonly<Record<string, string | undefined>>,
  prefix: string,
  side: DatabaseSide,
): void {
  const names = Object.keys(found).filter((name) => found[name] !== undefined);
  if (names.length < 2) return;
  throw new ConfigurationError(
    `${names.join(" and ")} both select a database: set ${prefix}PROVIDER or --${side}provider`,
  );
}

function fromUrl(
  url: string,
  urlName: string,
  provider: DatabaseProvider | undefined,
): SelectedDatabase {
  return { provider: provider ?? getProvider(url, urlName), url };
}

function getProvider(url: string, urlName: string): DatabaseProvider {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1].toLowerCase();
  if (scheme === "rds-data") return "serverless-pg";
  if (scheme === "postgres" || scheme === "postgresql") {
    const host = url.split(/[?#]/, 1)[0].split("@").at(-1)!;
    return /\.neon\.tech(?:[:/]|$)/i.test(host) ? "branching-pg" : "postgres";
  }
  if (
    scheme === "memory" || scheme === "file" ||
    scheme === undefined && /^[./~\\]|^[a-z]:\\/i.test(url)
  ) {
    return "embedded-pg";
  }
  throw new ConfigurationError(
    `${urlName} is neither a postgres://, rds-data:// or ` +
      `memory:// URL nor a path that begins with . or /: ` +
      "use --provider if this is intended",
  );
}

function readCa(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigurationError(
      `${name} (certificate authorities) cannot be read: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}
