import { getName, truncateName } from "../../distsql/sql_name.ts";
import { StatementReader } from "../../distsql/statement_reader.ts";
import { tokenize } from "../../distsql/tokenize.ts";

/** A unique index or constraint of a table, the primary key included. */
export interface UniqueFacts {
  /** The index's name. */
  readonly name: string;
  /** The columns that decide whether two rows collide: those of the key, of its expressions and of its condition. */
  readonly columns: readonly string[];
  /** Whether it is the primary key. */
  readonly isPrimary: boolean;
  /** Whether it holds for all rows at all times: complete, valid, checked at once, without expressions. */
  readonly isPlain: boolean;
}

/** A table, or what stands in the place of one. */
export interface TableFacts {
  /** The schema. */
  schema: string;
  /** The name. */
  name: string;
  /** The qualified name under which the database has it now, quoted; not given for a table that is not there yet. */
  live?: string;
  /** Whether it is an ordinary table whose rows are its own. */
  isPlain: boolean;
  /** The unique indexes. */
  uniques: UniqueFacts[];
  /** Columns that the server computes from others. */
  generated: string[];
  /** Columns that are never NULL. */
  notNull: string[];
  /** The type of each column; empty for those that are not in the database yet. */
  types: Map<string, string>;
  /** Whether triggers or rules run when its rows change. */
  hasTriggers: boolean;
}

/** What a foreign key does to the referencing rows. */
export type ForeignKeyAction = "none" | "cascade" | "set";

/** A foreign key. */
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
  /** What happens to the rows when a referenced row is deleted. */
  readonly onDelete: ForeignKeyAction;
}

/** A view. */
export interface ViewFacts {
  /** The name, without its schema. */
  name: string;
  /** Its query, or the statement that creates it. */
  readonly reader: StatementReader;
  /** All names in it. */
  readonly words: ReadonlySet<string>;
}

/** What decides whether a change of rows can be cut into batches. */
export interface SchemaFacts {
  /** The schemas in which a name without one is looked for. */
  searchPath: readonly string[];
  /** The tables. */
  tables: TableFacts[];
  /** The foreign keys. */
  foreignKeys: ForeignKeyFacts[];
  /** The views. */
  views: ViewFacts[];
  /** Names of functions that are not PostgreSQL's own. */
  functions: Set<string>;
}

/**
 * Reads a view.
 *
 * @param name The name, without its schema.
 * @param sql Its query, or the statement that creates it.
 */
export function readView(name: string, sql: string): ViewFacts {
  const reader = new StatementReader(tokenize(sql));
  const words = new Set<string>();
  for (let at = 0; at < reader.size; at++) {
    if (reader.isName(at)) words.add(truncateName(getName(reader.token(at)!)));
  }
  return { name, reader, words };
}

/** Returns facts about an empty database. */
export function emptyFacts(): SchemaFacts {
  return { searchPath: ["public"], tables: [], foreignKeys: [], views: [], functions: new Set() };
}

/** Returns a table of which nothing else is known. */
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
 * @param facts Where to look.
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

/** Returns the columns by which the rows of a table can be put in an order, the primary key before others. */
export function findKey(table: TableFacts): readonly string[] | undefined {
  const isFull = (column: string): boolean => table.notNull.includes(column);
  const keys = table.uniques.filter(({ isPlain, columns }) => isPlain && columns.every(isFull));
  return (keys.find(({ isPrimary }) => isPrimary) ?? keys[0])?.columns;
}
