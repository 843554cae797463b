import { qualify, quoteLiteral, quoteName } from "../sql/quote.ts";
import { once } from "./catalog_steps.ts";
import { ownsIndex } from "./create_table.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./sql_text.ts";
import type { TableSchema } from "./table_schema.ts";

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
  const add = (title: string, sql: string, done: string): void => {
    steps.push(once("before", title, sql, done));
  };
  const { comment, columns, constraints, indexes } = desired;
  const table = `to_regclass(${quoteLiteral(newTable)})`;
  const same = (found: string, text: string): string =>
    `SELECT coalesce((${found}) = ${quoteLiteral(text)}, false) AS done`;
  if (comment !== undefined) {
    const sql = `COMMENT ON TABLE ${newTable} IS ${quoteLiteral(comment)}`;
    add(
      "comment on the table",
      sql,
      same(`SELECT obj_description(${table}, 'pg_class')`, comment),
    );
  }
  for (const { name, comment } of columns) {
    if (comment === undefined) continue;
    const sql = `COMMENT ON COLUMN ${newTable}.${quoteName(name)} IS ${quoteLiteral(comment)}`;
    const found =
      `SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = ${table} AND attname = ${
        quoteLiteral(name)
      }`;
    add(`comment on column ${name}`, sql, same(found, comment));
  }
  for (const constraint of constraints) {
    if (constraint.comment === undefined) continue;
    const name = ownsIndex(constraint) ? temporaryName(constraint.name, "new") : constraint.name;
    const sql = `COMMENT ON CONSTRAINT ${quoteName(name)} ON ${newTable} IS ${
      quoteLiteral(constraint.comment)
    }`;
    const found =
      `SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = ${table} AND conname = ${
        quoteLiteral(name)
      }`;
    add(
      `comment on constraint ${constraint.name}`,
      sql,
      same(found, constraint.comment),
    );
  }
  for (const { name, comment, valid } of indexes) {
    if (comment === undefined || !valid) continue;
    const index = qualify(schema, temporaryName(name, "new"));
    const sql = `COMMENT ON INDEX ${index} IS ${quoteLiteral(comment)}`;
    const found = `SELECT obj_description(to_regclass(${quoteLiteral(index)}), 'pg_class')`;
    add(`comment on index ${name}`, sql, same(found, comment));
  }
  return steps;
}
