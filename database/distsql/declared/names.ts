import { deriveName } from "../sql_name.ts";
import type { DeclaredSchema } from "./declared_schema.ts";

/** Whether a table, view, sequence, index or key of the schema has the name. */
export function isRelationName(state: DeclaredSchema, schema: string, name: string): boolean {
  const isThere = (object: { schema: string; name: string }): boolean =>
    object.schema === schema && object.name === name;
  for (const map of [state.tables, state.views, state.sequences]) {
    for (const object of map.values()) if (isThere(object)) return true;
  }
  for (const table of state.tables.values()) {
    if (table.schema !== schema) continue;
    if (table.indexes.some((index) => index.name === name)) return true;
    const hasKey = table.constraints.some((one) =>
      one.name === name && one.kind !== "check" && one.kind !== "foreign_key"
    );
    if (hasKey) return true;
  }
  return false;
}

/** Whether a constraint of a table in the schema has the name. */
export function isConstraintName(state: DeclaredSchema, schema: string, name: string): boolean {
  for (const table of state.tables.values()) {
    if (table.schema === schema && table.constraints.some((one) => one.name === name)) return true;
  }
  return false;
}

/** The parts that PostgreSQL generates a name from. */
export interface NameParts {
  /** The schema in which the name has to be free. */
  readonly schema: string;
  /** The table. */
  readonly table: string;
  /** The columns, or what stands for expressions. */
  readonly columns: readonly string[];
  /** The last part, such as `key`. */
  readonly label: string;
}

function chooseName({ table, columns, label }: NameParts, isTaken: (name: string) => boolean): string {
  const joined = columns.join("_");
  let name = deriveName(table, joined, label);
  for (let pass = 1; isTaken(name); pass++) name = deriveName(table, joined, `${label}${pass}`);
  return name;
}

/** Generates a name for a sequence or an index (PostgreSQL 15, ChooseRelationName in indexcmds.c). */
export function chooseRelationName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isRelationName(state, parts.schema, name));
}

/** Generates a name for a unique constraint or a primary key, whose index has the same name. */
export function chooseKeyName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(
    parts,
    (name) => isRelationName(state, parts.schema, name) || isConstraintName(state, parts.schema, name),
  );
}

/** Generates a name for a CHECK or a foreign key (PostgreSQL 15, ChooseConstraintName in pg_constraint.c). */
export function chooseConstraintName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isConstraintName(state, parts.schema, name));
}
