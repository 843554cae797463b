import { sanitizeForDistSql } from "../distsql/sanitize.ts";
import { readName } from "../distsql/sql_name.ts";
import { splitStatements } from "../distsql/statement.ts";
import { buildCreateTableSql, constraintName, repeatedKeys } from "./create_table.ts";
import { checkPlan, warnAbout } from "./plan_checks.ts";
import { PlanBuilder } from "./plan_builder.ts";
import type { CopiedColumn, CopyKey, RecreationCopy, RecreationPlan } from "./recreation_plan.ts";
import { normalizeType, qualify, quoteName, readSql, temporaryName } from "./sql_text.ts";
import type { TableColumn, TableSchema } from "./table_schema.ts";
import { createWorkTableSql } from "./work_table.ts";

/** Rows of a batch: below the provider's 3,000 with room for rows that arrive in the range meanwhile. */
export const BATCH_ROWS = 2500;

/**
 * Plans how a table is made again: a new table beside it, its rows copied in batches, indexes and foreign keys, a
 * comparison of all rows, and only then the change of names. Plans without a database and changes nothing.
 *
 * @param current The table as it is, from `introspectTable`.
 * @param desired The table as it is to be, from `applyAlterToSchema`.
 * @param rows About how many rows it has, from `getEstimatedRowCount`.
 * @returns The steps in their order; none when both are the same.
 * @throws {RecreationError} When something hangs on the table that would be lost (views, triggers, policies), or a foreign
 * key of another table would lose what it points to. Names it.
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

/** What the change of a table leaves as it is says nothing about it. */
export function isSameTable(current: TableSchema, desired: TableSchema): boolean {
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
    key: findKey(current) ?? getKey(current, keyToBe(current, desired)),
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

function getKey(schema: TableSchema, names: readonly string[]): CopyKey[] {
  return names.map((name) => {
    const { type, notNull } = schema.columns.find((column) => column.name === name)!;
    return { name, type, nullable: !notNull };
  });
}

/** The primary key, else what is as good: unique and never NULL. */
function findKey(schema: TableSchema): CopyKey[] | undefined {
  const candidates = [
    schema.constraints.find(({ type }) => type === "primary_key")?.columns,
    ...schema.constraints.filter(({ type }) => type === "unique").map(({ columns }) => columns),
    ...schema.indexes.filter(({ unique, valid }) => unique && valid).map(({ keys }) => keys),
  ];
  for (const names of candidates) {
    if (names === undefined || names.length === 0) continue;
    const key = getKey(schema, names);
    if (key.every(({ nullable }) => !nullable)) return key;
  }
  return undefined;
}

/** The columns of the key that the new table gets, in a table that has none so far. */
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

/** The new table under its first name: what its rows may break comes when they are there. */
function createNewTableSql(current: TableSchema, desired: TableSchema): string {
  const repeated = repeatedKeys(desired.constraints);
  const constraints = desired.constraints.filter((one) =>
    one.type !== "foreign_key" && one.validated && !repeated.includes(one)
  );
  const sql = buildCreateTableSql(temporaryName(current.name, "new"), { ...desired, constraints });
  if (current.dialect !== "distsql") return sql;
  const [statement] = splitStatements(
    sanitizeForDistSql(sql, { domains: typeNames(desired) }) ?? sql,
  );
  return statement.text;
}

/** Returns the names of the columns' types: one that the provider has not of itself is a domain. */
export function typeNames({ columns }: TableSchema): string[] {
  return columns.map(({ type }) => readName(readSql(type), 0).path);
}

function planSteps(current: TableSchema, desired: TableSchema): RecreationPlan["steps"] {
  const { schema, name } = current;
  const build = new PlanBuilder(current, desired);
  build.once(
    "before",
    "note the plan",
    createWorkTableSql(schema, name),
    build.isThere(temporaryName(name, "work")),
  );
  build.once(
    "before",
    "create the new table",
    createNewTableSql(current, desired),
    build.isThere(build.newName),
  );
  build.repeatedKeys();
  build.columnSettings();
  build.push({ kind: "copy", phase: "before", title: "copy the rows" });
  build.indexes();
  build.looseChecks();
  build.foreignKeys();
  build.comments();
  build.ownerAndGrants();
  build.push({ kind: "verify", phase: "before", title: "compare all rows" });
  build.renameAway();
  build.push({
    kind: "verify",
    phase: "frozen",
    title: "compare all rows again, now that nobody writes",
  });
  build.positions();
  build.newIncomingKeys();
  build.takeName();
  build.oldIncomingKeys();
  build.ownedSequences();
  build.dropOld();
  for (const constraint of desired.constraints) {
    build.renameConstraint(constraint, constraintName(constraint, true));
  }
  for (const index of desired.indexes) build.renameIndex(index);
  build.renameSequences();
  build.dropWork();
  return build.steps;
}
