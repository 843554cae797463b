import type { RecreationPhase, StatementStep } from "./recreation_plan.ts";
import type { TableSchema } from "./table_schema.ts";
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
