import { MAX_NAME_BYTES } from "../../sql/sql_name.ts";
import { hasIndex } from "../schema/declared_schema.ts";
import { formatForeignKey, parseForeignKey, referencesItself } from "../schema/foreign_key.ts";
import { temporaryName } from "./temporary_name.ts";
import type { TableColumn, TableConstraint, TableSchema } from "../schema/table_schema.ts";
import { qualify, quoteName } from "../../sql/quote.ts";

/**
 * Returns the keys that CREATE TABLE would omit because another key has the same columns.
 * PostgreSQL keeps the primary key, else the first (transformIndexConstraints in parse_utilcmd.c).
 */
export function repeatedKeys(constraints: readonly TableConstraint[]): TableConstraint[] {
  const keys = constraints.filter(({ type }) => type === "primary_key" || type === "unique");
  const ordered = [...keys].sort((a, b) =>
    Number(b.type === "primary_key") - Number(a.type === "primary_key")
  );
  return ordered.filter((one, place) =>
    ordered.findIndex((other) => JSON.stringify(other.columns) === JSON.stringify(one.columns)) <
      place
  );
}

/** Returns the name of a constraint while its table has a temporary name. */
export function constraintName(constraint: TableConstraint, isRenamed: boolean): string {
  return isRenamed && hasIndex(constraint.type)
    ? temporaryName(constraint.name, "new")
    : constraint.name;
}

/**
 * Returns PostgreSQL 18's name for the NOT NULL constraint of a column; `undefined` if it would be
 * truncated. Without an explicit name, the constraint of an added column would keep the name of the
 * work table.
 */
function notNullNameIn(table: string, column: string): string | undefined {
  const name = `${table}_${column}_not_null`;
  return new TextEncoder().encode(name).length <= MAX_NAME_BYTES ? name : undefined;
}

function columnSql(column: TableColumn, table: string | undefined): string {
  const { name, type, collation, generated, identity, notNull } = column;
  const notNullName = column.notNullName ??
    (table === undefined ? undefined : notNullNameIn(table, name));
  const parts = [quoteName(name), type];
  if (collation !== undefined) parts.push(`COLLATE ${collation}`);
  if (generated !== undefined) {
    parts.push(
      `GENERATED ALWAYS AS (${generated.expression}) ${generated.stored ? "STORED" : "VIRTUAL"}`,
    );
  } else if (identity !== undefined) {
    const options = identity.options === "" ? "" : ` (${identity.options})`;
    parts.push(`GENERATED ${identity.always ? "ALWAYS" : "BY DEFAULT"} AS IDENTITY${options}`);
  } else if (column.default !== undefined) parts.push(`DEFAULT ${column.default}`);
  if (notNull) {
    parts.push(
      notNullName === undefined ? "NOT NULL" : `CONSTRAINT ${quoteName(notNullName)} NOT NULL`,
    );
  }
  return parts.join(" ");
}

/**
 * Returns the definition of a constraint. A reference to its own table uses the table's current
 * name.
 */
export function constraintDefinition(
  constraint: TableConstraint,
  schema: TableSchema,
  table: string,
): string {
  if (constraint.type !== "foreign_key") return constraint.definition;
  const parts = parseForeignKey(constraint.definition);
  return referencesItself(parts, schema)
    ? formatForeignKey({ ...parts, schema: schema.schema, table })
    : constraint.definition;
}

/**
 * Returns the CREATE TABLE statement of a table under any name: columns, defaults, identities and
 * constraints. Indexes, comments, grants and the owner need separate statements, which the plan of
 * a recreation contains.
 *
 * If the name differs from the schema's, constraints with an index are renamed too, since both
 * tables may exist at the same time.
 *
 * @param name Name of the table in the catalog, without quotes.
 * @param schema The table.
 * @returns One statement for PostgreSQL.
 *
 * @example
 * ```ts
 * import { buildCreateTableSql } from "@trellis/fn/database";
 *
 * const columns = [{ name: "id", type: "uuid", notNull: true, default: "gen_random_uuid()" }];
 * console.log(buildCreateTableSql("notes", { name: "notes", columns, constraints: [], indexes: [] }));
 * // CREATE TABLE "notes" ("id" uuid DEFAULT gen_random_uuid() NOT NULL)
 * ```
 */
export function buildCreateTableSql(name: string, schema: TableSchema): string {
  const isRenamed = name !== schema.name;
  const constraints = schema.constraints.map((constraint) => {
    const definition = constraintDefinition(constraint, schema, name);
    return `CONSTRAINT ${quoteName(constraintName(constraint, isRenamed))} ${definition}`;
  });
  // before PostgreSQL 18 NOT NULL constraints have no names, so no column has one
  const namesNotNull = isRenamed &&
    schema.columns.some((column) => column.notNullName !== undefined);
  const columns = schema.columns.map((column) =>
    columnSql(column, namesNotNull ? schema.name : undefined)
  );
  const elements = [...columns, ...constraints].join(", ");
  const options = schema.options === undefined || schema.options.length === 0
    ? ""
    : ` WITH (${schema.options.join(", ")})`;
  return `CREATE ${schema.unlogged === true ? "UNLOGGED " : ""}TABLE ${
    qualify(schema.schema, name)
  } (${elements})${options}`;
}
