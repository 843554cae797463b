import type { DatabaseSettings } from "../config/config.ts";
import { loadDataApi } from "./load_data_api.ts";
import { openPostgresServer } from "./postgres.ts";
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
  if (config.connectionString?.startsWith("rds-data://")) {
    return await (await loadDataApi()).openDataApi(config);
  }
  return await openPostgresServer(config, invalidate);
}
