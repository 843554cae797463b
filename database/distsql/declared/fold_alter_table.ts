import { alterPass } from "../rules/alter_pass.ts";
import { isTableConstraint, readTableConstraint } from "../rules/table_constraint.ts";
import type { StatementReader } from "../statement_reader.ts";
import { asyncTableAt } from "../statement_table.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
  getKey,
  hasIndex,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";
import { addColumn, addIdentity, readDefault, readType } from "./fold_column.ts";
import { foldRenameRelation } from "./fold_objects.ts";
import { addConstraints, type PendingConstraint, readPending } from "./pending_constraint.ts";
import { finishTable } from "./finish_table.ts";
import { readObject, readPart } from "./read_object.ts";
import {
  dropColumn,
  dropUnsupported,
  moveTable,
  renameColumn,
  renameTable,
} from "./table_changes.ts";

const USING: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/** One action of an ALTER TABLE. */
interface Alteration {
  readonly reader: StatementReader;
  /** Key of the table. */
  readonly key: string;
  /** Receives the constraints that the statement adds. */
  readonly pending: PendingConstraint[];
  /** Position of the action's first word. */
  readonly from: number;
  /** End of the action. */
  readonly to: number;
}

function changeTable(
  state: DeclaredSchema,
  key: string,
  change: (table: DeclaredTable) => DeclaredTable,
): DeclaredSchema {
  const table = state.tables.get(key);
  return table === undefined ? state : { ...state, tables: withEntry(state.tables, change(table)) };
}

function changeColumn(
  state: DeclaredSchema,
  key: string,
  name: string,
  change: (column: DeclaredColumn) => DeclaredColumn,
): DeclaredSchema {
  return changeTable(state, key, (table) => ({
    ...table,
    columns: table.columns.map((column) => column.name === name ? change(column) : column),
  }));
}

function foldDrop(
  state: DeclaredSchema,
  { reader, key, from, to }: Alteration,
): DeclaredSchema {
  if (reader.key(from + 1) === "CONSTRAINT") {
    const name = readPart(reader, reader.skip(from + 2, "IF", "EXISTS"));
    const after = changeTable(state, key, (table) => ({
      ...table,
      constraints: table.constraints.filter((one) => one.name !== name),
    }));
    return reader.is(to - 1, "CASCADE")
      ? { ...after, tables: dropUnsupported(after.tables, key) }
      : after;
  }
  const at = reader.skip(reader.skip(from + 1, "COLUMN"), "IF", "EXISTS");
  return dropColumn(state, key, readPart(reader, at), reader.is(to - 1, "CASCADE"));
}

function foldAdd(state: DeclaredSchema, alteration: Alteration): DeclaredSchema {
  const { reader, key, pending, from, to } = alteration;
  if (isTableConstraint(reader, from + 1)) return foldAddConstraint(state, alteration);
  const afterColumn = reader.skip(from + 1, "COLUMN");
  const at = reader.skip(afterColumn, "IF", "NOT", "EXISTS");
  const name = readPart(reader, at);
  if (state.tables.get(key)!.columns.some((column) => column.name === name)) return state;
  const added = addColumn(state, key, reader, at, to);
  pending.push(...added.pending);
  return added.state;
}

function foldAddConstraint(state: DeclaredSchema, alteration: Alteration): DeclaredSchema {
  const { reader, key, pending, from, to } = alteration;
  const read = readTableConstraint(reader, from + 1, to);
  if (read.usesIndex) return takeOverIndex(state, alteration);
  if (read.kind === "not_null") {
    return changeColumn(
      state,
      key,
      readPart(reader, read.columns[0].end - 1),
      (one) => ({ ...one, notNull: true }),
    );
  }
  const constraint = readPending(state, reader, from + 1, to, state.tables.get(key)!);
  if (constraint) pending.push(constraint);
  return state;
}

/** Applies ADD CONSTRAINT name UNIQUE USING INDEX index: the index takes the constraint's name. */
function takeOverIndex(
  state: DeclaredSchema,
  { reader, key, from, to }: Alteration,
): DeclaredSchema {
  const { name, kind } = readTableConstraint(reader, from + 1, to);
  const indexAt = reader.find("INDEX", from, to) + 1;
  const index = readObject(reader, indexAt).name;
  return changeTable(state, key, (table) => {
    const found = table.indexes.find((one) => one.name === index);
    const constraint = {
      name: name ? readPart(reader, name.end - 1) : index,
      kind: kind === "primary_key" ? "primary_key" as const : "unique" as const,
      columns: found?.columns ?? [],
      included: [],
      text: found?.text ?? "",
    };
    return {
      ...table,
      indexes: table.indexes.filter((one) => one.name !== index),
      constraints: [...table.constraints, constraint],
    };
  });
}

/** Detaches the sequence of a serial column whose default became an ordinary one. */
function releaseSequence(state: DeclaredSchema, key: string | undefined): DeclaredSchema {
  const sequence = key === undefined ? undefined : state.sequences.get(key);
  if (sequence === undefined) return state;
  return { ...state, sequences: withEntry(state.sequences, { ...sequence, origin: "statement" }) };
}

function foldAlterColumn(
  state: DeclaredSchema,
  { reader, key, from, to }: Alteration,
): DeclaredSchema {
  const nameAt = reader.skip(from + 1, "COLUMN");
  const name = readPart(reader, nameAt);
  const at = reader.nameEnd(nameAt);
  const column = state.tables.get(key)!.columns.find((one) => one.name === name);
  if (column === undefined) return state;
  const set = (change: Partial<DeclaredColumn>): DeclaredSchema =>
    changeColumn(state, key, name, (one) => ({ ...one, ...change }));
  const isType = reader.is(at, "TYPE") || reader.is(at, "SET", "DATA", "TYPE");
  if (isType) {
    const typeAt = at + (reader.is(at, "TYPE") ? 1 : 3);
    const end = reader.findEnd(USING, typeAt, to);
    const type = readType(state, reader, typeAt, end);
    return set({
      ...type,
      labelCheck: type.enum === undefined || type.isArray ? undefined : column.labelCheck,
    });
  }
  if (reader.is(at, "SET", "NOT", "NULL")) return set({ notNull: true });
  if (reader.is(at, "DROP", "NOT", "NULL")) return set({ notNull: false });
  if (reader.is(at, "DROP", "DEFAULT")) {
    const plain = column.numbering === "serial" ? releaseSequence(state, column.sequence) : state;
    return changeColumn(plain, key, name, (one) => ({
      ...one,
      default: undefined,
      ...(one.numbering === "identity" ? {} : { numbering: undefined, sequence: undefined }),
    }));
  }
  if (reader.is(at, "DROP", "EXPRESSION")) return set({ generated: undefined });
  if (reader.is(at, "DROP", "IDENTITY")) {
    if (column.numbering !== "identity") return state;
    const sequences = column.sequence === undefined
      ? state.sequences
      : withoutEntries(state.sequences, [column.sequence]);
    state = { ...state, sequences };
    return set({ numbering: undefined, sequence: undefined });
  }
  if (reader.is(at, "SET", "DEFAULT")) {
    const value = readDefault(state, reader, at + 2, to, column.enum);
    if (column.numbering === "serial" && value.sequence === column.sequence) return state;
    const plain = column.numbering === "serial" ? releaseSequence(state, column.sequence) : state;
    return changeColumn(plain, key, name, (one) => ({ ...one, ...value, numbering: undefined }));
  }
  if (reader.is(at, "ADD", "GENERATED")) {
    const [after, sequence] = addIdentity(state, state.tables.get(key)!, name, reader, at, to);
    return changeColumn(
      after,
      key,
      name,
      (one) => ({ ...one, notNull: true, numbering: "identity", sequence }),
    );
  }
  return state;
}

function foldRename(state: DeclaredSchema, { reader, key, from }: Alteration): DeclaredSchema {
  if (reader.is(from + 1, "TO")) return renameTable(state, key, readPart(reader, from + 2));
  if (reader.is(from + 1, "CONSTRAINT")) {
    const [old, name] = [readPart(reader, from + 2), readPart(reader, from + 4)];
    return changeTable(state, key, (table) => ({
      ...table,
      constraints: table.constraints.map((one) => one.name === old ? { ...one, name } : one),
    }));
  }
  const at = reader.skip(from + 1, "COLUMN");
  return renameColumn(state, key, readPart(reader, at), readPart(reader, at + 2));
}

function foldAction(state: DeclaredSchema, alteration: Alteration): DeclaredSchema {
  const { reader, key, from } = alteration;
  switch (reader.key(from)) {
    case "DROP":
      return foldDrop(state, alteration);
    case "ADD":
      return foldAdd(state, alteration);
    case "ALTER":
      return reader.key(from + 1) === "CONSTRAINT" ? state : foldAlterColumn(state, alteration);
    case "RENAME":
      return foldRename(state, alteration);
    case "SET":
      return reader.is(from + 1, "SCHEMA")
        ? moveTable(state, key, readPart(reader, from + 2))
        : state;
    default:
      return state;
  }
}

/**
 * Applies an ALTER TABLE, with its actions in PostgreSQL's order: names of keys are generated
 * before those of CHECKs and foreign keys. Ignores an unknown table.
 */
export function foldAlterTable(
  state: DeclaredSchema,
  reader: StatementReader,
  names: Map<number, string>,
): DeclaredSchema {
  if (asyncTableAt(reader) >= 0) return state;
  const written = readObject(reader, reader.alteredTableAt());
  const table = findObject(state.tables, written);
  if (table === undefined) return foldRenameRelation(state, reader);
  const key = getKey(table);
  const added: PendingConstraint[] = [];
  const actions = reader.list(reader.skip(written.end, "*"), reader.size)
    .toSorted((a, b) => alterPass(reader, a[0]) - alterPass(reader, b[0]));
  for (const [from, to] of actions) {
    state = foldAction(state, { reader, key, pending: added, from, to });
  }
  const pending = added.toSorted((a, b) => Number(hasIndex(b.kind)) - Number(hasIndex(a.kind)));
  return finishTable(addConstraints(state, key, pending, reader, names), key);
}
