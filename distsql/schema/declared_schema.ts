import { writeName } from "../../sql/sql_name.ts";
import type {
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableSchema,
} from "./table_schema.ts";

/** Qualified name in the catalog's form. */
export interface ObjectName {
  /** Schema; `public` if the statement names none. */
  readonly schema: string;
  /** The name. */
  readonly name: string;
}

/** Enum type. */
export interface DeclaredEnum extends ObjectName {
  /** Labels in order, without quotes. */
  readonly labels: readonly string[];
}

/** Domain. */
export interface DeclaredDomain extends ObjectName {
  /** Base type, as written. */
  readonly type: string;
  /** True if columns of the domain get a default. */
  readonly hasDefault: boolean;
}

/** Sequence created by name, by `serial` or by an identity column. */
export interface DeclaredSequence extends ObjectName {
  /** Column that owns the sequence. */
  readonly ownedBy?: { readonly table: string; readonly column: string };
  /** Kind of statement that created it. */
  readonly origin: "statement" | "serial" | "identity";
}

/** Column of a table that SQL declares. Its type is as written. */
export interface DeclaredColumn extends TableColumn {
  /** Key of the enum that is the type, or the array's element type. */
  enum?: string;
  /** Key of the domain that is the type. */
  domain?: string;
  /** Keys of the enums in the default, which may differ from the column's type. */
  defaultEnums?: readonly string[];
  /** Kind of numbering. A `serial` column with a changed default is a plain column. */
  numbering?: "serial" | "identity";
  /** Key of the sequence that numbers the rows. */
  sequence?: string;
  /**
   * Name of the CHECK that restricts the values to an enum's labels on the provider; PostgreSQL has
   * none.
   */
  labelCheck?: string;
}

/** Checks whether a constraint has an index of the same name. */
export function hasIndex(type: TableConstraintType): boolean {
  return type !== "check" && type !== "foreign_key";
}

/** Table that SQL declares. The definitions of its constraints and indexes are as written. */
export interface DeclaredTable extends TableSchema, ObjectName {
  /** Schema of the table. */
  readonly schema: string;
  /** Name of the table. */
  readonly name: string;
  /** Columns in order. */
  columns: DeclaredColumn[];
  /** Statistics objects of the table. */
  readonly statistics: readonly ObjectName[];
  /**
   * True if all columns are known; false for CREATE TABLE … LIKE of an unknown table, AS and
   * INHERITS.
   */
  readonly isComplete: boolean;
}

/** Table or view that a view reads. */
export interface ViewSource {
  /** Key of the table or view. */
  readonly relation: string;
  /** Columns that are read. */
  readonly columns: readonly string[];
  /** True if `*` reads all columns. */
  readonly readsAll: boolean;
}

/** View. */
export interface DeclaredView extends ObjectName {
  /** Relations that it reads. */
  readonly sources: readonly ViewSource[];
  /** CREATE statement, as written. */
  readonly text: string;
}

/**
 * Schema that SQL declares up to a statement, like PostgreSQL's catalog. Immutable plain data. Keys
 * of the maps have the form `schema.name`, as written in SQL (see {@link getKey}).
 */
export interface DeclaredSchema {
  /** Enum types. */
  readonly enums: ReadonlyMap<string, DeclaredEnum>;
  /** Domains. */
  readonly domains: ReadonlyMap<string, DeclaredDomain>;
  /** Tables. */
  readonly tables: ReadonlyMap<string, DeclaredTable>;
  /** Views. */
  readonly views: ReadonlyMap<string, DeclaredView>;
  /** Sequences. */
  readonly sequences: ReadonlyMap<string, DeclaredSequence>;
}

/** Schema before the first statement. */
export const EMPTY_SCHEMA: DeclaredSchema = {
  enums: new Map(),
  domains: new Map(),
  tables: new Map(),
  views: new Map(),
  sequences: new Map(),
};

/** Schema of unqualified names. */
export const DEFAULT_SCHEMA = "public";

/** Returns the key of an object: its qualified name as SQL. */
export function getKey({ schema, name }: ObjectName): string {
  return `${writeName(schema, false)}.${writeName(name, false)}`;
}

/** Finds an object by its name in a statement; an unqualified name is in `public`. */
export function findObject<T extends ObjectName>(
  objects: ReadonlyMap<string, T>,
  name: { readonly schema?: string; readonly name: string },
): T | undefined {
  return objects.get(getKey({ schema: name.schema ?? DEFAULT_SCHEMA, name: name.name }));
}

/** Checks whether a constraint is a foreign key that references the table of a key. */
export function isReferenceTo(key: string, { references }: TableConstraint): boolean {
  return references !== undefined &&
    getKey({ schema: references.schema ?? DEFAULT_SCHEMA, name: references.table }) === key;
}

/** Returns a map with an added or replaced entry. */
export function withEntry<T extends ObjectName>(
  map: ReadonlyMap<string, T>,
  entry: T,
): ReadonlyMap<string, T> {
  return new Map(map).set(getKey(entry), entry);
}

/** Returns a map without the entries of some keys. */
export function withoutEntries<T>(
  map: ReadonlyMap<string, T>,
  keys: Iterable<string>,
): ReadonlyMap<string, T> {
  const gone = new Set(keys);
  return gone.size === 0 ? map : new Map([...map].filter(([key]) => !gone.has(key)));
}

/** Returns a map with changed values. */
export function mapValues<T>(
  map: ReadonlyMap<string, T>,
  change: (value: T) => T,
): ReadonlyMap<string, T> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
