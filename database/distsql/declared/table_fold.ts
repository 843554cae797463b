import type { StatementReader } from "../statement_reader.ts";
import type { DeclaredTable } from "./declared_schema.ts";
import type { PendingConstraint } from "./pending_constraint.ts";
import type { SchemaDraft } from "./schema_draft.ts";

/** CREATE TABLE or ALTER TABLE that is applied to a schema. */
export interface TableFold {
  /** Schema, which is changed. */
  readonly schema: SchemaDraft;
  /** The statement. */
  readonly reader: StatementReader;
  /** Key of the table. */
  readonly key: string;
  /** Receives the constraints, which get their names when all of them are known. */
  readonly pending: PendingConstraint[];
}

/** Returns the table in its current state. */
export function getTable({ schema, key }: TableFold): DeclaredTable {
  return schema.tables.get(key)!;
}
