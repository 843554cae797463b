import { getIncompatibility } from "../../distsql/incompatibilities.ts";
import { UnsupportedStatementError } from "../../distsql/errors.ts";
import { StatementReader } from "../../distsql/statement_reader.ts";
import { tokenize } from "../../distsql/tokenize.ts";
import { type BatchRefusal, decideBatch, refuseWithoutKey } from "./batch_decision.ts";
import { findDeleted, findReadableNames } from "./changed_tables.ts";
import { countMatching, countReferencing, countRows, hasRowIds } from "./count_rows.ts";
import { declareFacts } from "./declare_facts.ts";
import { findQueries, findRead } from "./find_reads.ts";
import { PendingRows } from "./pending_rows.ts";
import { type ReadRows, readSchemaFacts } from "./read_facts.ts";
import { type CompoundChange, readRowChange, type RowChange } from "./row_change.ts";
import { MAX_ROWS } from "./row_limit.ts";
import { findKey, findTable, type SchemaFacts, type TableFacts } from "./schema_facts.ts";

/** The registry's entry of these refusals. */
export const UNBATCHABLE = "unbatchable-change";

/** A statement as planning sees it. */
export interface PlannedStatement {
  /** The statement as it is sent to the server. */
  readonly sql: string;
}

/** A change of rows that cannot be run. */
export interface RowChangeRefusal {
  /** The statement's place in the list. */
  readonly index: number;
  /** What to tell. */
  readonly error: UnsupportedStatementError;
}

/**
 * Finds the UPDATE and DELETE statements that can neither be cut into batches nor fit one transaction. Rows are counted
 * in the database as it is; what earlier statements of the list add is estimated, and counts as too many when in doubt.
 *
 * @param statements All statements of the pending migrations, in their order.
 * @param read Runs a query on the database.
 * @returns The statements to refuse; nothing is changed.
 */
export async function planRowChanges(
  statements: readonly PlannedStatement[],
  read: ReadRows,
): Promise<RowChangeRefusal[]> {
  if (!statements.some(({ sql }) => readRowChange(sql) !== undefined)) return [];
  const facts = await readSchemaFacts(read);
  const views = facts.views.length;
  const rows = new PendingRows();
  const refusals: RowChangeRefusal[] = [];
  for (const [index, { sql }] of statements.entries()) {
    const reader = new StatementReader(tokenize(sql));
    const change = readRowChange(sql);
    const refusal = change && await refuseChange(change, { facts, rows, read, views });
    if (change !== undefined && refusal !== undefined) {
      refusals.push({ index, error: toError(change, refusal) });
    }
    rows.note(reader, facts);
    declareFacts(facts, reader);
  }
  return refusals;
}

interface Planning {
  readonly facts: SchemaFacts;
  readonly rows: PendingRows;
  readonly read: ReadRows;
  /** How many views the database has; those after them are declared by the statements. */
  readonly views: number;
}

async function refuseChange(
  change: RowChange | CompoundChange,
  planning: Planning,
): Promise<BatchRefusal | undefined> {
  const decision = decideBatch(change, planning.facts);
  if (decision.isBatchable && decision.by === "key") return undefined;
  if (await fitsTransaction(change, planning)) return undefined;
  if (!decision.isBatchable) return decision;
  const { table } = decision;
  if (table?.live === undefined || await hasRowIds(table, planning.read)) return undefined;
  return change.verb === "compound" ? undefined : refuseWithoutKey(change.path);
}

/** Whether a change is known to fit one transaction when its turn comes. */
async function fitsTransaction(change: RowChange | CompoundChange, planning: Planning): Promise<boolean> {
  if (await areSmall(findChangedTables(change, planning), planning)) return true;
  if (change.verb === "compound" || !canCount(change, planning)) return false;
  const { facts, read } = planning;
  const table = findTable(facts, change.path);
  const key = table === undefined ? undefined : findKey(table);
  const matching = await countMatching(change, key ?? [], read);
  if (matching > MAX_ROWS || table === undefined || change.verb === "update") return matching <= MAX_ROWS;
  return matching + await countReferencing(change, table, facts, read) <= MAX_ROWS;
}

/** The tables that a change changes, also by foreign keys; `undefined` when one of them is not known. */
function findChangedTables(
  change: RowChange | CompoundChange,
  { facts }: Planning,
): ReadonlySet<TableFacts> | undefined {
  const tables = new Set<TableFacts>();
  for (const path of change.verb === "compound" ? change.paths : [change.path]) {
    const table = findTable(facts, path);
    if (table === undefined) return undefined;
    for (const one of change.verb === "update" ? [table] : findDeleted(facts, table).tables) tables.add(one);
  }
  return tables;
}

async function areSmall(
  tables: ReadonlySet<TableFacts> | undefined,
  { facts, rows, read }: Planning,
): Promise<boolean> {
  if (tables === undefined) return false;
  let total = 0;
  for (const table of tables) {
    const now = await countRows(table, read);
    // each foreign key may change a row once more
    const times = Math.max(1, facts.foreignKeys.filter((key) => key.table === table && key.onDelete !== "none").length);
    total += times * (now + rows.addedTo(table));
    if (total > MAX_ROWS) return false;
  }
  return true;
}

/** Whether the rows that a change meets can be counted now: all that it reads is as it will be when it runs. */
function canCount(change: RowChange, planning: Planning): boolean {
  const { facts, rows, views } = planning;
  const touched = facts.tables.filter((one) => !rows.isAsNow(one));
  if (touched.some((table) => findChangedTables(change, planning)?.has(table))) return false;
  const names = new Set([...findReadableNames(facts, touched), ...facts.views.slice(views).map(({ name }) => name)]);
  if (names.has(change.path.slice(change.path.lastIndexOf(".") + 1))) return false;
  return findRead(findQueries(change.reader, [change.with, change.from]), names) === undefined;
}

function toError(change: RowChange | CompoundChange, { reason, advice }: BatchRefusal): UnsupportedStatementError {
  const kind = change.verb === "compound" ? "WITH" : change.verb.toUpperCase();
  const table = change.verb === "compound" ? change.paths[0] : change.path;
  const title = getIncompatibility(UNBATCHABLE)!.title;
  return new UnsupportedStatementError(
    `${kind} ${table}: not supported: ${title}, because ${reason} (${UNBATCHABLE}). ${advice}`,
    { id: UNBATCHABLE, advice, table, details: { id: UNBATCHABLE, table, kind } },
  );
}
