import { hasConstraint, once, validation } from "./catalog_steps.ts";
import { formatForeignKey, parseForeignKey } from "../schema/foreign_key.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";

/**
 * Creates the foreign keys of other tables on the new table, before it gets its final name.
 *
 * @param current The current table.
 * @param desired The desired table.
 * @param newName Temporary name of the new table.
 */
export function pointToNewTable(
  current: TableSchema,
  desired: TableSchema,
  newName: string,
): RecreationStep[] {
  const { oid = "0", schema } = current;
  return (desired.referencedBy ?? []).map((key) => {
    const child = qualify(key.from.schema, key.from.table);
    const temporary = temporaryName(key.name, "new");
    const definition = formatForeignKey({
      ...parseForeignKey(key.definition),
      schema,
      table: newName,
    });
    const isNew = hasConstraint(child, key.name, ` AND confrelid <> ${oid}`);
    return once(
      "frozen",
      `let ${key.name} of ${key.from.table} also reference the new table`,
      `ALTER TABLE ${child} ADD CONSTRAINT ${quoteName(temporary)} ${definition} NOT VALID`,
      `${hasConstraint(child, temporary)} OR ${isNew}`,
    );
  });
}

/**
 * Drops the foreign keys to the old table. Their replacements on the new table then get their names
 * and are validated.
 *
 * @param current The current table.
 * @param desired The desired table.
 */
export function leaveOldTable(current: TableSchema, desired: TableSchema): RecreationStep[] {
  const { oid = "0", dialect } = current;
  const kept = new Map((desired.referencedBy ?? []).map((key) => [getKey(key), key]));
  return (current.referencedBy ?? []).flatMap((before) => {
    const { name, from } = before;
    const child = qualify(from.schema, from.table);
    const toOld = hasConstraint(child, name, ` AND confrelid = ${oid}`);
    const drop = `ALTER TABLE ${child} DROP CONSTRAINT ${quoteName(name)}`;
    const steps = [once("after", `drop ${name} on the old table`, drop, `NOT ${toOld}`)];
    const key = kept.get(getKey(before));
    if (key === undefined) return steps;
    const temporary = temporaryName(name, "new");
    const rename = `RENAME CONSTRAINT ${quoteName(temporary)} TO ${quoteName(name)}`;
    const isNamed = `NOT ${hasConstraint(child, temporary)}`;
    steps.push(once("after", `name ${name}`, `ALTER TABLE ${child} ${rename}`, isNamed));
    if (key.validated) steps.push(validation("after", child, name, dialect));
    if (key.comment !== undefined) {
      const comment = quoteLiteral(key.comment);
      const sql = `COMMENT ON CONSTRAINT ${quoteName(name)} ON ${child} IS ${comment}`;
      steps.push({ kind: "statement", phase: "after", title: `comment on ${name}`, sql });
    }
    return steps;
  });
}

function getKey({ name, from }: { name: string; from: { schema: string; table: string } }): string {
  return JSON.stringify([from.schema, from.table, name]);
}
