import { readName } from "../../sql/sql_name.ts";
import {
  type ActionOf,
  type AlterAction,
  inRunOrder,
  readAlterActions,
} from "../syntax/alter_action.ts";
import type { TableConstraint } from "../syntax/table_constraint.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { findObject, getKey, hasIndex, withEntry, withoutEntries } from "./declared_schema.ts";
import { addColumn, addIdentity, readDefault, readType } from "./fold_column.ts";
import { foldRenameRelation } from "./fold_objects.ts";
import { addConstraints, toPending } from "./pending_constraint.ts";
import { finishTable, getTable, type TableFold } from "./table_fold.ts";
import { changeColumn, changeTable, type SchemaDraft } from "./schema_draft.ts";
import {
  dropColumn,
  dropUnsupported,
  moveTable,
  renameColumn,
  renameTable,
} from "./table_changes.ts";

const USING: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

function foldAddConstraint(fold: TableFold, constraint: TableConstraint): void {
  const { schema, key, pending } = fold;
  if (constraint.usesIndex) return takeOverIndex(fold, constraint);
  if (constraint.kind === "not_null") {
    return changeColumn(schema, key, constraint.columns[0].name, { notNull: true });
  }
  const added = toPending(fold, constraint);
  if (added) pending.push(added);
}

/** Applies ADD CONSTRAINT name UNIQUE USING INDEX index: the index takes the constraint's name. */
function takeOverIndex(
  { schema, reader, key }: TableFold,
  { name, kind, bodyFrom, to }: TableConstraint,
): void {
  const index = readName(reader, reader.find("INDEX", bodyFrom, to) + 1).name;
  changeTable(schema, key, ({ indexes, constraints }) => {
    const found = indexes.find((one) => one.name === index);
    const constraint = {
      name: name?.name ?? index,
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

function foldAlterColumn(
  fold: TableFold,
  { column: { name, end }, change, valueAt, to }: ActionOf<"alter_column">,
): void {
  const { schema, reader, key } = fold;
  const column = getTable(fold).columns.find((one) => one.name === name);
  if (column === undefined) return;
  const set = (changed: Parameters<typeof changeColumn>[3]): void =>
    changeColumn(schema, key, name, changed);
  switch (change) {
    case "type": {
      const type = readType(schema, reader, valueAt, reader.findEnd(USING, valueAt, to));
      return set({ ...type, labelCheck: type.enum === undefined ? undefined : column.labelCheck });
    }
    case "set_not_null":
    case "drop_not_null":
      return set({ notNull: change === "set_not_null" });
    case "drop_default":
      if (column.numbering === "serial") releaseSequence(schema, column.sequence);
      set({ default: undefined });
      if (column.numbering !== "identity") set({ numbering: undefined, sequence: undefined });
      return;
    case "drop_expression":
      return set({ generated: undefined });
    case "drop_identity": {
      if (column.numbering !== "identity") return;
      const { sequence } = column;
      schema.sequences = withoutEntries(schema.sequences, sequence === undefined ? [] : [sequence]);
      return set({ numbering: undefined, sequence: undefined });
    }
    case "set_default": {
      const value = readDefault(schema, reader, valueAt, to, column.enum);
      if (column.numbering === "serial") {
        if (value.sequence === column.sequence) return;
        releaseSequence(schema, column.sequence);
      }
      return set({ ...value, numbering: undefined });
    }
    case "add_identity":
      return set({
        notNull: true,
        numbering: "identity",
        sequence: addIdentity(fold, name, end, to),
      });
  }
}

function foldAction(fold: TableFold, action: AlterAction): void {
  const { schema, key } = fold;
  // RENAME TO and SET SCHEMA are the only action of their statement: the key stays valid
  switch (action.kind) {
    case "add_column": {
      const { name } = action.column.name;
      const isThere = getTable(fold).columns.some((column) => column.name === name);
      return isThere ? undefined : addColumn(fold, action.column);
    }
    case "add_constraint":
      return foldAddConstraint(fold, action.constraint);
    case "drop_column":
      return dropColumn(schema, key, action.name, action.cascades);
    case "drop_constraint":
      changeTable(schema, key, ({ constraints }) => ({
        constraints: constraints.filter((one) => one.name !== action.name),
      }));
      return action.cascades ? dropUnsupported(schema, key) : undefined;
    case "alter_column":
      return foldAlterColumn(fold, action);
    case "rename_column":
      return renameColumn(schema, key, action.name, action.newName);
    case "rename_constraint":
      return changeTable(schema, key, ({ constraints }) => ({
        constraints: constraints.map((one) =>
          one.name === action.name ? { ...one, name: action.newName } : one
        ),
      }));
    case "rename_table":
      return renameTable(schema, key, action.newName);
    case "set_schema":
      return moveTable(schema, key, action.schema);
  }
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
  const written = readName(reader, reader.alteredTableAt());
  const table = findObject(schema.tables, written);
  if (table === undefined) return foldRenameRelation(schema, reader);
  const fold: TableFold = { schema, reader, key: getKey(table), pending: [] };
  for (const action of inRunOrder(readAlterActions(reader))) foldAction(fold, action);
  fold.pending.sort((a, b) => Number(hasIndex(b.kind)) - Number(hasIndex(a.kind)));
  addConstraints(fold, names);
  finishTable(schema, fold.key);
}
