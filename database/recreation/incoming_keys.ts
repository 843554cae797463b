import { hasConstraint, once, validation } from "./catalog_steps.ts";
import { formatForeignKey, parseForeignKey } from "./foreign_key.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import { qualify, quoteName, quoteText, temporaryName } from "./sql_text.ts";
import type { TableSchema } from "./table_schema.ts";

/**
 * Points the foreign keys of other tables to the new table too, before it has the name.
 *
 * @param current The table as it is.
 * @param desired The table as it is to be.
 * @param newName What the new table is called so far.
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
      `point ${key.name} of ${key.from.table} to the new table too`,
      `ALTER TABLE ${child} ADD CONSTRAINT ${quoteName(temporary)} ${definition} NOT VALID`,
      `SELECT ${hasConstraint(child, temporary)} OR ${isNew} AS done`,
    );
  });
}

/**
 * Drops the foreign keys to the old table. Those that stay are pointed to the new one by then: they take their names and
 * are checked.
 *
 * @param current The table as it is.
 * @param desired The table as it is to be.
 */
export function leaveOldTable(current: TableSchema, desired: TableSchema): RecreationStep[] {
  const { oid = "0", dialect } = current;
  const kept = new Map((desired.referencedBy ?? []).map((key) => [getKey(key), key]));
  return (current.referencedBy ?? []).flatMap((before) => {
    const { name, from } = before;
    const child = qualify(from.schema, from.table);
    const toOld = hasConstraint(child, name, ` AND confrelid = ${oid}`);
    const drop = `ALTER TABLE ${child} DROP CONSTRAINT ${quoteName(name)}`;
    const steps = [
      once("after", `drop ${name} to the old table`, drop, `SELECT NOT ${toOld} AS done`),
    ];
    const key = kept.get(getKey(before));
    if (key === undefined) return steps;
    const temporary = temporaryName(name, "new");
    const rename = `ALTER TABLE ${child} RENAME CONSTRAINT ${quoteName(temporary)} TO ${
      quoteName(name)
    }`;
    steps.push(
      once(
        "after",
        `name ${name}`,
        rename,
        `SELECT NOT ${hasConstraint(child, temporary)} AS done`,
      ),
    );
    if (key.validated) steps.push(validation("after", child, name, dialect));
    if (key.comment !== undefined) {
      const sql = `COMMENT ON CONSTRAINT ${quoteName(name)} ON ${child} IS ${
        quoteText(key.comment)
      }`;
      steps.push({ kind: "statement", phase: "after", title: `comment on ${name}`, sql });
    }
    return steps;
  });
}

function getKey({ name, from }: { name: string; from: { schema: string; table: string } }): string {
  return JSON.stringify([from.schema, from.table, name]);
}
