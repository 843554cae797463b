import type { DatabaseSettings } from "../config/config.ts";
import type { Connection, Invalidate } from "./provider.ts";

/**
 * Opens a connection. Each provider's file, and with it its driver, is loaded on first use. `trellis
 * build` replaces this file: a bundle contains only the providers that its function uses.
 *
 * @param config The database.
 * @param invalidate Called when a connection ends.
 */
export async function openProvider(
  config: DatabaseSettings,
  invalidate: Invalidate,
): Promise<Connection> {
  switch (config.provider) {
    case "postgres":
      return (await import("./postgres.ts")).openPostgresServer(config, invalidate);
    case "distsql":
      return (await import("./distsql.ts")).openDistSql(config, invalidate);
    case "serverless-pg":
      return (await import("./serverless_pg.ts")).openServerlessPg(config, invalidate);
    case "branching-pg":
      return (await import("./branching_pg.ts")).openBranchingPg(config, invalidate);
    case "embedded-pg":
      return (await import("./embedded_pg.ts")).openEmbeddedPg(config);
  }
}
