import { deriveName } from "../../sql/sql_name.ts";
import { type DeclaredSchema, type DeclaredTable, getKey, hasIndex } from "./declared_schema.ts";
import { SharedMap } from "./shared_map.ts";

/** Names that a table occupies. */
interface TableNames {
  /** Names of the table, its indexes and keys. */
  readonly relations: ReadonlySet<string>;
  /** Names of its constraints. */
  readonly constraints: ReadonlySet<string>;
}

/** Cache of names by table. Tables are immutable, so their names are collected once. */
const namesOfTables: WeakMap<DeclaredTable, TableNames> = new WeakMap();

function namesOfTable(table: DeclaredTable): TableNames {
  let names = namesOfTables.get(table);
  if (names === undefined) {
    const keys = table.constraints.filter((one) => hasIndex(one.kind));
    names = {
      relations: new Set([
        table.name,
        ...table.indexes.map((one) => one.name),
        ...keys.map((one) => one.name),
      ]),
      constraints: new Set(table.constraints.map((one) => one.name)),
    };
    namesOfTables.set(table, names);
  }
  return names;
}

type Tables = DeclaredSchema["tables"];
type Kind = keyof TableNames;

/** Cache of tables by occupied name, for unchanging maps. */
const indexes: Record<Kind, WeakMap<Tables, ReadonlyMap<string, readonly string[]>>> = {
  relations: new WeakMap(),
  constraints: new WeakMap(),
};

function indexOf(tables: Tables, kind: Kind): ReadonlyMap<string, readonly string[]> {
  let index = indexes[kind].get(tables);
  if (index === undefined) {
    const found = new Map<string, string[]>();
    for (const [key, table] of tables) {
      for (const name of namesOfTable(table)[kind]) {
        const keys = found.get(name);
        if (keys === undefined) found.set(name, [key]);
        else keys.push(key);
      }
    }
    index = found;
    indexes[kind].set(tables, index);
  }
  return index;
}

/** Checks whether a table of the schema occupies a name. */
function isTaken({ tables }: DeclaredSchema, kind: Kind, schema: string, name: string): boolean {
  const keys = SharedMap.keysWith(
    tables,
    (base) => indexOf(base, kind).get(name) ?? [],
    (table) => namesOfTable(table)[kind].has(name),
  );
  return keys.some((key) => tables.get(key)?.schema === schema);
}

/** Checks whether a table, view, sequence, index or key of the schema has the name. */
export function isRelationName(state: DeclaredSchema, schema: string, name: string): boolean {
  const key = getKey({ schema, name });
  return state.views.has(key) || state.sequences.has(key) ||
    isTaken(state, "relations", schema, name);
}

/** Checks whether a constraint in the schema has the name. */
function isConstraintName(state: DeclaredSchema, schema: string, name: string): boolean {
  return isTaken(state, "constraints", schema, name);
}

/** Parts of a name that PostgreSQL generates. */
export interface NameParts {
  /** Schema in which the name must be free. */
  readonly schema: string;
  /** Name of the table. */
  readonly table: string;
  /** Columns, or the parts for expressions. */
  readonly columns: readonly string[];
  /** Last part, such as `key`. */
  readonly label: string;
}

function chooseName(
  { table, columns, label }: NameParts,
  isTaken: (name: string) => boolean,
): string {
  const joined = columns.join("_");
  let name = deriveName(table, joined, label);
  for (let pass = 1; isTaken(name); pass++) name = deriveName(table, joined, `${label}${pass}`);
  return name;
}

/** Generates a name for a sequence or index (PostgreSQL 15, ChooseRelationName in indexcmds.c). */
export function chooseRelationName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isRelationName(state, parts.schema, name));
}

/** Generates a name for a unique constraint or a primary key, whose index has the same name. */
export function chooseKeyName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(
    parts,
    (name) =>
      isRelationName(state, parts.schema, name) || isConstraintName(state, parts.schema, name),
  );
}

/** Generates a name for a CHECK or a foreign key (PostgreSQL 15, ChooseConstraintName in pg_constraint.c). */
export function chooseConstraintName(state: DeclaredSchema, parts: NameParts): string {
  return chooseName(parts, (name) => isConstraintName(state, parts.schema, name));
}
