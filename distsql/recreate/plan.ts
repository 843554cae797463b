import { readName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { sanitizeForDistSql } from "../translate/sanitize.ts";
import { splitStatements } from "../../sql/statement.ts";
import { buildCreateTableSql, repeatedKeys } from "./create_table.ts";
import { checkPlan, warnAbout } from "./plan_checks.ts";
import { listOwnershipSteps, once } from "./catalog_steps.ts";
import {
  addForeignKeys,
  addLooseChecks,
  addRepeatedKeys,
  buildIndexes,
  dropOldTable,
  dropWorkTable,
  isThere,
  keepSequences,
  leaveOldTable,
  listCommentSteps,
  nameTables,
  pointToNewTable,
  renameNewTable,
  renameObjects,
  renameOldTable,
  setColumnOptions,
  setPositions,
} from "./plan_steps.ts";
import type { CopiedColumn, CopyKey, RecreationCopy, RecreationPlan } from "./recreation_plan.ts";
import { type DeclaredSchema, EMPTY_SCHEMA, getKey } from "../schema/declared_schema.ts";
import { toObjectName } from "../schema/read_object.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import { temporaryName } from "./temporary_name.ts";
import type { TableColumn, TableSchema } from "../schema/table_schema.ts";
import { createWorkTableSql } from "./work_table.ts";
import { qualify, quoteName } from "../../sql/quote.ts";

/**
 * Rows per batch: below the provider's limit of 3,000, with room for rows that are inserted in the
 * meantime.
 */
export const BATCH_ROWS = 2500;

/**
 * Plans the recreation of a table: creates a new table, copies the rows in batches, builds indexes
 * and foreign keys, compares all rows, and then swaps the names. Needs no database and changes
 * nothing.
 *
 * @param current The current table, from `introspectTable`.
 * @param desired The desired table, from `applyAlterToSchema`.
 * @param rows Estimated number of rows, from `getEstimatedRowCount`.
 * @returns The steps in order; none if both tables are equal.
 * @throws {RecreationError} If dependent objects would be lost (views, triggers, policies), or a
 * foreign key of another table would lose its target. Names the object.
 *
 * @example
 * ```ts
 * import { applyAlterToSchema, generateRecreationPlan } from "@trellis/fn/database";
 *
 * const notes = {
 *   schema: "public",
 *   name: "notes",
 *   columns: [{ name: "id", type: "integer", notNull: true }],
 *   constraints: [],
 *   indexes: [],
 * };
 * const plan = generateRecreationPlan(notes, applyAlterToSchema(notes, "ALTER TABLE notes ALTER id TYPE bigint"), 100);
 * console.log(plan.steps[1].title); // create the new table
 * ```
 */
export function generateRecreationPlan(
  current: TableSchema,
  desired: TableSchema,
  rows: number,
): RecreationPlan {
  const { schema, name: table } = current;
  checkPlan(current, desired);
  const copy = planCopy(current, desired);
  const plan: RecreationPlan = {
    ...schema === undefined ? {} : { schema },
    table,
    current,
    desired,
    rows,
    batches: copy.key.length === 0 ? 1 : Math.max(1, Math.ceil(rows / BATCH_ROWS)),
    steps: [],
    copy,
    warnings: [],
  };
  if (isSameTable(current, desired)) return plan;
  return { ...plan, steps: planSteps(current, desired), warnings: warnAbout(plan) };
}

/** Checks whether two tables are equal in all properties that a change can affect. */
function isSameTable(current: TableSchema, desired: TableSchema): boolean {
  const changes = desired.columns.some(({ source, using, added, name }) =>
    using !== undefined || added === true || (source !== undefined && source !== name)
  );
  return !changes && JSON.stringify(comparable(current)) === JSON.stringify(comparable(desired));
}

function comparable({ oid: _oid, ...schema }: TableSchema): unknown {
  return { ...schema, columns: schema.columns.map(({ source: _source, ...column }) => column) };
}

function planCopy(current: TableSchema, desired: TableSchema): RecreationCopy {
  const { schema, name } = current;
  const columns = desired.columns.flatMap((column) => copied(column, current) ?? []);
  return {
    source: qualify(schema, name),
    frozen: qualify(schema, temporaryName(name, "old")),
    target: qualify(schema, temporaryName(name, "new")),
    columns,
    key: findKey(current) ?? keyOf(current, keyToBe(current, desired)),
    targetKey: findKey(desired) ?? [],
    overriding: desired.columns.some(({ name, identity }) =>
      identity?.always === true && columns.some((column) => column.name === name)
    ),
  };
}

function copied(column: TableColumn, current: TableSchema): CopiedColumn | undefined {
  const source = current.columns.find(({ name }) => name === (column.source ?? column.name));
  if (column.added === true || column.generated !== undefined || source === undefined) {
    return undefined;
  }
  return {
    name: column.name,
    expression: column.using ?? quoteName(source.name),
    type: column.type,
    changes: column.using !== undefined ||
      normalizeType(column.type) !== normalizeType(source.type),
    collates: column.collation !== undefined || source.collation !== undefined,
  };
}

function keyOf(schema: TableSchema, names: readonly string[]): CopyKey[] {
  return names.map((name) => {
    const { type, notNull } = schema.columns.find((column) => column.name === name)!;
    return { name, type, nullable: !notNull };
  });
}

/** Returns the primary key, else a unique key over NOT NULL columns. */
function findKey(schema: TableSchema): CopyKey[] | undefined {
  const candidates = [
    schema.constraints.find(({ type }) => type === "primary_key")?.columns,
    ...schema.constraints.filter(({ type }) => type === "unique").map(({ columns }) => columns),
    ...schema.indexes.filter(({ unique, valid }) => unique && valid).map(({ keys }) => keys),
  ];
  for (const names of candidates) {
    if (names === undefined || names.length === 0) continue;
    const key = keyOf(schema, names);
    if (key.every(({ nullable }) => !nullable)) return key;
  }
  return undefined;
}

/** Returns the columns of the new table's key, for a table that has none yet. */
function keyToBe(current: TableSchema, desired: TableSchema): string[] {
  const key = findKey(desired) ?? [];
  const names = key.map(({ name }) => {
    const column = desired.columns.find((one) => one.name === name);
    return column?.added === true || column?.using !== undefined
      ? undefined
      : column?.source ?? name;
  });
  const known = names.filter((name) => current.columns.some((column) => column.name === name));
  return known.length === names.length ? known as string[] : [];
}

/**
 * Returns CREATE TABLE for the new table under its temporary name. Constraints that rows may
 * violate are added after the copy.
 */
function createNewTableSql(current: TableSchema, desired: TableSchema): string {
  const repeated = repeatedKeys(desired.constraints);
  const constraints = desired.constraints.filter((one) =>
    one.type !== "foreign_key" && one.validated && !repeated.includes(one)
  );
  const sql = buildCreateTableSql(temporaryName(current.name, "new"), { ...desired, constraints });
  if (current.dialect !== "distsql") return sql;
  const [statement] = splitStatements(
    sanitizeForDistSql(sql, { declared: declareTypes(desired) }) ?? sql,
  );
  return statement.text;
}

/** Declares the types of the columns. A type that is not built in is a domain. */
export function declareTypes({ columns }: TableSchema): DeclaredSchema {
  const domains = columns.map(({ type }) => {
    const name = toObjectName(readName(parseStatement(type), 0));
    return [getKey(name), { ...name, type, hasDefault: false }] as const;
  });
  return { ...EMPTY_SCHEMA, domains: new Map(domains) };
}

function planSteps(current: TableSchema, desired: TableSchema): RecreationPlan["steps"] {
  const { schema, name } = current;
  const tables = nameTables(current, desired);
  const { newName } = tables;
  const hasWork = isThere(schema, temporaryName(name, "work"));
  const create = createNewTableSql(current, desired);
  const again = "compare all rows again, without concurrent writes";
  return [
    once("before", "store the plan", createWorkTableSql(schema, name), hasWork),
    once("before", "create the new table", create, isThere(schema, newName)),
    ...addRepeatedKeys(tables),
    ...setColumnOptions(tables),
    { kind: "copy", phase: "before", title: "copy the rows" },
    ...buildIndexes(tables),
    ...addLooseChecks(tables),
    ...addForeignKeys(tables),
    ...listCommentSteps(desired, tables.new, schema),
    ...listOwnershipSteps(desired, tables.new),
    { kind: "verify", phase: "before", title: "compare all rows" },
    renameOldTable(tables),
    { kind: "verify", phase: "frozen", title: again },
    ...setPositions(tables),
    ...pointToNewTable(current, desired, newName),
    renameNewTable(tables),
    ...leaveOldTable(current, desired),
    ...keepSequences(tables),
    dropOldTable(tables),
    ...renameObjects(tables),
    dropWorkTable(tables),
  ];
}
