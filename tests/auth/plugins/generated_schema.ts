import { pathToFileURL } from "node:url";
import { join } from "node:path";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { describeAuthTables } from "../../../auth/accounts/describe_tables.ts";
import { type AuthTable, toAuthTables } from "../../../cli/auth_schema/auth_table.ts";
import { planMigration } from "../../../cli/auth_schema/plan_migration.ts";
import { renderFile } from "../../../cli/auth_schema/render_tables.ts";

/** What `trellis generate auth-schema` writes for a configuration in an empty project. */
export interface GeneratedSchema {
  readonly tables: readonly AuthTable[];
  /** The tables of the file, for `AuthConfig.schema`. */
  readonly authSchema: Record<string, unknown>;
  /** The statements of the migration. */
  readonly statements: readonly string[];
}

/** Generates the tables of a configuration, and loads them from the written file. */
export async function generateSchema(
  config: Omit<AuthConfig, "secret" | "baseURL">,
): Promise<GeneratedSchema> {
  const tables = toAuthTables(
    await describeAuthTables({ ...config, secret: "", baseURL: "" }),
    config.schema,
  );
  const folder = await Deno.makeTempDir({ prefix: "trellis-auth-schema-" });
  try {
    const file = join(folder, "auth_schema.ts");
    const own = new URL("../../../auth/schema.ts", import.meta.url).href;
    await Deno.writeTextFile(file, renderFile(tables).replace("@trellis/fn/auth/schema", own));
    const { authSchema } = await import(pathToFileURL(file).href);
    return { tables, authSchema, statements: planMigration(tables, []).statements };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
