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

/** Reason why a change of rows cannot be split into batches. */
export interface BatchRefusal {
  /** Always `false`. */
  readonly isBatchable: false;
  /** Reason, as the end of a sentence that begins with "because". */
  readonly reason: string;
  /** Advice: what to write instead. */
  readonly advice: string;
}

/** Plan to split a change of rows into batches. */
export interface BatchPlan {
  /** Always `true`. */
  readonly isBatchable: true;
  /** Table, if its catalog entry is known. */
  readonly table: TableFacts | undefined;
  /**
   * `key`: in the order of a unique key; each row is visited once. `row-id`: by `ctid`, for a
   * statement that never matches the same row twice.
   */
  readonly by: "key" | "row-id";
  /** Columns of the key; empty with `row-id`, and if the table is unknown. */
  readonly key: readonly string[];
}

/** Decision whether and how a change of rows is split into batches. */
export type BatchDecision = BatchPlan | BatchRefusal;

const HELPER_ADVICE =
  "Write the new values into a helper table first, in parts of under 3,000 rows, and then " +
  "UPDATE or DELETE by joining that table.";
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
 * Decides whether an UPDATE or DELETE gives the same result when it is split into parts over
 * different rows. That is the case if its expressions read nothing that it changes, give the same
 * value at each evaluation, and its new values are not part of a constraint between rows.
 *
 * The answer is based on the given facts: planning uses the schema after the earlier migrations,
 * the run uses the catalog.
 *
 * @param change The statement.
 * @param facts The schema. An unknown table counts as one without foreign keys, triggers and unique
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
      return refuse("its WITH clause changes rows", "Write each change as a separate statement.");
    case "cursor":
      return refuse("it uses a cursor", "Write the condition over the key of the table.");
    case "unreadable":
      return refuse("its clauses cannot be parsed", PARTS_ADVICE);
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
    return refuse(`${name} is not an ordinary table`, "Change the underlying table instead.");
  }
  if (table === undefined) return undefined;
  const { tables, isEntangled } = findChanged(change, table, facts);
  if (isEntangled) {
    return refuse(
      `a foreign key makes deleted rows of ${name} change or check further rows of the same tables`,
      "Delete the referencing rows first, in separate statements. If the foreign key " +
        "references the same table, drop it first and add it again afterwards.",
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

/**
 * Checks what the statement reads in addition to the row: nothing that it changes, and nothing that
 * may differ between batches.
 */
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

/** Checks for DEFAULT, which may be any expression. */
function setsDefault({ reader, set: [from, to] }: RowChange): boolean {
  for (let at = from; at < to; at++) if (reader.is(at, "DEFAULT")) return true;
  return false;
}

/** Checks the views that the statement reads, including nested views. */
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
        `it calls ${unsafe.name}() in a query, which would give different values in each batch`,
        HELPER_ADVICE,
      );
    case "unordered":
      return refuse(
        `${unsafe.name} in a query may select or number different rows in each batch`,
        `${HELPER_ADVICE} A query that refers to the changed row, such as (SELECT … WHERE ` +
          "other.id = changed.id), is allowed.",
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
      "Insert the rows under their new keys in statements of under 3,000 rows each, then " +
        "delete the old ones.",
    );
  }
  if (unique !== undefined) {
    const columns = unique.columns.join(", ");
    return refuse(
      `it may change columns of a unique index (${columns}), which is checked across rows`,
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

/**
 * Rejects a DELETE that would fail after its first batches were committed, when a later batch meets
 * a referencing row.
 */
export function refuseBlocked(path: string, referencing: string): BatchRefusal {
  return refuse(
    `rows of ${referencing} reference rows of ${path} that it deletes`,
    `Delete or change those rows of ${referencing} first.`,
  );
}

/** Rejects a change of a table without a key to order its rows by. */
export function refuseWithoutKey(path: string): BatchRefusal {
  return refuse(
    `${path} has no primary key and no unique index over NOT NULL columns to order the batches by`,
    "Add a unique index over NOT NULL columns in an earlier migration, or split the change " +
      "into statements of under 3,000 rows each.",
  );
}
