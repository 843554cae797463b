import { quoteLiteral, quoteName } from "../sql/quote.ts";
import { once } from "./catalog_steps.ts";
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
    const done = `SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(${
      quoteLiteral(newTable)
    }) AND pg_get_userbyid(relowner) = ${quoteLiteral(owner)}) AS done`;
    steps.push(once(
      "before",
      "set the owner",
      `ALTER TABLE ${newTable} OWNER TO ${quoteName(owner)}`,
      done,
    ));
  }
  if (grants !== undefined) {
    steps.push({
      kind: "grants",
      phase: "before",
      title: "copy the grants",
      table: newTable,
      grants,
    });
  }
  for (const { name, identity } of columns) {
    const own = identity?.sequence?.grants;
    if (own === undefined) continue;
    const title = `copy the grants of the sequence of ${name}`;
    steps.push({
      kind: "grants",
      phase: "before",
      title,
      table: newTable,
      column: name,
      grants: own,
    });
  }
  return steps;
}
