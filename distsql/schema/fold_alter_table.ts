import { alterPass, findTypeChange } from "../syntax/alter_pass.ts";
import { isTableConstraint, readTableConstraint } from "../syntax/table_constraint.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { findObject, getKey, hasIndex, withEntry, withoutEntries } from "./declared_schema.ts";
import { addColumn, addIdentity, readDefault, readType } from "./fold_column.ts";
import { foldRenameRelation } from "./fold_objects.ts";
import { addConstraints, readPending } from "./pending_constraint.ts";
import { finishTable, getTable, type TableFold } from "./table_fold.ts";
import { readObject, readPart } from "./read_object.ts";
import { changeColumn, changeTable, type SchemaDraft } from "./schema_draft.ts";
import {
  dropColumn,
  dropUnsupported,
  moveTable,
  renameColumn,
  renameTable,
} from "./table_changes.ts";

const USING: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

function foldDrop({ schema, reader, key }: TableFold, from: number, to: number): void {
  const cascades = reader.is(to - 1, "CASCADE");
  if (reader.key(from + 1) === "CONSTRAINT") {
    const name = readPart(reader, reader.skip(from + 2, "IF", "EXISTS"));
    changeTable(schema, key, ({ constraints }) => ({
      constraints: constraints.filter((one) => one.name !== name),
    }));
    if (cascades) dropUnsupported(schema, key);
    return;
  }
  const at = reader.skip(reader.skip(from + 1, "COLUMN"), "IF", "EXISTS");
  dropColumn(schema, key, readPart(reader, at), cascades);
}

function foldAdd(fold: TableFold, from: number, to: number): void {
  const { reader } = fold;
  if (isTableConstraint(reader, from + 1)) return foldAddConstraint(fold, from + 1, to);
  const at = reader.skip(reader.skip(from + 1, "COLUMN"), "IF", "NOT", "EXISTS");
  const name = readPart(reader, at);
  if (!getTable(fold).columns.some((column) => column.name === name)) addColumn(fold, at, to);
}

function foldAddConstraint(fold: TableFold, from: number, to: number): void {
  const { schema, reader, key, pending } = fold;
  const read = readTableConstraint(reader, from, to);
  if (read.usesIndex) return takeOverIndex(fold, from, to);
  if (read.kind === "not_null") {
    return changeColumn(schema, key, readPart(reader, read.columns[0].end - 1), { notNull: true });
  }
  const constraint = readPending(fold, from, to);
  if (constraint) pending.push(constraint);
}

/** Applies ADD CONSTRAINT name UNIQUE USING INDEX index: the index takes the constraint's name. */
function takeOverIndex({ schema, reader, key }: TableFold, from: number, to: number): void {
  const { name, kind } = readTableConstraint(reader, from, to);
  const index = readObject(reader, reader.find("INDEX", from, to) + 1).name;
  changeTable(schema, key, ({ indexes, constraints }) => {
    const found = indexes.find((one) => one.name === index);
    const constraint = {
      name: name ? readPart(reader, name.end - 1) : index,
      kind: kind === "primary_key" ? "primary_key" as const : "unique" as const,
      columns: found?.columns ?? [],
      included: [],
      text: found?.text ?? "",
    };
    return {
      indexes: indexes.filter((one) => one.name !== index),
      constraints: [...constraints, constraint],
    };
  });
}

/** Detaches the sequence of a serial column whose default became an ordinary one. */
function releaseSequence(schema: SchemaDraft, key: string | undefined): void {
  const sequence = key === undefined ? undefined : schema.sequences.get(key);
  if (sequence === undefined) return;
  schema.sequences = withEntry(schema.sequences, { ...sequence, origin: "statement" });
}

function foldAlterColumn(fold: TableFold, from: number, to: number): void {
  const { schema, reader, key } = fold;
  const nameAt = reader.skip(from + 1, "COLUMN");
  const name = readPart(reader, nameAt);
  const at = reader.nameEnd(nameAt);
  const column = getTable(fold).columns.find((one) => one.name === name);
  if (column === undefined) return;
  const set = (change: Parameters<typeof changeColumn>[3]): void =>
    changeColumn(schema, key, name, change);
  const typeAt = findTypeChange(reader, at);
  if (typeAt >= 0) {
    const type = readType(schema, reader, typeAt, reader.findEnd(USING, typeAt, to));
    set({ ...type, labelCheck: type.enum === undefined ? undefined : column.labelCheck });
  } else if (reader.is(at, "SET", "NOT", "NULL")) set({ notNull: true });
  else if (reader.is(at, "DROP", "NOT", "NULL")) set({ notNull: false });
  else if (reader.is(at, "DROP", "DEFAULT")) {
    if (column.numbering === "serial") releaseSequence(schema, column.sequence);
    set({ default: undefined });
    if (column.numbering !== "identity") set({ numbering: undefined, sequence: undefined });
  } else if (reader.is(at, "DROP", "EXPRESSION")) set({ generated: undefined });
  else if (reader.is(at, "DROP", "IDENTITY")) {
    if (column.numbering !== "identity") return;
    const { sequence } = column;
    schema.sequences = withoutEntries(schema.sequences, sequence === undefined ? [] : [sequence]);
    set({ numbering: undefined, sequence: undefined });
  } else if (reader.is(at, "SET", "DEFAULT")) {
    const value = readDefault(schema, reader, at + 2, to, column.enum);
    if (column.numbering === "serial") {
      if (value.sequence === column.sequence) return;
      releaseSequence(schema, column.sequence);
    }
    set({ ...value, numbering: undefined });
  } else if (reader.is(at, "ADD", "GENERATED")) {
    set({ notNull: true, numbering: "identity", sequence: addIdentity(fold, name, at, to) });
  }
}

function foldRename({ schema, reader, key }: TableFold, from: number): void {
  if (reader.is(from + 1, "TO")) return renameTable(schema, key, readPart(reader, from + 2));
  if (reader.is(from + 1, "CONSTRAINT")) {
    const [old, name] = [readPart(reader, from + 2), readPart(reader, from + 4)];
    return changeTable(schema, key, ({ constraints }) => ({
      constraints: constraints.map((one) => one.name === old ? { ...one, name } : one),
    }));
  }
  const at = reader.skip(from + 1, "COLUMN");
  renameColumn(schema, key, readPart(reader, at), readPart(reader, at + 2));
}

function foldAction(fold: TableFold, from: number, to: number): void {
  const { schema, reader, key } = fold;
  // RENAME TO and SET SCHEMA are the only action of their statement: the key stays valid
  if (reader.is(from, "DROP")) foldDrop(fold, from, to);
  else if (reader.is(from, "ADD")) foldAdd(fold, from, to);
  else if (reader.is(from, "ALTER")) {
    if (!reader.is(from + 1, "CONSTRAINT")) foldAlterColumn(fold, from, to);
  } else if (reader.is(from, "RENAME")) foldRename(fold, from);
  else if (reader.is(from, "SET", "SCHEMA")) moveTable(schema, key, readPart(reader, from + 2));
}

/**
 * Applies an ALTER TABLE, with its actions in PostgreSQL's order: names of keys are generated
 * before those of CHECKs and foreign keys. Ignores an unknown table.
 */
export function foldAlterTable(
  schema: SchemaDraft,
  reader: StatementReader,
  names: Map<number, string>,
): void {
  if (asyncTableAt(reader) >= 0) return;
  const written = readObject(reader, reader.alteredTableAt());
  const table = findObject(schema.tables, written);
  if (table === undefined) return foldRenameRelation(schema, reader);
  const fold: TableFold = { schema, reader, key: getKey(table), pending: [] };
  const actions = reader.alterActions()
    .toSorted((a, b) => alterPass(reader, a[0]) - alterPass(reader, b[0]));
  for (const [from, to] of actions) foldAction(fold, from, to);
  fold.pending.sort((a, b) => Number(hasIndex(b.kind)) - Number(hasIndex(a.kind)));
  addConstraints(fold, names);
  finishTable(schema, fold.key);
}
