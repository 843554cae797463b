import { getIncompatibility } from "../registry/incompatibilities.ts";
import { readName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import type { DistSqlStep } from "../translate/translation.ts";
import {
  type BatchDecision,
  type BatchRefusal,
  decideBatch,
  refuseBlocked,
  refuseWithoutKey,
} from "./batch_decision.ts";
import { findDeleted, findReadableNames } from "./changed_tables.ts";
import {
  countMatching,
  countReferencing,
  countRows,
  findBlocking,
  hasRowIds,
} from "./count_rows.ts";
import { declareFacts } from "./declare_facts.ts";
import { findNames, findQueries, findRead } from "./find_reads.ts";
import { PendingRows } from "./pending_rows.ts";
import { type ReadRows, readSchemaFacts } from "./read_facts.ts";
import { type CompoundChange, readRowChange, type RowChange } from "./row_change.ts";
import { MAX_ROWS } from "./row_limit.ts";
import {
  emptyFacts,
  findKey,
  findTable,
  type ForeignKeyFacts,
  type SchemaFacts,
  type TableFacts,
} from "./schema_facts.ts";

/** Registry entry of these refusals. */
export const UNBATCHABLE = "unbatchable-change";

/** Statement as sent to the server, with its conditions for skipping it. */
export type PlannedStatement = Pick<DistSqlStep, "sql" | "ifTable" | "ifNoColumn" | "follows">;

/** Refusal of a change of rows. */
export interface RowChangeRefusal {
  /** Index of the statement in the list. */
  readonly index: number;
  /** Table, as named in the statement. */
  readonly table: string | undefined;
  /** Description of the problem and its reason. */
  readonly summary: string;
  /** Advice: what to write instead. */
  readonly advice: string;
}

/**
 * Finds the UPDATE and DELETE statements that can neither be split into batches nor fit into one
 * transaction. Counts rows in the current database. Rows added by earlier statements of the list
 * are estimated, and count as too many if unknown.
 *
 * @param statements All statements of the pending migrations, in order.
 * @param read Runs a query on the database.
 * @returns The rejected statements; nothing is changed.
 */
export async function planRowChanges(
  statements: readonly PlannedStatement[],
  read: ReadRows,
): Promise<RowChangeRefusal[]> {
  if (!statements.some(({ sql }) => readRowChange(sql) !== undefined)) return [];
  const facts = await readSchemaFacts(read);
  const planning: Planning = { facts, rows: new PendingRows(), read, views: facts.views.length };
  const refusals: RowChangeRefusal[] = [];
  for (const visit of visitChanges(statements, planning)) {
    const refusal = await refuseVisit(visit, planning);
    if (refusal !== undefined) refusals.push(toRefusal(visit, refusal));
  }
  return refusals;
}

/**
 * Finds the same statements for an empty database, without a connection.
 *
 * @param statements All statements of a folder, in order.
 * @returns The rejected statements.
 */
export function planRowChangesOnEmpty(statements: readonly PlannedStatement[]): RowChangeRefusal[] {
  const planning: Planning = {
    facts: emptyFacts(),
    rows: new PendingRows(),
    read: () => Promise.resolve([]),
    views: 0,
  };
  const refusals: RowChangeRefusal[] = [];
  for (const visit of visitChanges(statements, planning)) {
    if (visit.decision.isBatchable) continue;
    const tables = [...findChangedTables(visit.change, planning) ?? []];
    const rows = tables.reduce((total, table) => total + planning.rows.addedTo(table), 0);
    if (rows > MAX_ROWS) refusals.push(toRefusal(visit, visit.decision));
  }
  return refusals;
}

/** Change of rows, with the facts at the time of its execution. */
interface Visit {
  readonly index: number;
  readonly change: RowChange | CompoundChange;
  readonly decision: BatchDecision;
}

/**
 * Iterates over the statements. The effects of a statement are recorded when the next one is
 * requested.
 */
function* visitChanges(
  statements: readonly PlannedStatement[],
  { facts, rows }: Planning,
): Generator<Visit, void, undefined> {
  let isSkipping = false;
  for (const [index, statement] of statements.entries()) {
    isSkipping = statement.follows === true ? isSkipping : isSkipped(statement, facts);
    if (isSkipping) continue;
    const { sql } = statement;
    const change = readRowChange(sql);
    if (change !== undefined) yield { index, change, decision: decideBatch(change, facts) };
    const reader = parseStatement(sql);
    rows.note(reader, change, facts);
    declareFacts(facts, reader);
  }
}

/** Checks whether IF EXISTS or IF NOT EXISTS skips a statement. */
function isSkipped({ ifTable, ifNoColumn }: PlannedStatement, facts: SchemaFacts): boolean {
  const find = (table: string): TableFacts | undefined =>
    findTable(facts, readName(parseStatement(table), 0).path);
  if (ifTable !== undefined && find(ifTable) === undefined) return true;
  return ifNoColumn !== undefined && find(ifNoColumn.table)?.types.has(ifNoColumn.column) === true;
}

interface Planning {
  readonly facts: SchemaFacts;
  readonly rows: PendingRows;
  readonly read: ReadRows;
  /** Number of views in the database; later views are declared by the statements. */
  readonly views: number;
}

async function refuseVisit(
  { change, decision }: Visit,
  planning: Planning,
): Promise<BatchRefusal | undefined> {
  const keys = change.verb === "delete" ? findBlockingKeys(change, planning) : [];
  if (decision.isBatchable && decision.by === "key" && keys.length === 0) return undefined;
  if (await fitsTransaction(change, planning)) return undefined;
  if (!decision.isBatchable) return decision;
  if (change.verb === "compound") return undefined;
  const blocking = keys.length === 0 ? undefined : await findBlocking(change, keys, planning.read);
  if (blocking !== undefined) return refuseBlocked(change.path, blocking);
  const { table, by } = decision;
  if (by === "key" || table?.live === undefined) return undefined;
  return await hasRowIds(table, planning.read) ? undefined : refuseWithoutKey(change.path);
}

/**
 * Returns the foreign keys through which other tables may prevent a DELETE, as far as known now.
 */
function findBlockingKeys(change: RowChange, planning: Planning): ForeignKeyFacts[] {
  const { facts, rows } = planning;
  const target = findTable(facts, change.path);
  if (target === undefined) return [];
  const keys = facts.foreignKeys.filter((key) =>
    key.target === target && key.onDelete === "none" && rows.isUntouched(key.table) &&
    key.from.length > 0
  );
  return keys.length > 0 && canCount(change, planning) ? keys : [];
}

/** Checks whether a change certainly fits into one transaction when it runs. */
async function fitsTransaction(
  change: RowChange | CompoundChange,
  planning: Planning,
): Promise<boolean> {
  const inserts = change.verb === "compound" ? change.inserts : 0;
  if (await areSmall(findChangedTables(change, planning), inserts, planning)) return true;
  if (change.verb === "compound" || !canCount(change, planning)) return false;
  const { facts, read } = planning;
  const table = findTable(facts, change.path);
  const key = table === undefined ? undefined : findKey(table);
  const added = table === undefined ? 0 : planning.rows.addedTo(table);
  const matching = added + await countMatching(change, key ?? [], read);
  if (matching > MAX_ROWS || table === undefined || change.verb === "update") {
    return matching <= MAX_ROWS;
  }
  return matching + await countReferencing(change, table, facts, read) <= MAX_ROWS;
}

/**
 * Returns the tables that a change affects, including through foreign keys; `undefined` if one is
 * unknown.
 */
function findChangedTables(
  change: RowChange | CompoundChange,
  { facts }: Planning,
): ReadonlySet<TableFacts> | undefined {
  const tables = new Set<TableFacts>();
  for (const path of change.verb === "compound" ? change.paths : [change.path]) {
    const table = findTable(facts, path);
    if (table === undefined) return undefined;
    for (const one of change.verb === "update" ? [table] : findDeleted(facts, table).tables) {
      tables.add(one);
    }
  }
  return tables;
}

async function areSmall(
  tables: ReadonlySet<TableFacts> | undefined,
  inserts: number,
  { facts, rows, read }: Planning,
): Promise<boolean> {
  if (tables === undefined) return false;
  let total = 0;
  for (const table of tables) {
    const now = await countRows(table, read);
    // each foreign key may change a row once more
    const times = Math.max(
      1,
      facts.foreignKeys.filter((key) => key.table === table && key.onDelete !== "none").length,
    );
    total += (times + inserts) * (now + rows.addedTo(table));
    if (total > MAX_ROWS) return false;
  }
  return true;
}

/**
 * Checks whether the affected rows can be counted now: all data that the change reads is already as
 * it will be.
 */
function canCount(change: RowChange, planning: Planning): boolean {
  const { facts, rows, views } = planning;
  const text = findQueries(change.reader, [change.with, change.from]);
  const names = findNames(change.reader, [change.with, change.from, change.where]);
  const touched = facts.tables.filter((table) => !rows.isUntouched(table));
  const tableNames = new Set(touched.map(({ name }) => name));
  const overTouched = [...findReadableNames(facts, touched)].filter((name) =>
    !tableNames.has(name)
  );
  const lateViews = facts.views.slice(views).map(({ name }) => name);
  if (findRead(text, new Set([...overTouched, ...lateViews])) !== undefined) return false;
  if (overTouched.includes(change.path.slice(change.path.lastIndexOf(".") + 1))) return false;
  const isRead = (table: TableFacts): boolean =>
    findRead(text, new Set([table.name])) !== undefined;
  if (touched.some((table) => isRead(table) && !rows.keepsQuery(table, names))) return false;
  const target = findTable(facts, change.path);
  if (target === undefined) return true;
  if (!rows.keepsRows(target, names)) return false;
  const changed = findChangedTables(change, planning) ?? [];
  const isReferenced = facts.foreignKeys.some((key) =>
    key.target === target && key.onDelete !== "none"
  );
  return change.verb === "update" || !isReferenced ||
    [...changed].every((table) => rows.isShrinking(table));
}

function toRefusal({ index, change }: Visit, { reason, advice }: BatchRefusal): RowChangeRefusal {
  const [kind, table] = change.verb === "compound"
    ? ["WITH", change.paths[0]]
    : [change.verb.toUpperCase(), change.path];
  const summary = `${kind} ${table}: not supported: ${
    getIncompatibility(UNBATCHABLE)!.title
  }, because ${reason}`;
  return { index, table, summary, advice };
}
