import { writeName } from "../sql_name.ts";
import { SharedMap } from "./shared_map.ts";

/** A name with its schema, as the catalog has it. */
export interface ObjectName {
  /** The schema; `public` when the statement names none. */
  readonly schema: string;
  /** The name. */
  readonly name: string;
}

/** An enum type. */
export interface DeclaredEnum extends ObjectName {
  /** The labels in their order, without quotes. */
  readonly labels: readonly string[];
}

/** A domain. */
export interface DeclaredDomain extends ObjectName {
  /** The key of the enum that it is based on. */
  readonly enum?: string;
  /** The type that it is based on, as written. */
  readonly type: string;
  /** Whether columns of it have a default without one of their own. */
  readonly hasDefault: boolean;
}

/** A sequence, whether created by name, by `serial` or by an identity column. */
export interface DeclaredSequence extends ObjectName {
  /** The column that it is dropped with. */
  readonly ownedBy?: { readonly table: string; readonly column: string };
  /** What created it. */
  readonly origin: "statement" | "serial" | "identity";
}

/** An enum whose order of labels an expression uses that is stored: of a view, a CHECK, an index, a generated column. */
export interface StoredOrder {
  /** The key of the enum. */
  readonly enum: string;
  /** Whether the labels had the order of their texts then, so that the expression compares them as texts. */
  readonly isText: boolean;
}

/** A column of a table. */
export interface DeclaredColumn {
  /** The name. */
  readonly name: string;
  /** The type as written. */
  readonly type: string;
  /** Whether the type is an array. */
  readonly isArray: boolean;
  /** The key of the enum that is the type, or the element type of the array. */
  readonly enum?: string;
  /** The key of the domain that is the type. */
  readonly domain?: string;
  /** Whether it refuses NULL. */
  readonly notNull: boolean;
  /** The default as written; not given for `serial`. */
  readonly default?: string;
  /** The keys of the enums that the default is made of, which may be others than the column's type. */
  readonly defaultEnums?: readonly string[];
  /** The expression of a generated column, as written. */
  readonly generated?: string;
  /** The enums whose order that expression uses. */
  readonly ordersBy?: readonly StoredOrder[];
  /** How it numbers rows. A `serial` column whose default was changed is a plain column with or without a default. */
  readonly numbering?: "serial" | "identity";
  /** The key of the sequence that numbers the rows. */
  readonly sequence?: string;
  /** The name of the CHECK that keeps an enum's labels where there are no enums; PostgreSQL has none. */
  readonly labelCheck?: string;
}

/** A constraint of a table. */
export interface DeclaredConstraint {
  /** The name, given or generated. */
  readonly name: string;
  /** What it says. */
  readonly kind: "primary_key" | "unique" | "check" | "foreign_key" | "exclude";
  /** The columns of a key or a foreign key; the columns that a CHECK names. */
  readonly columns: readonly string[];
  /** The columns of INCLUDE. */
  readonly included: readonly string[];
  /** The table that a foreign key references, by its key, and the columns there. */
  readonly references?: { readonly table: string; readonly columns: readonly string[] };
  /** What follows the name, as written. */
  readonly text: string;
  /** The enums whose order a CHECK uses. */
  readonly ordersBy?: readonly StoredOrder[];
}

/** Whether a constraint has an index of its name. */
export function hasIndex(kind: DeclaredConstraint["kind"]): boolean {
  return kind !== "check" && kind !== "foreign_key";
}

/** An index that belongs to no constraint. */
export interface DeclaredIndex {
  /** The name, given or generated. */
  readonly name: string;
  /** Whether it is unique. */
  readonly isUnique: boolean;
  /** The columns that its keys, INCLUDE and predicate name. */
  readonly columns: readonly string[];
  /** What follows the table's name, as written. */
  readonly text: string;
  /** The enums whose order its expressions use. */
  readonly ordersBy?: readonly StoredOrder[];
}

/** A table. */
export interface DeclaredTable extends ObjectName {
  /** The columns in their order. */
  readonly columns: readonly DeclaredColumn[];
  /** The constraints, except NOT NULL. */
  readonly constraints: readonly DeclaredConstraint[];
  /** The indexes, except those of constraints. */
  readonly indexes: readonly DeclaredIndex[];
  /** The statistics objects over it. */
  readonly statistics: readonly ObjectName[];
  /** Whether all columns are known; false for CREATE TABLE … LIKE of an unknown table, AS and INHERITS. */
  readonly isComplete: boolean;
}

/** A table or a view that a view reads. */
export interface ViewSource {
  /** The key of the table or the view. */
  readonly relation: string;
  /** The columns that are read. */
  readonly columns: readonly string[];
  /** Whether `*` reads all columns. */
  readonly readsAll: boolean;
}

/** A column of a view. */
export interface ViewColumn {
  /** The name. */
  readonly name: string;
  /** The keys of the enums that it has, or may have. */
  readonly enums: readonly string[];
  /** Whether it has one of them for certain. */
  readonly isCertain: boolean;
}

/** A view. */
export interface DeclaredView extends ObjectName {
  /** Whether it is materialized. */
  readonly isMaterialized: boolean;
  /** What it reads. */
  readonly sources: readonly ViewSource[];
  /** The statement that created it, as written. */
  readonly text: string;
  /** Its columns, as far as they could be read. */
  readonly columns?: readonly ViewColumn[];
  /** The enums whose order it uses. */
  readonly ordersBy?: readonly StoredOrder[];
}

/**
 * What SQL declares up to a statement, as the catalog of PostgreSQL would have it. Immutable plain data. Keys of the maps
 * are `schema.name`, written as in SQL (see {@link getKey}).
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

/** The schema before the first statement. */
export const EMPTY_SCHEMA: DeclaredSchema = {
  enums: new Map(),
  domains: new Map(),
  tables: new Map(),
  views: new Map(),
  sequences: new Map(),
};

/** The schema of names that have none. */
export const DEFAULT_SCHEMA = "public";

/** Returns the key of an object: its qualified name as SQL. */
export function getKey({ schema, name }: ObjectName): string {
  return `${writeName(schema, false)}.${writeName(name, false)}`;
}

/** Finds an object by its name in a statement; a name without a schema means `public`. */
export function findObject<T extends ObjectName>(
  objects: ReadonlyMap<string, T>,
  name: { readonly schema?: string; readonly name: string },
): T | undefined {
  return objects.get(getKey({ schema: name.schema ?? DEFAULT_SCHEMA, name: name.name }));
}

/** Returns a map with one more entry, or with another one under the same key. */
export function withEntry<T extends ObjectName>(
  map: ReadonlyMap<string, T>,
  entry: T,
): ReadonlyMap<string, T> {
  return SharedMap.change(map, getKey(entry), entry);
}

/** Returns a map without the entries of some keys. */
export function withoutEntries<T>(
  map: ReadonlyMap<string, T>,
  keys: Iterable<string>,
): ReadonlyMap<string, T> {
  let result = map;
  for (const key of keys) if (result.has(key)) result = SharedMap.change(result, key, undefined);
  return result;
}

/** Returns a map with every value changed. */
export function mapValues<T>(
  map: ReadonlyMap<string, T>,
  change: (value: T) => T,
): ReadonlyMap<string, T> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}
