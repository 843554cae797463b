import { getColumns, getDataType, isTable } from "../../database/session/drizzle_table.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type AuthSchema, COLUMN_NAMES, getSessionTables } from "./session_tables.ts";

/**
 * Checks the tables of an application.
 *
 * @param own The option `schema` of `AuthConfig`.
 * @returns The tables by model name.
 * @throws {ConfigurationError} If a table or a column is missing.
 */
export function resolveSchema(own: Record<string, unknown>): AuthSchema {
  const models = Object.keys(COLUMN_NAMES);
  if (!models.some((model) => own[model] !== undefined)) {
    throw new ConfigurationError(
      `AuthConfig.schema has none of the keys ${models.join(", ")}; ` +
        `it has ${Object.keys(own).join(", ") || "no keys"}. ` +
        "Map them to your tables: { user: users, session: sessions }",
    );
  }
  for (const [model, needed] of Object.entries(COLUMN_NAMES)) {
    if (!(model in own)) continue;
    const table: unknown = own[model];
    if (!isTable(table)) {
      throw new ConfigurationError(`AuthConfig.schema.${model} is not a drizzle table`);
    }
    const columns = getColumns(table);
    const missing = needed.filter((name) => columns[name] === undefined);
    if (missing.length > 0) {
      throw new ConfigurationError(
        `AuthConfig.schema.${model} lacks ${missing.join(", ")}: ` +
          `spread AUTH_${model.toUpperCase()}_COLUMNS into the table`,
      );
    }
  }
  for (const name of "session" in own ? ["createdAt", "updatedAt", "expiresAt"] : []) {
    if (getDataType(getColumns(own.session as object)[name]) === "date") continue;
    throw new ConfigurationError(
      `AuthConfig.schema.session.${name} must be a timestamp of drizzle's mode "date"`,
    );
  }
  return { ...own };
}

/**
 * Checks that the tables have the columns of `additionalFields`.
 *
 * @param schema The tables by model name.
 * @param model `user` or `session`.
 * @param fields The option `additionalFields` of the model.
 * @throws {ConfigurationError} If the table lacks a column.
 */
export function checkAdditionalFields(
  schema: AuthSchema,
  model: "user" | "session",
  fields: Readonly<Record<string, unknown>>,
): void {
  const columns = getColumns(getSessionTables(schema)[model]);
  const missing = Object.keys(fields).filter((name) => !Object.hasOwn(columns, name));
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `AuthConfig.${model}.additionalFields has ${missing.join(", ")}, ` +
      `but the ${model} table has no such column: add it to a table of yours and pass the table as AuthConfig.schema.${model}`,
  );
}
