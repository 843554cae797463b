/** Columns of a serial type, which are identity columns on the provider. */
import { keywordSet } from "../../../sql/list_words.ts";
import { quoteLiteral } from "../../../sql/quote.ts";
import { readName, writeName } from "../../../sql/sql_name.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
} from "../../schema/declared_schema.ts";
import { getOwner } from "../../schema/fold_objects.ts";
import { chooseRelationName } from "../../schema/names.ts";
import { readNextval } from "../../schema/read_object.ts";
import type { ActionOf } from "../../syntax/alter_action.ts";
import type { DistSqlStep } from "../context/translation.ts";
import type { Alteration, Lowered, Lowering } from "./lowered.ts";
import { writeObject } from "./sql_text.ts";

const INTEGERS: ReadonlySet<string> = keywordSet("bigint int8 integer int int4 smallint int2");

/** Checks whether another action of the statement uses or changes the default of a column. */
function changesDefault({ all }: Alteration, name: string): boolean {
  return all.some((action) =>
    action.kind === "alter_column" && action.column.name === name &&
    (action.change === "drop_default" || action.change === "set_default")
  );
}

/**
 * Translates ALTER COLUMN of a serial column, which is an identity on the provider.
 *
 * @param alteration The statement.
 * @param column The column.
 * @param action The action.
 */
export function lowerSerial(
  alteration: Alteration,
  column: DeclaredColumn,
  { change, valueAt, to }: ActionOf<"alter_column">,
): "done" | "keep" {
  const { reader, before, t, lead } = alteration;
  const release = (): void => void lead.push(...dropSerialDefault(alteration, column));
  switch (change) {
    case "drop_default":
      release();
      return "done";
    case "set_default": {
      const written = readNextval(reader, valueAt, to);
      const sequence = written && findObject(before.sequences, written);
      const own = column.sequence === undefined ? undefined : before.sequences.get(column.sequence);
      if (sequence !== undefined && sequence === own) {
        t.apply("serial-default");
        return "done";
      }
      release();
      return "keep";
    }
    case "drop_identity":
      t.apply("serial-default");
      return "done"; // in PostgreSQL the column is not an identity
    case "drop_not_null":
      t.refuse("serial-sequence", `DROP NOT NULL of the serial column ${column.name}`);
      return "done";
    case "type": {
      if (changesDefault(alteration, column.name)) return "keep";
      const { name } = readName(reader, valueAt);
      if (!INTEGERS.has(name)) {
        t.refuse(
          "serial-sequence",
          `changing the serial column ${column.name} to a type that is not an integer`,
        );
      } else if (name === "bigint" || name === "int8") t.apply("type-identity-bigint");
      else t.warn("type-identity-bigint");
      return "done";
    }
    default:
      return "keep";
  }
}

/**
 * Returns the steps that turn an identity column, which replaces `serial`, into a plain column
 * without a default. As in PostgreSQL its sequence and position are kept.
 *
 * @param alteration The statement, which changes the column.
 * @param column A column of its table.
 */
function dropSerialDefault(
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

/** Checks whether a sequence numbers a serial column, which is an identity on the provider. */
function isOfSerial({ tables }: DeclaredSchema, sequence: DeclaredSequence): boolean {
  const { ownedBy, origin } = sequence;
  return origin === "serial" && ownedBy !== undefined &&
    tables.get(ownedBy.table)?.columns.some((one) =>
        one.numbering === "serial" && one.sequence === getKey(sequence)
      ) === true;
}

/** Rejects DROP SEQUENCE of a serial column. */
export function lowerDropSequence({ reader, before, t }: Lowering): Lowered[] {
  for (const [at] of reader.list(reader.skip(2, "IF", "EXISTS"), reader.droppedEnd())) {
    const sequence = findObject(before.sequences, readName(reader, at));
    if (sequence === undefined || !isOfSerial(before, sequence)) continue;
    const { table, column } = sequence.ownedBy!;
    t.refuse("serial-sequence", `DROP SEQUENCE ${sequence.name}, which numbers ${table}.${column}`);
  }
  return [reader];
}

/**
 * Translates ALTER SEQUENCE … OWNED BY of a serial column: the same owner alone is omitted, another
 * one and further changes are rejected.
 */
export function lowerAlterSequence({ reader, before, t }: Lowering): Lowered[] {
  const written = readName(reader, reader.skip(2, "IF", "EXISTS"));
  const sequence = findObject(before.sequences, written);
  const owned = reader.find("OWNED", written.end);
  if (sequence === undefined || owned < 0 || !isOfSerial(before, sequence)) return [reader];
  const owner = getOwner(before, reader, owned);
  const { table, column } = sequence.ownedBy!;
  const isSame = owner?.table === table && owner.column === column &&
    owned === written.end && reader.nameEnd(owned + 2) === reader.size;
  if (isSame) t.apply("serial-default");
  else {
    const what =
      `ALTER SEQUENCE ${sequence.name} OWNED BY with another column, NONE or more changes`;
    t.refuse("serial-sequence", what);
  }
  return [];
}
