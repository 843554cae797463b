import { getName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";

/** Unique index or constraint of a table, including the primary key. */
export interface UniqueFacts {
  /** The index's name. */
  readonly name: string;
  /** Columns that decide about duplicates: those of the key, its expressions and its condition. */
  readonly columns: readonly string[];
  /** True for the primary key. */
  readonly isPrimary: boolean;
  /**
   * True if it covers all rows at all times: complete, valid, checked immediately, without
   * expressions.
   */
  readonly isPlain: boolean;
}

/** Table or table-like relation. */
export interface TableFacts {
  /** The schema. */
  schema: string;
  /** The name. */
  name: string;
  /**
   * Current qualified name in the database, quoted; omitted for a table that does not exist yet.
   */
  live?: string;
  /** True for an ordinary table, which stores its own rows. */
  isPlain: boolean;
  /** The unique indexes. */
  uniques: UniqueFacts[];
  /** Generated columns. */
  generated: string[];
  /** Columns that are never NULL. */
  notNull: string[];
  /** Type of each column; empty for columns that do not exist yet. */
  types: Map<string, string>;
  /** True if triggers or rules run when rows change. */
  hasTriggers: boolean;
}

/** Action of a foreign key on referencing rows. */
export type ForeignKeyAction = "none" | "cascade" | "set";

/** Foreign key. */
export interface ForeignKeyFacts {
  /** The constraint's name. */
  readonly name: string;
  /** The referencing table. */
  readonly table: TableFacts;
  /** The referenced table. */
  readonly target: TableFacts;
  /** The referenced columns. */
  readonly columns: readonly string[];
  /** The referencing columns, in the same order. */
  readonly from: readonly string[];
  /** Action when a referenced row is deleted. */
  readonly onDelete: ForeignKeyAction;
}

/** View. */
export interface ViewFacts {
  /** The name, without its schema. */
  name: string;
  /** Its query, or the statement that creates it. */
  readonly reader: StatementReader;
  /** All names in the query. */
  readonly words: ReadonlySet<string>;
}

/** Facts that decide whether a change of rows can be split into batches. */
export interface SchemaFacts {
  /** Schemas to search for unqualified names. */
  searchPath: readonly string[];
  /** The tables. */
  tables: TableFacts[];
  /** The foreign keys. */
  foreignKeys: ForeignKeyFacts[];
  /** The views. */
  views: ViewFacts[];
  /** Names of user-defined functions. */
  functions: Set<string>;
}

/**
 * Parses a view.
 *
 * @param name The name, without its schema.
 * @param sql Its query, or the statement that creates it.
 */
export function readView(name: string, sql: string): ViewFacts {
  const reader = parseStatement(sql);
  const words = new Set<string>();
  for (let at = 0; at < reader.size; at++) {
    if (reader.isName(at)) words.add(getName(reader.token(at)!));
  }
  return { name, reader, words };
}

/** Returns facts about an empty database. */
export function emptyFacts(): SchemaFacts {
  return { searchPath: ["public"], tables: [], foreignKeys: [], views: [], functions: new Set() };
}

/** Returns a table without further facts. */
export function newTable(schema: string, name: string): TableFacts {
  return {
    schema,
    name,
    isPlain: true,
    uniques: [],
    generated: [],
    notNull: [],
    types: new Map(),
    hasTriggers: false,
  };
}

/**
 * Finds a table by its name in a statement.
 *
 * @param facts Facts to search.
 * @param path The name with its schema, or without one.
 */
export function findTable(facts: SchemaFacts, path: string): TableFacts | undefined {
  const dot = path.lastIndexOf(".");
  const name = path.slice(dot + 1);
  const named = facts.tables.filter((table) => table.name === name);
  if (dot >= 0) {
    const schema = path.slice(path.lastIndexOf(".", dot - 1) + 1, dot);
    return named.find((table) => table.schema === schema);
  }
  for (const schema of facts.searchPath) {
    const found = named.find((table) => table.schema === schema);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the columns that order the rows of a table; prefers the primary key. */
export function findKey(table: TableFacts): readonly string[] | undefined {
  const isFull = (column: string): boolean => table.notNull.includes(column);
  const keys = table.uniques.filter(({ isPlain, columns }) => isPlain && columns.every(isFull));
  return (keys.find(({ isPrimary }) => isPrimary) ?? keys[0])?.columns;
}
