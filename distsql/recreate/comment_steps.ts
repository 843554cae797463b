import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { once, toRegclass } from "./catalog_steps.ts";
import { hasIndex } from "../schema/declared_schema.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/**
 * Lists the steps that comment on a new table and its parts.
 *
 * @param desired The desired table.
 * @param newTable The new table as SQL.
 * @param schema Schema of its indexes.
 */
export function listCommentSteps(
  desired: TableSchema,
  newTable: string,
  schema: string | undefined,
): RecreationStep[] {
  const steps: RecreationStep[] = [];
  /** Adds the comment on an object; `found` is a query for its present comment. */
  function add(title: string, object: string, text: string, found: string): void {
    const comment = quoteLiteral(text);
    const sql = `COMMENT ON ${object} IS ${comment}`;
    steps.push(once("before", title, sql, `coalesce((${found}) = ${comment}, false)`));
  }
  const { comment, columns, constraints, indexes } = desired;
  const table = toRegclass(newTable);
  if (comment !== undefined) {
    const found = `SELECT obj_description(${table}, 'pg_class')`;
    add("comment on the table", `TABLE ${newTable}`, comment, found);
  }
  for (const { name, comment } of columns) {
    if (comment === undefined) continue;
    const found = "SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE " +
      `attrelid = ${table} AND attname = ${quoteLiteral(name)}`;
    add(`comment on column ${name}`, `COLUMN ${newTable}.${quoteName(name)}`, comment, found);
  }
  for (const constraint of constraints) {
    if (constraint.comment === undefined) continue;
    const name = hasIndex(constraint.type)
      ? temporaryName(constraint.name, "new")
      : constraint.name;
    const object = `CONSTRAINT ${quoteName(name)} ON ${newTable}`;
    const found = "SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE " +
      `conrelid = ${table} AND conname = ${quoteLiteral(name)}`;
    add(`comment on constraint ${constraint.name}`, object, constraint.comment, found);
  }
  for (const { name, comment, valid } of indexes) {
    if (comment === undefined || !valid) continue;
    const index = qualify(schema, temporaryName(name, "new"));
    const found = `SELECT obj_description(${toRegclass(index)}, 'pg_class')`;
    add(`comment on index ${name}`, `INDEX ${index}`, comment, found);
  }
  return steps;
}
