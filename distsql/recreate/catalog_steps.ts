import type { RecreationPhase, RecreationStep, StatementStep } from "./recreation_plan.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";

/** Returns SQL for the oid of a relation, by its quoted name; NULL if it does not exist. */
export function toRegclass(name: string): string {
  return `to_regclass(${quoteLiteral(name)})`;
}

/** Returns SQL that checks whether a table has a constraint. */
export function hasConstraint(table: string, name: string, more = ""): string {
  const where = `conrelid = ${toRegclass(table)} AND conname = ${quoteLiteral(name)}`;
  return `EXISTS (SELECT FROM pg_constraint WHERE ${where}${more})`;
}

/** Creates a statement with the condition under which it is done. */
export function once(
  phase: RecreationPhase,
  title: string,
  sql: string,
  condition: string,
): StatementStep {
  return { kind: "statement", phase, title, sql, done: `SELECT ${condition} AS done` };
}

/** Creates the step that validates a constraint for existing rows. */
export function validation(
  phase: RecreationPhase,
  table: string,
  name: string,
  dialect: TableSchema["dialect"],
): StatementStep {
  const isDistSql = dialect === "distsql";
  return {
    kind: "statement",
    phase,
    title: `validate ${name}`,
    sql: `ALTER TABLE ${isDistSql ? "ASYNC " : ""}${table} VALIDATE CONSTRAINT ${quoteName(name)}`,
    done: `SELECT ${hasConstraint(table, name, " AND convalidated")} AS done`,
    ...isDistSql ? { job: { kind: "constraint", name, table } } : {},
  };
}

/**
 * Lists the steps that give a new table its owner and grants.
 *
 * @param desired The desired table.
 * @param newTable The new table as SQL.
 */
export function listOwnershipSteps(desired: TableSchema, newTable: string): RecreationStep[] {
  const steps: RecreationStep[] = [];
  const { owner, grants, columns } = desired;
  if (owner !== undefined) {
    const isOwner = `pg_get_userbyid(relowner) = ${quoteLiteral(owner)}`;
    const done = `EXISTS (SELECT FROM pg_class WHERE oid = ${toRegclass(newTable)} AND ${isOwner})`;
    const sql = `ALTER TABLE ${newTable} OWNER TO ${quoteName(owner)}`;
    steps.push(once("before", "set the owner", sql, done));
  }
  const base = { kind: "grants", phase: "before", table: newTable } as const;
  if (grants !== undefined) steps.push({ ...base, title: "copy the grants", grants });
  for (const { name: column, identity } of columns) {
    const own = identity?.sequence?.grants;
    const title = `copy the grants of the sequence of ${column}`;
    if (own !== undefined) steps.push({ ...base, title, column, grants: own });
  }
  return steps;
}
