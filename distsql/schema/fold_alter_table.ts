import { readName } from "../../sql/sql_name.ts";
import {
  type ActionOf,
  type AlterAction,
  inRunOrder,
  readAlterActions,
} from "../syntax/alter_action.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { changeColumn, keysFirst, renameColumn as renameInTable } from "./change_table.ts";
import { findObject, getKey, withEntry, withoutEntries } from "./declared_schema.ts";
import { addColumn, addIdentity, readDefault, readType } from "./fold_column.ts";
import { foldRenameRelation } from "./fold_objects.ts";
import {
  addConstraints,
  finishTable,
  foldConstraint,
  getTable,
  type TableFold,
} from "./table_fold.ts";
import {
  changeTable,
  dropColumn,
  dropUnsupported,
  moveTable,
  renameColumn,
  renameTable,
  type SchemaDraft,
} from "./schema_draft.ts";

const USING: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/** Detaches the sequence of a serial column whose default became an ordinary one. */
function releaseSequence(schema: SchemaDraft, key: string | undefined): void {
  const sequence = key === undefined ? undefined : schema.sequences.get(key);
  if (sequence === undefined) return;
  schema.sequences = withEntry(schema.sequences, { ...sequence, origin: "statement" });
}

function foldAlterColumn(fold: TableFold, action: ActionOf<"alter_column">): void {
  const { schema, reader } = fold;
  const { column: { name, end }, change, valueAt, to } = action;
  const column = getTable(fold).columns.find((one) => one.name === name);
  if (column === undefined) return;
  const isSerial = column.numbering === "serial";
  switch (change) {
    case "type":
      Object.assign(column, readType(schema, reader, valueAt, reader.findEnd(USING, valueAt, to)));
      if (column.enum === undefined) delete column.labelCheck;
      return;
    case "drop_default":
      if (isSerial) releaseSequence(schema, column.sequence);
      if (column.numbering !== "identity") column.numbering = column.sequence = undefined;
      break;
    case "drop_identity": {
      if (column.numbering !== "identity") return;
      const { sequence } = column;
      schema.sequences = withoutEntries(schema.sequences, sequence === undefined ? [] : [sequence]);
      column.numbering = column.sequence = undefined;
      break;
    }
    case "set_default": {
      const value = readDefault(schema, reader, valueAt, to, column.enum);
      if (isSerial && value.sequence === column.sequence) return;
      if (isSerial) releaseSequence(schema, column.sequence);
      Object.assign(column, value, { numbering: undefined });
      return;
    }
    case "add_identity":
      column.sequence = addIdentity(fold, name, end, to);
      column.numbering = "identity";
  }
  changeColumn(column, reader, action);
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
      return foldConstraint(fold, action.constraint);
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
      renameInTable(getTable(fold), action.name, action.newName);
      return renameColumn(schema, key, action.name, action.newName);
    case "rename_constraint":
    case "validate": {
      const isRename = action.kind === "rename_constraint";
      const name = isRename ? action.name : action.constraint.name;
      const constraint = getTable(fold).constraints.find((one) => one.name === name);
      if (constraint === undefined) return;
      if (isRename) constraint.name = action.newName;
      else constraint.validated = true;
      return;
    }
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
  const nameAt = Math.max(asyncTableAt(reader), reader.alteredTableAt());
  const table = findObject(schema.tables, readName(reader, nameAt));
  if (table === undefined) return foldRenameRelation(schema, reader);
  schema.tables = withEntry(schema.tables, structuredClone(table));
  const fold: TableFold = { schema, reader, key: getKey(table), pending: [] };
  for (const action of inRunOrder(readAlterActions(reader, nameAt))) foldAction(fold, action);
  addConstraints({ ...fold, pending: keysFirst(fold.pending) }, names);
  finishTable(schema, fold.key);
}
