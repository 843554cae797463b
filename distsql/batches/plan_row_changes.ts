import { readName } from "../../sql/sql_name.ts";
import { getIncompatibility } from "../registry/incompatibilities.ts";
import { toTableSchema } from "../schema/to_table_schema.ts";
import type { IncomingForeignKey, TableSchema } from "../schema/table_schema.ts";
import { type DeclaredSchema, findObject, getKey } from "../schema/declared_schema.ts";
import type { WrittenName } from "../schema/read_object.ts";
import type { DistSqlStep } from "../translate/context/translation.ts";
import type { RunSql } from "../../sql/session.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { countMatching, countReferencing, countRows } from "./count_rows.ts";
import {
  type BatchRefusal,
  type BatchScope,
  decideBatch,
  type FindRelation,
  readJoin,
  readScope,
} from "./decide_batch.ts";
import { keyOf, PendingRows } from "./pending_rows.ts";
import {
  hasDeleteAction,
  listReferencing,
  readFunctions,
  readRelation,
  type Relation,
} from "./relation.ts";
import { type CompoundChange, getPath, readRowChange, type RowChange } from "./row_change.ts";
import { MAX_ROWS } from "./run_batches.ts";

/** Registry entry of these refusals. */
export const UNBATCHABLE = "unbatchable-change";

/** Statement as sent to the server, with its conditions for skipping it. */
export interface PlannedStatement
  extends Pick<DistSqlStep, "sql" | "ifTable" | "ifNoColumn" | "follows"> {
  /** Declarations of the files before the statement. */
  readonly before: DeclaredSchema;
}

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
 * @param run Runs a query on the database; omitted for an empty one.
 * @returns The rejected statements; nothing is changed.
 */
export async function planRowChanges(
  statements: readonly PlannedStatement[],
  run: RunSql = () => Promise.resolve([]),
): Promise<RowChangeRefusal[]> {
  if (!statements.some(({ sql }) => readRowChange(sql) !== undefined)) return [];
  const planning: Planning = { run, rows: new PendingRows(), functions: await readFunctions(run) };
  const refusals: RowChangeRefusal[] = [];
  let isSkipping = false;
  for (const [index, statement] of statements.entries()) {
    const { sql, before } = statement;
    const find = (name: WrittenName): Promise<Relation> => findRelation(name, before, planning);
    isSkipping = statement.follows === true ? isSkipping : await isSkipped(statement, find);
    if (isSkipping) continue;
    const reader = parseStatement(sql);
    const change = readRowChange(sql);
    const scope = await readScope(change, find, planning.functions);
    if (change !== undefined) {
      const decision = refuseUndeclared(change, before, planning) ?? decideBatch(change, scope);
      if (!decision.isBatchable && !await fitsTransaction(change, scope, find, planning)) {
        refusals.push(toRefusal(index, change, decision));
      }
    }
    planning.rows.note(reader, change, scope.table);
    noteFunction(reader, planning.functions);
  }
  return refusals;
}

interface Planning {
  readonly run: RunSql;
  readonly rows: PendingRows;
  /** Names of the user-defined functions so far. */
  readonly functions: Set<string>;
}

/** Finds a relation among the declarations, else in the database. */
async function findRelation(
  name: WrittenName,
  before: DeclaredSchema,
  { run, rows }: Planning,
): Promise<Relation> {
  const table = findObject(before.tables, name);
  if (table?.isComplete === true) return toTableSchema(table, before);
  if (findObject(before.views, name) !== undefined) return "other";
  return await readRelation(run, readName(parseStatement(rows.liveName(keyOf(name))), 0));
}

/**
 * Rejects a change of a table that no file declares and that an earlier statement alters: how the
 * table will look is unknown until then.
 */
function refuseUndeclared(
  change: RowChange | CompoundChange,
  before: DeclaredSchema,
  { rows }: Planning,
): BatchRefusal | undefined {
  if (change.verb === "compound") return undefined;
  const names = [change.table, ...[readJoin(change)?.table ?? []].flat()];
  const name = names.find((one) =>
    rows.isAltered(keyOf(one)) && findObject(before.tables, one)?.isComplete !== true
  );
  return name && {
    isBatchable: false,
    reason: `an earlier pending statement changes keys of ${
      getPath(name)
    }, which no migration creates`,
    advice: "Apply the earlier statements first, in a run of their own.",
  };
}

/** Checks whether IF EXISTS or IF NOT EXISTS skips a statement. */
async function isSkipped(
  { ifTable, ifNoColumn }: PlannedStatement,
  find: FindRelation,
): Promise<boolean> {
  const parse = (name: string): WrittenName => readName(parseStatement(name), 0);
  if (ifTable !== undefined && await find(parse(ifTable)) === undefined) return true;
  const table = ifNoColumn && await find(parse(ifNoColumn.table));
  return table !== undefined && table !== "other" &&
    table.columns.some(({ name }) => name === ifNoColumn!.column);
}

/** Records the name of CREATE FUNCTION. */
function noteFunction(reader: StatementReader, functions: Set<string>): void {
  if (!reader.is(0, "CREATE")) return;
  const at = reader.skip(1, "OR", "REPLACE");
  const isFunction = reader.is(at, "FUNCTION") || reader.is(at, "PROCEDURE") ||
    reader.is(at, "AGGREGATE");
  if (isFunction) functions.add(readName(reader, at + 1).name);
}

/** Checks whether a change certainly fits into one transaction when it runs. */
async function fitsTransaction(
  change: RowChange | CompoundChange,
  { table }: BatchScope,
  find: FindRelation,
  { rows, run }: Planning,
): Promise<boolean> {
  const names = change.verb === "compound" ? change.tables : [change.table];
  const actions: IncomingForeignKey[] = [];
  if (change.verb !== "update") {
    for (const name of names) {
      actions.push(
        ...await listActions(change.verb === "compound" ? await find(name) : table, find),
      );
    }
  }
  // each foreign key may change a row once more
  const changed = actions.map(({ from }) => getKey({ schema: from.schema, name: from.table }));
  const keys = new Set([...names.map(keyOf), ...changed]);
  const inserts = change.verb === "compound" ? change.inserts : 0;
  let total = 0;
  for (const key of keys) {
    if (total > MAX_ROWS) break;
    const times = Math.max(1, changed.filter((one) => one === key).length) + inserts;
    total += times * (await countRows(rows.liveName(key), run) + rows.addedTo(key));
  }
  if (total <= MAX_ROWS) return true;
  if (change.verb === "compound" || !rows.canCount(change)) return false;
  let matching = rows.addedTo(keyOf(change.table)) + await countMatching(change, run);
  const direct = table === undefined || table === "other" ? [] : directActions(table);
  // rows of rows are not counted by the condition
  if (direct.length < actions.length) return false;
  for (const key of direct) {
    if (matching > MAX_ROWS) break;
    matching += await countReferencing(change, key, run);
  }
  return matching <= MAX_ROWS;
}

/** Lists the foreign keys through which a DELETE of a table's rows changes further rows. */
function directActions(table: TableSchema): IncomingForeignKey[] {
  return listReferencing(table).filter(hasDeleteAction);
}

/** Lists the same also for the rows that are deleted with them. */
async function listActions(table: Relation, find: FindRelation): Promise<IncomingForeignKey[]> {
  if (table === undefined || table === "other") return [];
  const actions = directActions(table);
  const seen = new Set<string>();
  for (const { from, definition } of actions) {
    const name = { schema: from.schema, name: from.table, end: 0 };
    if (seen.has(keyOf(name)) || !/\bCASCADE\b/i.test(definition)) continue;
    seen.add(keyOf(name));
    const next = await find(name);
    if (next !== undefined && next !== "other") actions.push(...directActions(next));
  }
  return actions;
}

function toRefusal(
  index: number,
  change: RowChange | CompoundChange,
  { reason, advice }: BatchRefusal,
): RowChangeRefusal {
  const [kind, name] = change.verb === "compound"
    ? ["WITH", change.tables[0]]
    : [change.verb.toUpperCase(), change.table];
  const table = name && getPath(name);
  const { title } = getIncompatibility(UNBATCHABLE)!;
  const summary = `${kind} ${table}: not supported: ${title}, because ${reason}`;
  return { index, table, summary, advice };
}
