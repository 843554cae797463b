import { type QualifiedName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { type ColumnDefinition, readColumn } from "./column_definition.ts";
import {
  isTableConstraint,
  readTableConstraint,
  type TableConstraint,
} from "./table_constraint.ts";

/** Change of ALTER COLUMN. */
export type ColumnChange =
  | "type"
  | "set_not_null"
  | "drop_not_null"
  | "set_default"
  | "drop_default"
  | "add_identity"
  | "drop_identity"
  | "set_expression"
  | "drop_expression"
  | "other";

interface ActionRange {
  /** Position of the first word. */
  readonly from: number;
  /** End of the action. */
  readonly to: number;
}

interface Drop<Kind> {
  readonly kind: Kind;
  readonly name: string;
  /** True with IF EXISTS. */
  readonly isGuarded: boolean;
  /** True with CASCADE. */
  readonly cascades: boolean;
}

interface Rename<Kind> {
  readonly kind: Kind;
  readonly name: string;
  readonly newName: string;
}

/** Action of ALTER TABLE, by positions in the statement. Names are as in the catalog. */
export type AlterAction =
  & ActionRange
  & (
    | {
      readonly kind: "add_column";
      readonly column: ColumnDefinition;
      /** True with IF NOT EXISTS. */
      readonly isGuarded: boolean;
    }
    | { readonly kind: "add_constraint"; readonly constraint: TableConstraint }
    | Drop<"drop_column">
    | Drop<"drop_constraint">
    | {
      readonly kind: "alter_column";
      readonly column: QualifiedName;
      readonly change: ColumnChange;
      /** Position after the words of the change: the new type, the default. */
      readonly valueAt: number;
    }
    | Rename<"rename_column">
    | Rename<"rename_constraint">
    | { readonly kind: "rename_table"; readonly newName: string }
    | { readonly kind: "set_schema"; readonly schema: string }
    | { readonly kind: "validate"; readonly constraint: QualifiedName }
    | { readonly kind: "other" }
  );

/** Actions of some kinds. */
export type ActionOf<Kind extends AlterAction["kind"]> = Extract<AlterAction, { kind: Kind }>;

const COLUMN_CHANGES: readonly (readonly [change: ColumnChange, ...words: string[]])[] = [
  ["type", "TYPE"],
  ["type", "SET", "DATA", "TYPE"],
  ["set_not_null", "SET", "NOT", "NULL"],
  ["drop_not_null", "DROP", "NOT", "NULL"],
  ["set_default", "SET", "DEFAULT"],
  ["drop_default", "DROP", "DEFAULT"],
  ["add_identity", "ADD", "GENERATED"],
  ["drop_identity", "DROP", "IDENTITY"],
  ["set_expression", "SET", "EXPRESSION"],
  ["drop_expression", "DROP", "EXPRESSION"],
];

function readAlterColumn(reader: StatementReader, range: ActionRange): ActionOf<"alter_column"> {
  const column = readName(reader, reader.skip(range.from + 1, "COLUMN"));
  const [change, ...words] =
    COLUMN_CHANGES.find(([, ...words]) => reader.is(column.end, ...words)) ?? ["other" as const];
  return { ...range, kind: "alter_column", column, change, valueAt: column.end + words.length };
}

function readRename(reader: StatementReader, range: ActionRange): AlterAction {
  const at = range.from + 1;
  const nameAfter = (to: number): string => readName(reader, to + 1).name;
  if (reader.is(at, "TO")) return { ...range, kind: "rename_table", newName: nameAfter(at) };
  const isConstraint = reader.is(at, "CONSTRAINT");
  const { name, end } = readName(reader, isConstraint ? at + 1 : reader.skip(at, "COLUMN"));
  const rename = { ...range, name, newName: nameAfter(end) };
  return isConstraint
    ? { ...rename, kind: "rename_constraint" }
    : { ...rename, kind: "rename_column" };
}

function readAction(reader: StatementReader, from: number, to: number): AlterAction {
  const range = { from, to };
  const next = from + 1;
  switch (reader.key(from)) {
    case "ADD": {
      if (isTableConstraint(reader, next)) {
        return {
          ...range,
          kind: "add_constraint",
          constraint: readTableConstraint(reader, next, to),
        };
      }
      const at = reader.skip(next, "COLUMN");
      const nameAt = reader.skip(at, "IF", "NOT", "EXISTS");
      const column = readColumn(reader, nameAt, to);
      return { ...range, kind: "add_column", column, isGuarded: nameAt > at };
    }
    case "DROP": {
      const isConstraint = reader.is(next, "CONSTRAINT");
      const at = isConstraint ? next + 1 : reader.skip(next, "COLUMN");
      const nameAt = reader.skip(at, "IF", "EXISTS");
      const drop = {
        ...range,
        name: readName(reader, nameAt).name,
        isGuarded: nameAt > at,
        cascades: reader.is(to - 1, "CASCADE"),
      };
      return isConstraint ? { ...drop, kind: "drop_constraint" } : { ...drop, kind: "drop_column" };
    }
    case "ALTER":
      if (!reader.is(next, "CONSTRAINT")) return readAlterColumn(reader, range);
      break;
    case "RENAME":
      return readRename(reader, range);
    case "SET":
      if (!reader.is(next, "SCHEMA")) break;
      return { ...range, kind: "set_schema", schema: readName(reader, next + 1).name };
    case "VALIDATE":
      return { ...range, kind: "validate", constraint: readName(reader, next + 1) };
  }
  return { ...range, kind: "other" };
}

/**
 * Parses the actions of an ALTER TABLE, in the written order.
 *
 * @param reader The statement.
 * @param tableAt Position of the table's name.
 */
export function readAlterActions(
  reader: StatementReader,
  tableAt: number = reader.alteredTableAt(),
): AlterAction[] {
  const start = reader.skip(reader.nameEnd(tableAt), "*");
  return reader.list(start, reader.size).map(([from, to]) => readAction(reader, from, to));
}

/** Passes of ALTER TABLE, in PostgreSQL's order. */
const PASS = { drop: 0, type: 1, column: 2, attribute: 3, key: 4, constraint: 5, misc: 6 } as const;

const CHANGE_PASS: Readonly<Partial<Record<ColumnChange, number>>> = {
  type: PASS.type,
  set_default: PASS.constraint,
  add_identity: PASS.constraint,
  drop_not_null: PASS.drop,
  drop_default: PASS.drop,
  drop_identity: PASS.drop,
  drop_expression: PASS.drop,
};

/** Returns the pass in which PostgreSQL runs an action (PostgreSQL 15, ATPrepCmd in tablecmds.c). */
function getPass(action: AlterAction): number {
  switch (action.kind) {
    case "drop_column":
    case "drop_constraint":
      return PASS.drop;
    case "add_column":
      return PASS.column;
    case "add_constraint": {
      const { kind } = action.constraint;
      if (kind === "not_null") return PASS.attribute;
      return kind === "unique" || kind === "primary_key" ? PASS.key : PASS.constraint;
    }
    case "alter_column":
      return CHANGE_PASS[action.change] ?? PASS.attribute;
    default:
      return PASS.misc;
  }
}

/** Returns actions in the order in which PostgreSQL runs them: drops first. */
export function inRunOrder<T extends AlterAction>(actions: readonly T[]): T[] {
  return actions.toSorted((a, b) => getPass(a) - getPass(b));
}
