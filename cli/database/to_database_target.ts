import type {
  DatabaseConfig,
  DatabaseProvider,
  DatabaseSettings,
} from "../../database/config/config.ts";
import { formatPostgresParts, type PostgresParts, withoutAddress } from "./postgres_parts.ts";
import { relative, resolve } from "node:path";

/** A database that a command uses. */
export interface DatabaseTarget {
  /** Connection settings. They may contain a password and must not be printed. */
  readonly config: DatabaseConfig;
  /** A printable name: `serverless-pg postgres://app@localhost:5432/notes`. */
  readonly label: string;
}

/** A database that options, environment or settings select. */
export interface SelectedDatabase {
  provider: DatabaseProvider;
  url?: string;
  endpoint?: string;
  folder?: string;
}

/** Settings that go with any address. */
interface TargetSettings {
  ca: string | undefined;
  region: string | undefined;
  username: string | undefined;
  root: string;
  statementTimeoutSeconds: number | undefined;
  parts: PostgresParts;
}

/**
 * Converts a selected database to the settings of its connection.
 *
 * @param settings Settings that go with any address.
 */
export function toDatabaseTarget(
  selected: SelectedDatabase,
  settings: TargetSettings,
): DatabaseTarget {
  const { config, label } = describeTarget(selected, settings);
  // the provider checks its settings before it connects
  return { config: config as DatabaseConfig, label };
}

interface DescribedTarget {
  readonly config: DatabaseSettings;
  readonly label: string;
}

function describeTarget(
  { provider, url, endpoint, folder }: SelectedDatabase,
  settings: TargetSettings,
): DescribedTarget {
  const { ca, region, username, root, statementTimeoutSeconds } = settings;
  // instrument: metrics would be written to standard output, which belongs to the command; prepare:
  // each statement runs only once
  const common = {
    provider,
    instrument: false,
    prepare: false,
    ...(ca === undefined ? {} : { ca }),
    ...(statementTimeoutSeconds === undefined ? {} : { statementTimeoutSeconds }),
  } as const;
  if (provider === "distsql") {
    const role = username === undefined || username === "admin" ? { isAdmin: true } : { username };
    const config: DatabaseSettings = {
      ...common,
      endpoint,
      ...(region === undefined ? {} : { region }),
      ...role,
    };
    return { config, label: `distsql ${username ?? "admin"}@${endpoint}` };
  }
  if (provider === "embedded-pg") {
    const location = folder ?? url!;
    const isUrl = /^[a-z][a-z0-9+.-]+:\/\//i.test(location);
    const connectionString = isUrl ? location : resolve(root, location);
    return {
      config: { ...common, connectionString },
      label: `embedded-pg ${isUrl ? location : relative(root, connectionString) || "."}`,
    };
  }
  if (provider === "postgres") return toPostgresTarget(common, url, settings);
  return {
    config: { ...common, connectionString: url },
    label: `${provider} ${redactUrl(url!)}`,
  };
}

function toPostgresTarget(
  common: DatabaseSettings,
  url: string | undefined,
  { parts, region, username }: TargetSettings,
): DescribedTarget {
  const { provider } = common;
  const signing = parts.iamAuth && region !== undefined ? { region } : {};
  if (url !== undefined) {
    return {
      config: { ...common, ...withoutAddress(parts), ...signing, connectionString: url },
      label: `${provider} ${redactUrl(url)}`,
    };
  }
  const own = username === undefined ? parts : { ...parts, username };
  return {
    config: { ...common, ...own, ...signing },
    label: `${provider} ${formatPostgresParts(own)}`,
  };
}

/**
 * Removes secrets from a connection string; user, host and database are kept.
 *
 * @returns A printable string.
 */
export function redactUrl(url: string): string {
  if (url.startsWith("rds-data://")) {
    const [cluster, query = ""] = url.split("?");
    const database = new URLSearchParams(query).get("database");
    return database === null ? cluster : `${cluster} ${database}`;
  }
  try {
    const { protocol, username, host, pathname } = new URL(url);
    return `${protocol}//${
      username === "" ? "" : `${decodeURIComponent(username)}@`
    }${host}${pathname}`;
  } catch {
    return "an invalid connection string";
  }
}
