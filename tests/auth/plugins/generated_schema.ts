import { pathToFileURL } from "node:url";
import { join } from "node:path";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { type AuthTable, describeAuthTables } from "../../../cli/auth_schema/auth_table.ts";
import { renderFile } from "../../../cli/auth_schema/plan_auth_schema.ts";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";

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
  const tables = await describeAuthTables({ ...config, secret: "", baseURL: "" });
  const folder = await Deno.makeTempDir({ prefix: "trellis-auth-schema-" });
  try {
    const file = join(folder, "auth_schema.ts");
    const own = new URL("../../../auth/tables/schema.ts", import.meta.url).href;
    await Deno.writeTextFile(file, renderFile(tables).replace("@trellis/fn/auth/schema", own));
    const { authSchema } = await import(pathToFileURL(file).href);
    const declared = findDeclaredObjects(Object.values(authSchema));
    // the databases of the tests have the table of rate limits
    const statements = listCreateStatements(declared)
      .filter((statement) => !statement.includes('"rate_limits"'))
      .map((statement) => `${statement};`);
    return { tables, authSchema, statements };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
