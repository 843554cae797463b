import { readNotNullCheck } from "../syntax/not_null_check.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import type { WrittenName } from "../schema/read_object.ts";
import { getName, type QualifiedName, readName } from "../../sql/sql_name.ts";
import type { ColumnSync } from "./column_sync.ts";
import { findUnsafeExpression, type UnsafeExpression } from "./find_unsafe.ts";
import { listReferencing, type Relation } from "./relation.ts";
import { type CompoundChange, getPath, readAlias, type RowChange } from "./row_change.ts";

/** Reason why a change of rows cannot be split into batches. */
export interface BatchRefusal {
  /** Always `false`. */
  readonly isBatchable: false;
  /** Reason, as the end of a sentence that begins with "because". */
  readonly reason: string;
  /** Advice: what to write instead. */
  readonly advice: string;
}

/** Plan to split a change of rows into batches along a key; each row is visited once. */
export interface BatchPlan {
  /** Always `true`. */
  readonly isBatchable: true;
  /** Columns of the key with their types, in order. */
  readonly key: readonly { readonly name: string; readonly type: string }[];
}

/** Decision whether and how a change of rows is split into batches. */
export type BatchDecision = BatchPlan | BatchRefusal;

/** Schema that decides about a change. */
export interface BatchScope {
  /** The changed relation. */
  readonly table: Relation;
  /** The relation of FROM or USING, if that is a single name. */
  readonly joined: Relation;
  /** Names of user-defined functions. */
  readonly functions: ReadonlySet<string>;
  /**
   * Columns of the changed relation that triggers keep equal.
   * @default []
   */
  readonly syncs?: readonly ColumnSync[];
}

/** Finds a relation by its name. */
export type FindRelation = (name: WrittenName) => Promise<Relation>;

/**
 * Reads the schema that decides about a change.
 *
 * @param change The statement, if it updates or deletes rows.
 * @param find Finds a relation.
 * @param functions Names of user-defined functions.
 */
export async function readScope(
  change: RowChange | CompoundChange | undefined,
  find: FindRelation,
  functions: ReadonlySet<string>,
): Promise<BatchScope> {
  const plain = change === undefined || change.verb === "compound" ? undefined : change;
  const joined = plain && readJoin(plain);
  return {
    table: plain && await find(plain.table),
    joined: joined && await find(joined.table),
    functions,
  };
}

const HELPER_ADVICE =
  "Write the new values into a helper table with a primary key first, in parts of under 3,000 " +
  "rows, and then UPDATE or DELETE by joining it: FROM helper WHERE helper.id = changed.id.";
const PARTS_ADVICE =
  "Split it into statements of under 3,000 rows each, for example by ranges of the key.";
const DROP_ADVICE =
  "Drop the constraint first and add it again afterwards, or split the change into " +
  "statements of under 3,000 rows each.";
const VALUE_ADVICE = "Use a constant, or an expression over columns of the same row.";

function refuse(reason: string, advice: string): BatchRefusal {
  return { isBatchable: false, reason, advice };
}

/**
 * Decides whether an UPDATE or DELETE is split into batches. It is, if that gives the same result
 * by construction: its expressions read only the row itself and at most one row of another table,
 * which it joins by that table's key; the changed columns are in no key; and the table has a key to
 * order the batches by. Everything else must fit into one transaction.
 *
 * @param change The statement.
 * @param scope The schema.
 */
export function decideBatch(change: RowChange | CompoundChange, scope: BatchScope): BatchDecision {
  if (change.verb === "compound") return refuseCompound(change);
  const { table } = scope;
  const path = getPath(change.table);
  if (table === undefined) return refuse(`there is no table ${path}`, "Check the name.");
  if (table === "other") {
    return refuse(`${path} is not an ordinary table`, "Change the underlying table instead.");
  }
  return refuseTable(change, table, scope) ?? refuseReads(change, table, scope) ??
    refuseColumns(change, table, scope) ?? chooseKey(change, table);
}

function refuseCompound({ reason }: CompoundChange): BatchRefusal {
  switch (reason) {
    case "with":
      return refuse("it has a WITH clause", HELPER_ADVICE);
    case "cursor":
      return refuse("it uses a cursor", "Write the condition over the key of the table.");
    case "unreadable":
      return refuse("its clauses cannot be parsed", PARTS_ADVICE);
  }
}

/** Checks for a trigger in a description of an object that depends on a table. */
export function isTrigger(what: string): boolean {
  return /^(?:trigger|rule on) /.test(what);
}

function refuseTable(
  change: RowChange,
  table: TableSchema,
  { syncs = [] }: BatchScope,
): BatchRefusal | undefined {
  const own = syncs.flatMap(({ name }) => [`trigger ${name}_new on `, `trigger ${name}_old on `]);
  const trigger = table.dependents?.find((what) =>
    isTrigger(what) && !own.some((start) => what.startsWith(start))
  );
  if (trigger !== undefined) return refuse(`${table.name} has a ${trigger}`, PARTS_ADVICE);
  if (change.verb === "update") return undefined;
  const referencing = listReferencing(table)[0]?.from.table;
  return referencing === undefined ? undefined : refuse(
    `a foreign key of ${referencing} references ${getPath(change.table)}, so a later batch could ` +
      "fail or change further rows",
    `${PARTS_ADVICE} Or drop the foreign key first and add it again afterwards.`,
  );
}

/** Checks what the statement reads in addition to the row. */
function refuseReads(
  change: RowChange,
  table: TableSchema,
  { joined, functions }: BatchScope,
): BatchRefusal | undefined {
  const { reader, from, set: [setFrom, setTo] } = change;
  const unsafe = findUnsafeExpression(reader, functions);
  if (unsafe !== undefined) return refuseExpression(unsafe);
  const refusal = from[0] === from[1] ? undefined : refuseJoin(change, table, joined);
  if (refusal !== undefined) return refusal;
  // a default may be any expression
  for (let at = setFrom; at < setTo; at++) {
    if (reader.is(at, "DEFAULT")) return refuse("it sets a column to its DEFAULT", VALUE_ADVICE);
  }
  return undefined;
}

function refuseJoin(
  change: RowChange,
  table: TableSchema,
  joined: Relation,
): BatchRefusal | undefined {
  const list = readJoin(change);
  const text = change.reader.text(...change.from);
  if (list === undefined || joined === undefined || joined === "other") {
    return refuse(`it joins ${text}, which is not one table`, HELPER_ADVICE);
  }
  if (joined.name === table.name && joined.schema === table.schema) {
    return refuse(`it reads ${table.name}, which it changes`, HELPER_ADVICE);
  }
  const pinned = findPinned(change, list.alias);
  const isByKey = keysOf(joined).some((key) => key.every((column) => pinned.has(column)));
  return isByKey
    ? undefined
    : refuse(`it joins ${text} in another way than by the key of ${joined.name}`, HELPER_ADVICE);
}

/** Parses a FROM or USING clause of one table; `undefined` for any other. */
export function readJoin(
  { reader, from: [start, to] }: RowChange,
): { readonly table: QualifiedName; readonly alias: string } | undefined {
  const table = readName(reader, reader.skip(start, "ONLY"));
  const alias = table.name === "" ? undefined : readAlias(reader, table.end, to);
  if (alias === undefined) return undefined;
  return { table, alias: getName(reader.token(alias < 0 ? table.end - 1 : alias)!) };
}

/**
 * Finds the columns of a joined table that the condition compares with columns of the changed row:
 * `other.id = changed.other_id AND …`. Only a condition of conjuncts is read.
 */
function findPinned(
  { reader, where: [start, to], alias: changed }: RowChange,
  joined: string,
): ReadonlySet<string> {
  const pinned = new Set<string>();
  if (reader.find(MIXED, start, to) >= 0) return pinned;
  for (let from = start; from < to;) {
    const end = reader.findEnd("AND", from, to);
    const isComparison = end === from + 7 && reader.is(from + 1, ".") && reader.is(from + 3, "=") &&
      reader.is(from + 5, ".");
    if (isComparison) {
      const [one, column, other, target] = [from, from + 2, from + 4, from + 6].map((at) =>
        getName(reader.token(at)!)
      );
      if (one === joined && other === changed) pinned.add(column);
      if (other === joined && one === changed) pinned.add(target);
    }
    from = end + 1;
  }
  return pinned;
}

/** Words after which an AND does not join two conditions of the whole. */
const MIXED: ReadonlySet<string> = new Set(["OR", "BETWEEN", "CASE"]);

/** Returns the columns of the keys that identify a row, the primary key first. */
function keysOf({ constraints, indexes }: TableSchema): string[][] {
  const keys = constraints.filter(({ type, definition }) =>
    type === "primary_key" || (type === "unique" && !/\bDEFERRABLE\b/i.test(definition))
  ).sort((a, b) => Number(b.type === "primary_key") - Number(a.type === "primary_key"));
  return [
    ...keys.map(({ columns }) => columns),
    ...indexes.flatMap(({ unique, valid, keys }) => unique && valid && keys ? [keys] : []),
  ].filter((columns) => columns.length > 0);
}

function refuseExpression(unsafe: UnsafeExpression): BatchRefusal {
  switch (unsafe.kind) {
    case "query":
      return refuse("it has a subquery", HELPER_ADVICE);
    case "function":
      return refuse(
        `it calls ${unsafe.name}(), which may read the rows that it changes`,
        VALUE_ADVICE,
      );
    case "time":
      return refuse(
        "it reads the clock in a way that cannot be fixed to one moment for all batches",
        VALUE_ADVICE,
      );
    case "escape":
      return refuse(
        "it has an identifier or string with Unicode escapes",
        "Write the characters without escapes.",
      );
    case "system-column":
      return refuse(`it reads ${unsafe.name}, which every change of a row changes`, VALUE_ADVICE);
  }
}

/** Checks whether the columns that an UPDATE sets affect other rows or the order of the batches. */
function refuseColumns(
  change: RowChange,
  table: TableSchema,
  { syncs = [] }: BatchScope,
): BatchRefusal | undefined {
  if (change.verb === "delete") return undefined;
  const path = getPath(change.table);
  const synced = syncs.filter(({ from, to }) =>
    [from, to].some((name) => change.columns.includes(name))
  ).flatMap((sync) => isCopy(change, sync) ? [] : [sync.from, sync.to]);
  const isSet = (name: string): boolean =>
    change.columns.includes(name) || synced.includes(name) ||
    table.columns.some((column) => column.name === name && column.generated !== undefined);
  const key = table.constraints.find(({ type, columns }) =>
    type === "primary_key" && columns.some(isSet)
  );
  if (key !== undefined) {
    return refuse(
      `it changes the primary key of ${path}`,
      "Insert the rows under their new keys in statements of under 3,000 rows each, then " +
        "delete the old ones.",
    );
  }
  const unique = [
    ...table.constraints.filter(({ type }) => type === "unique" || type === "exclude"),
    ...table.indexes.filter(({ unique }) => unique),
  ].find(({ columns }) => columns.some(isSet));
  if (unique !== undefined) {
    return refuse(
      `it may change columns of a unique index (${unique.columns.join(", ")}), which is checked ` +
        "across rows",
      DROP_ADVICE,
    );
  }
  const referenced = listReferencing(table).find(({ references }) =>
    references?.columns.some(isSet)
  );
  return referenced === undefined ? undefined : refuse(
    `it changes columns that a foreign key of ${referenced.from.table} references`,
    DROP_ADVICE,
  );
}

/** Checks for `SET new = old`, after which the triggers give the old column its own value. */
function isCopy({ reader, set: [start, to] }: RowChange, sync: ColumnSync): boolean {
  return to - start === 3 && reader.is(start + 1, "=") && reader.isName(start + 2) &&
    getName(reader.token(start)!) === sync.to && getName(reader.token(start + 2)!) === sync.from;
}

function chooseKey(change: RowChange, table: TableSchema): BatchDecision {
  const key = keysOf(table).find((columns) => columns.every((name) => isNotNull(table, name)));
  if (key !== undefined) {
    const types = new Map(table.columns.map(({ name, type }) => [name, type]));
    return {
      isBatchable: true,
      key: key.map((name) => ({ name, type: types.get(name) ?? "text" })),
    };
  }
  const path = getPath(change.table);
  return refuse(
    `${path} has no primary key and no unique index over NOT NULL columns to order the batches by`,
    "Add a unique index over NOT NULL columns in an earlier migration, or split the change " +
      "into statements of under 3,000 rows each.",
  );
}

/** Checks whether a column is declared NOT NULL, or a validated CHECK forbids NULL. */
function isNotNull({ columns, constraints }: TableSchema, name: string): boolean {
  return columns.some((column) => column.name === name && column.notNull) ||
    constraints.some(({ type, validated, definition }) =>
      type === "check" && validated && readNotNullCheck(definition)?.column === name
    ) || constraints.some(({ type, columns }) => type === "primary_key" && columns.includes(name));
}
