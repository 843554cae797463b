import type { PgTable } from "drizzle-orm/pg-core";
import { addKnownNames } from "../../errors/known_names.ts";
import { getColumnNames, getTableNames } from "../session/drizzle_table.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  DatabaseOperation,
  type TableOperation,
  type TablePermission,
} from "./table_permission.ts";

/** Table of a query with its operations. */
export interface QueryTable {
  /** A drizzle table, or a table's name in the database. */
  table: PgTable | string;
  /** Operations of the query on the table. */
  operations: readonly TableOperation[];
}

const OPERATIONS: ReadonlySet<string> = new Set(Object.values(DatabaseOperation));

/**
 * Checks declared tables, and registers their names for error messages.
 *
 * @param tables The declaration.
 * @throws {ConfigurationError} If the declaration is invalid.
 */
export function checkTables(tables: readonly QueryTable[]): TablePermission[] {
  if (!Array.isArray(tables)) {
    throw new ConfigurationError("Tables must be declared as a list of { table, operations }");
  }
  return tables.map(({ table: declared, operations }: QueryTable) => {
    const table = typeof declared === "string" ? declared : getName(declared);
    if (table.trim() === "") {
      throw new ConfigurationError(`A declared table needs a name, got ${JSON.stringify(table)}`);
    }
    const wrong = Array.isArray(operations)
      ? operations.find((operation) => !OPERATIONS.has(operation))
      : "none";
    if (wrong !== undefined || operations.length === 0) {
      throw new ConfigurationError(
        `The operations of table ${table} must be from ${[...OPERATIONS].join(", ")}, ` +
          `got ${JSON.stringify(operations)}`,
      );
    }
    declaredTables.add(declared);
    return { table, operations: [...operations] as DatabaseOperation[] };
  });
}

function getName(table: PgTable): string {
  const { name, schema } = getTableNames(table);
  return schema === undefined ? name : `${schema}.${name}`;
}

/** Tables of declared queries, whose names may appear in error messages. */
const declaredTables: Set<string | PgTable> = new Set();
addKnownNames(() => [...declaredTables].flatMap(listNames));

/** Returns the names of a table and its columns. */
function listNames(table: string | PgTable): string[] {
  if (typeof table === "string") return table.split(".");
  return [getTableNames(table).name, ...getColumnNames(table)];
}
