import { unwrapDoBlock } from "../syntax/do_block.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { type DeclaredSchema, EMPTY_SCHEMA } from "./declared_schema.ts";
import { foldAlterTable } from "./fold_alter_table.ts";
import { foldDrop } from "./fold_drop.ts";
import { foldCreateTable } from "./fold_create_table.ts";
import {
  foldCreateIndex,
  foldCreateStatistics,
  foldCreateView,
  foldRenameRelation,
  foldSequence,
} from "./fold_objects.ts";
import { foldAlterDomain, foldAlterType, foldCreateDomain, foldCreateType } from "./fold_types.ts";
import type { SchemaDraft } from "./schema_draft.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { splitStatements } from "../../sql/statement.ts";

/** Effect of a statement on the schema. */
export interface FoldedStatement {
  /** Schema after the statement. */
  readonly state: DeclaredSchema;
  /**
   * Names that PostgreSQL generates for the constraints of this statement, by the position of the
   * constraint.
   */
  readonly names: ReadonlyMap<number, string>;
}

const MODIFIERS: ReadonlySet<string> = keywordSet(`
  OR REPLACE UNIQUE UNLOGGED RECURSIVE MATERIALIZED LOCAL GLOBAL
`);

function foldCreate(
  schema: SchemaDraft,
  reader: StatementReader,
  names: Map<number, string>,
): void {
  let at = 1;
  while (reader.isOneOf(at, MODIFIERS)) at++;
  switch (reader.key(at)) {
    case "TABLE":
      return foldCreateTable(schema, reader, at + 1, names);
    case "INDEX":
      return foldCreateIndex(schema, reader);
    case "TYPE":
      return foldCreateType(schema, reader);
    case "DOMAIN":
      return foldCreateDomain(schema, reader);
    case "SEQUENCE":
      return foldSequence(schema, reader);
    case "VIEW":
      return foldCreateView(schema, reader);
    case "STATISTICS":
      return foldCreateStatistics(schema, reader);
  }
}

function foldAlter(schema: SchemaDraft, reader: StatementReader, names: Map<number, string>): void {
  switch (reader.key(1)) {
    case "TABLE":
      return foldAlterTable(schema, reader, names);
    case "TYPE":
      return foldAlterType(schema, reader);
    case "DOMAIN":
      return foldAlterDomain(schema, reader);
    case "SEQUENCE":
      return foldSequence(schema, reader);
    case "INDEX":
    case "VIEW":
      return foldRenameRelation(schema, reader);
  }
}

function fold(schema: SchemaDraft, reader: StatementReader, names: Map<number, string>): void {
  switch (reader.key(0)) {
    case "CREATE":
      return foldCreate(schema, reader, names);
    case "ALTER":
      return foldAlter(schema, reader, names);
    case "DROP":
      return foldDrop(schema, reader);
    case "DO": {
      const inner = unwrapDoBlock(reader);
      if (inner !== undefined) fold(schema, new StatementReader(inner.tokens), names);
    }
  }
}

/** Applies a statement and also returns the generated names. See {@link foldStatement}. */
export function foldWithNames(before: DeclaredSchema, reader: StatementReader): FoldedStatement {
  const state = { ...before };
  const names = new Map<number, string>();
  fold(state, reader, names);
  return { state, names };
}

/**
 * Returns the declared schema after one more statement: tables with columns, constraints and
 * indexes, enums with their labels in order, domains, views and sequences, with the names that
 * PostgreSQL 15 gives them. A pure function: it needs no database and does not change the given
 * state. Statements about unknown objects have no effect.
 *
 * To translate a file with the declarations of earlier files, apply the statements of all files in
 * order, including applied migrations:
 *
 * ```ts ignore
 * let state = EMPTY_SCHEMA;
 * for (const { tokens } of splitStatements(sql)) state = foldStatement(state, new StatementReader(tokens));
 * ```
 *
 * `translateForDistSql` does this itself: its option `declared` takes the state before a text, and
 * its result `declared` has the state after it.
 *
 * @param state The schema before the statement, initially `EMPTY_SCHEMA`.
 * @param reader The statement, as written for PostgreSQL.
 * @returns The schema after the statement.
 */
export function foldStatement(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  return foldWithNames(state, reader).state;
}

/**
 * Reads what SQL files declare.
 *
 * @param sources The SQL of the files, in order.
 * @returns The schema after the last statement.
 */
export function readDeclaredSchema(sources: readonly string[]): DeclaredSchema {
  let state = EMPTY_SCHEMA;
  for (const sql of sources) {
    for (const { tokens } of splitStatements(sql)) {
      state = foldStatement(state, new StatementReader(tokens));
    }
  }
  return state;
}
