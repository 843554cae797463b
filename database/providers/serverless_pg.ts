import { fullJitterDelay } from "../../core/mod.ts";
import { causeChain, ConfigurationError, sqlStateOf } from "../../errors/mod.ts";
import type { DatabaseConfig } from "../config.ts";
import { openPostgres, readTls } from "./postgres_js.ts";
import type { ConnectRetry } from "./postgres_js_driver.ts";
import type { Connection, Invalidate } from "./provider.ts";

/** SQLSTATE of a server that is starting up, shutting down or recovering (PostgreSQL 18, appendix A). */
const CANNOT_CONNECT_NOW = "57P03";

/**
 * Opens Aurora PostgreSQL Serverless: by the Data API (`rds-data://`) or by a direct connection (`postgres://`).
 *
 * @param config The database.
 * @param invalidate Told of connections that end.
 * @returns The connection.
 */
export async function openServerlessPg(config: DatabaseConfig, invalidate: Invalidate): Promise<Connection> {
  const { connectionString = "" } = config;
  if (connectionString.startsWith("rds-data://")) {
    return await (await import("./data_api.ts")).openDataApi(config);
  }
  return await openPostgres(config, readUrl(connectionString, config.ca), invalidate, {
    connectRetry: connectRetry(config),
  });
}

/** A server that starts, or recovers after a crash, refuses connections; nothing has been sent then. */
function connectRetry(config: DatabaseConfig): ConnectRetry {
  const patienceMs = (config.connectTimeout ?? 10) * 1000;
  return function delayBeforeRetry(error, attempt, elapsedMs): number | undefined {
    if (!causeChain(error).some((link) => sqlStateOf(link) === CANNOT_CONNECT_NOW)) return undefined;
    const delayMs = fullJitterDelay(attempt, { baseDelayMs: 50, maxDelayMs: 500 });
    return elapsedMs + delayMs < patienceMs ? delayMs : undefined;
  };
}

function readUrl(text: string, ca: string | undefined): Parameters<typeof openPostgres>[1] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // the URL parser's error would show the text, and with it the password
    throw new ConfigurationError(
      "DatabaseConfig.connectionString is no URL: percent-encode what stands in user and password",
    );
  }
  const ssl = readTls(url, ca);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 5432 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)) || "postgres",
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    ssl,
    connection: url.search === "" ? {} : Object.fromEntries(url.searchParams),
  };
}
