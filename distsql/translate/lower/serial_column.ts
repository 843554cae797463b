import { quoteLiteral } from "../../../sql/quote.ts";
import type { DeclaredColumn } from "../../schema/declared_schema.ts";
import { chooseRelationName } from "../../schema/names.ts";
import { writeName } from "../../../sql/sql_name.ts";
import type { DistSqlStep } from "../context/translation.ts";
import type { Alteration } from "./lowered.ts";
import { writeObject } from "./sql_text.ts";

/**
 * Returns the steps that turn an identity column, which replaces `serial`, into a plain column
 * without a default. As in PostgreSQL its sequence and position are kept.
 *
 * @param alteration The statement, which changes the column.
 * @param column A column of its table.
 */
export function dropSerialDefault(
  { before, head, lead, table, t }: Alteration,
  column: DeclaredColumn,
): DistSqlStep[] {
  t.apply("serial-default");
  const name = writeName(column.name, true);
  const drop = { sql: `${head} ALTER COLUMN ${name} DROP IDENTITY;` };
  // an earlier action of the statement has changed the default too
  if (lead.some((one) => "sql" in one && one.sql === drop.sql)) return [];
  const sequence = column.sequence === undefined
    ? undefined
    : before.sequences.get(column.sequence);
  if (sequence === undefined) return [drop];
  const { schema } = sequence;
  const parts = { schema, table: table!.name, columns: [column.name], label: "kept" };
  const kept = { schema, name: chooseRelationName(before, parts) };
  const [from, to] = [writeObject(sequence), writeObject(kept)];
  return [
    { sql: `CREATE SEQUENCE ${to} CACHE ${t.options.identityCache};` },
    { sql: `SELECT setval(${quoteLiteral(to)}, last_value, is_called) FROM ${from};` },
    drop,
    { sql: `ALTER SEQUENCE ${to} RENAME TO ${writeName(sequence.name, true)};` },
    { sql: `ALTER SEQUENCE ${from} OWNED BY ${writeObject(table!)}.${name};` },
  ];
}
