import { quoteLiteral, quoteName } from "../../sql/quote.ts";
import { once, toRegclass } from "./catalog_steps.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import type { TableSchema } from "./table_schema.ts";

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
