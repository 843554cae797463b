import { findDeleted, findReadableNames } from "./changed_tables.ts";
import {
  callsVolatile,
  type ExpressionText,
  findQueries,
  findRead,
  findUnsafeExpression,
  readsCatalog,
  type UnsafeExpression,
} from "./find_reads.ts";
import { type CompoundChange, filledColumn, type RowChange } from "./row_change.ts";
import { findKey, findTable, type SchemaFacts, type TableFacts } from "./schema_facts.ts";

/** Why a change of rows cannot be cut into batches. */
export interface BatchRefusal {
  /** Always `false`. */
  readonly isBatchable: false;
  /** The reason, as the end of a sentence that begins with "because". */
  readonly reason: string;
  /** What to write instead. */
  readonly advice: string;
}

/** How a change of rows is cut into batches. */
export interface BatchPlan {
  /** Always `true`. */
  readonly isBatchable: true;
  /** The table, where its catalog entry is known. */
  readonly table: TableFacts | undefined;
  /**
   * `key`: along a unique key; each row is looked at once. `row-id`: by `ctid`, for a statement that never meets the
   * same row twice.
   */
  readonly by: "key" | "row-id";
  /** The columns of the key; empty with `row-id`, and where the table is not known. */
  readonly key: readonly string[];
}

/** Whether and how a change of rows can be cut into batches. */
export type BatchDecision = BatchPlan | BatchRefusal;

const HELPER_ADVICE =
  "Write the new values into a table of their own first, in parts of under 3,000 rows, and then " +
  "UPDATE or DELETE by joining that table.";
const PARTS_ADVICE = "Write it in parts of under 3,000 rows, such as by ranges of the key.";
const DROP_ADVICE =
  "Drop the constraint before and add it again after, or write the change in parts of under 3,000 rows.";
const VALUE_ADVICE = "Write a value, or an expression of the row's own columns, in its place.";

function refuse(reason: string, advice: string): BatchRefusal {
  return { isBatchable: false, reason, advice };
}

/**
 * Decides whether an UPDATE or DELETE gives the same rows when it is run in parts, each over other rows. It may when its
 * expressions read nothing that it changes, are the same each time that they are evaluated, and when its new values
 * take part in no constraint between rows.
 *
 * The answer holds for the facts that are given: planning asks with the schema as the earlier migrations leave it, the
 * run asks again with the catalog.
 *
 * @param change The statement.
 * @param facts The schema. A table that it does not know counts as one without foreign keys, triggers and unique
 * indexes.
 */
export function decideBatch(change: RowChange | CompoundChange, facts: SchemaFacts): BatchDecision {
  if (change.verb === "compound") return refuseCompound(change);
  const table = findTable(facts, change.path);
  return refuseTable(change, table, facts) ?? refuseReads(change, table, facts) ??
    refuseColumns(change, table, facts) ??
    chooseOrder(change, table);
}

function refuseCompound({ reason }: CompoundChange): BatchRefusal {
  switch (reason) {
    case "modifying-cte":
      return refuse("its WITH clause changes rows", "Write each change as a statement of its own.");
    case "cursor":
      return refuse("it uses a cursor", "Write the condition by the key of the table.");
    case "unreadable":
      return refuse("its clauses cannot be told apart", PARTS_ADVICE);
  }
}

function refuseTable(
  change: RowChange,
  table: TableFacts | undefined,
  facts: SchemaFacts,
): BatchRefusal | undefined {
  const name = change.path;
  const isView = table === undefined &&
    facts.views.some((view) => name === view.name || name.endsWith(`.${view.name}`));
  if (isView || table?.isPlain === false) {
    return refuse(`${name} is not an ordinary table`, "Change the table that holds the rows.");
  }
  if (table === undefined) return undefined;
  const { tables, isEntangled } = findChanged(change, table, facts);
  if (isEntangled) {
    return refuse(
      `a foreign key makes deleted rows of ${name} change or check further rows of the same tables`,
      "Delete the referencing rows first, in statements of their own; within one table, drop the foreign key before and " +
        "add it again after.",
    );
  }
  const triggered = [...tables].find(({ hasTriggers }) => hasTriggers);
  return triggered === undefined
    ? undefined
    : refuse(`${triggered.name} has triggers`, PARTS_ADVICE);
}

function findChanged(
  change: RowChange,
  table: TableFacts,
  facts: SchemaFacts,
): ReturnType<typeof findDeleted> {
  return change.verb === "delete"
    ? findDeleted(facts, table)
    : { tables: new Set([table]), isEntangled: false };
}

/** What the statement reads beside the row: nothing that it changes, and nothing that may come out differently. */
function refuseReads(
  change: RowChange,
  table: TableFacts | undefined,
  facts: SchemaFacts,
): BatchRefusal | undefined {
  const { reader, alias } = change;
  const text = findQueries(reader, [change.with, change.from]);
  const changed = table === undefined
    ? [{ name: change.path.slice(change.path.lastIndexOf(".") + 1) } as TableFacts]
    : [
      ...findChanged(change, table, facts).tables,
    ];
  const read = findRead(text, findReadableNames(facts, changed));
  if (read !== undefined) return refuse(`it reads ${read}, which it changes`, HELPER_ADVICE);
  if (readsCatalog(text)) return refuse("it reads the catalog", VALUE_ADVICE);
  const unsafe = findUnsafeExpression(text, { functions: facts.functions, alias }) ??
    findUnsafeView(text, facts);
  if (unsafe !== undefined) return refuseExpression(unsafe);
  return setsDefault(change) ? refuse("it sets a column to its DEFAULT", VALUE_ADVICE) : undefined;
}

/** The default may be an expression of any kind. */
function setsDefault({ reader, set: [from, to] }: RowChange): boolean {
  for (let at = from; at < to; at++) if (reader.is(at, "DEFAULT")) return true;
  return false;
}

/** The same for the views that the statement reads, and for those that they read. */
function findUnsafeView(text: ExpressionText, facts: SchemaFacts): UnsafeExpression | undefined {
  const seen = new Set<string>();
  const pending = [text];
  for (const one of pending) {
    for (const view of facts.views) {
      if (seen.has(view.name) || findRead(one, new Set([view.name])) === undefined) continue;
      seen.add(view.name);
      const query = findQueries(view.reader, [[0, view.reader.size]]);
      const unsafe = findUnsafeExpression(query, { functions: facts.functions, isView: true });
      if (unsafe !== undefined) return unsafe;
      pending.push(query);
    }
  }
  return undefined;
}

function refuseExpression(unsafe: UnsafeExpression): BatchRefusal {
  switch (unsafe.kind) {
    case "function":
      return refuse(
        `it calls ${unsafe.name}(), which may read the rows that it changes`,
        VALUE_ADVICE,
      );
    case "volatile":
      return refuse(
        `it calls ${unsafe.name}() in a query, where each batch would get other values`,
        HELPER_ADVICE,
      );
    case "unordered":
      return refuse(
        `${unsafe.name} in a query may choose or number other rows for each batch`,
        `${HELPER_ADVICE} A query that names the changed row, such as (SELECT … WHERE other.id = changed.id), is fine.`,
      );
    case "time":
      return refuse(
        "it reads the clock in a way that cannot be kept the same for all batches",
        VALUE_ADVICE,
      );
    case "escape":
      return refuse(
        "it has a name or a text with Unicode escapes",
        "Write the characters themselves.",
      );
    case "system-column":
      return refuse(`it reads ${unsafe.name}, which every change of a row changes`, VALUE_ADVICE);
  }
}

/** Whether the columns that an UPDATE sets decide about other rows, or about the order of the batches. */
function refuseColumns(
  change: RowChange,
  table: TableFacts | undefined,
  facts: SchemaFacts,
): BatchRefusal | undefined {
  if (change.verb === "delete" || table === undefined) return undefined;
  const isSet = (column: string): boolean =>
    change.columns.includes(column) || table.generated.includes(column);
  const unique = table.uniques.find(({ columns }) => columns.some(isSet));
  if (unique?.isPrimary === true) {
    return refuse(
      `it changes the primary key of ${change.path}`,
      "Insert the rows under their new keys in parts of under 3,000 rows, then delete the old ones.",
    );
  }
  if (unique !== undefined) {
    const columns = unique.columns.join(", ");
    return refuse(
      `it may change columns of a unique index (${columns}), which compares rows`,
      DROP_ADVICE,
    );
  }
  const referenced = facts.foreignKeys.find(({ target, columns }) =>
    target === table && columns.some(isSet)
  );
  return referenced === undefined ? undefined : refuse(
    `it changes columns that a foreign key of ${referenced.table.name} references`,
    DROP_ADVICE,
  );
}

function chooseOrder(change: RowChange, table: TableFacts | undefined): BatchDecision {
  if (table === undefined) return { isBatchable: true, table, by: "key", key: [] };
  const key = findKey(table);
  if (key !== undefined) return { isBatchable: true, table, by: "key", key };
  const meetsRowsOnce = change.verb === "delete"
    ? !callsVolatile(change.reader, change.where)
    : filledColumn(change) !== undefined;
  if (meetsRowsOnce) return { isBatchable: true, table, by: "row-id", key: [] };
  return refuseWithoutKey(change.path);
}

/** The refusal of a DELETE that fails: its first batches would be done when a later one meets a referencing row. */
export function refuseBlocked(path: string, referencing: string): BatchRefusal {
  return refuse(
    `rows of ${referencing} reference rows of ${path} that it deletes`,
    `Delete or change those rows of ${referencing} first.`,
  );
}

/** The refusal of a table that nothing orders. */
export function refuseWithoutKey(path: string): BatchRefusal {
  return refuse(
    `${path} has no primary key and no unique index over NOT NULL columns to go along`,
    "Add a unique index over NOT NULL columns in an earlier migration, or write the change in parts of under 3,000 rows.",
  );
}
