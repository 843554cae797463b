import { getTableColumns, getTableName, is, Table } from "drizzle-orm";
import { existsSync, readFileSync } from "node:fs";
import { toPortablePath } from "../inside_folder.ts";
import type { AuthTable } from "./auth_table.ts";

/** Tables that other files of the project define. */
export interface ForeignTables {
  /** Their names. */
  readonly tables: ReadonlySet<string>;
  /** The columns that they lack. */
  readonly findings: readonly string[];
}

/**
 * Finds the tables in `AuthConfig.schema` that are not defined in the generated file. The project
 * maintains them and their migrations itself.
 *
 * @param file Absolute path of the generated file, which may be missing.
 * @returns The tables, and what they lack.
 */
export function findForeignTables(
  root: string,
  file: string,
  tables: readonly AuthTable[],
  schema: Readonly<Record<string, unknown>>,
): ForeignTables {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const foreign = tables.filter(({ model, name }) =>
    is(schema[model], Table) && !text.includes(`"${name}"`) && !text.includes(`'${name}'`)
  );
  const path = toPortablePath(root, file);
  return {
    tables: new Set(foreign.map(({ name }) => name)),
    findings: foreign.flatMap((table) => {
      const given = schema[table.model] as Table;
      const present = getTableColumns(given);
      const missing = table.columns.filter(({ property }) => !Object.hasOwn(present, property));
      return missing.length === 0 ? [] : [
        `${getTableName(given)} is not defined in ${path} and lacks ${
          missing.map(({ property, code }) => `${property}: ${code}`).join(", ")
        }: add ${missing.length === 1 ? "it" : "them"} there, with a migration`,
      ];
    }),
  };
}
