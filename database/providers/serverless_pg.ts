import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config/config.ts";
import { createConnectRetry } from "./connect_retry.ts";
import { loadDataApi } from "./load_data_api.ts";
import { openPostgres, readTls } from "./postgres_js.ts";
import { isPooled } from "./postgres_pooler.ts";
import type { Connection, Invalidate } from "./provider.ts";

/**
 * Opens Aurora PostgreSQL Serverless: through the Data API (`rds-data://`) or a direct connection
 * (`postgres://`).
 *
 * @param config The database.
 * @param invalidate Called when a connection ends.
 * @returns The connection.
 */
export async function openServerlessPg(
  config: DatabaseSettings,
  invalidate: Invalidate,
): Promise<Connection> {
  const { connectionString = "" } = config;
  if (connectionString.startsWith("rds-data://")) {
    return await (await loadDataApi()).openDataApi(config);
  }
  return await openPostgres(config, readUrl(connectionString, config.ca), invalidate, {
    connectRetry: createConnectRetry(config),
    isPooled,
  });
}

function readUrl(text: string, ca: string | undefined): Parameters<typeof openPostgres>[1] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // the URL parser's error would show the text, and with it the password
    throw new ConfigurationError(
      "DatabaseConfig.connectionString is not a valid URL: percent-encode special characters " +
        "in user and password",
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
