import { findTypeChange } from "../../syntax/alter_pass.ts";
import { readName } from "../../../sql/sql_name.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { AlterAction, AlterResult } from "./alter_target.ts";
import { translateType } from "./column_type.ts";
import { normalizeCache, normalizeIdentity } from "./identity.ts";
import { isKey } from "./known_table.ts";
import { dropNotNull, notNullSteps } from "./not_null.ts";

const AFTER_TYPE: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/**
 * Translates a change of type, which requires a recreation with a type that the provider supports.
 */
function changeType(
  typeAt: number,
  column: string,
  { reader, to, target, t }: AlterAction,
): undefined {
  const end = reader.findEnd(AFTER_TYPE, typeAt, to);
  const type = translateType(reader, typeAt, end, t, column);
  if (type.isJson && isKey(target.known, column)) {
    t.refuse("index-json-key", `column ${column} of type ${type.name} in a key`, type.name);
  }
  t.refuse("alter-column-type", `a change of column ${column}`);
}

/**
 * Translates ALTER COLUMN of an existing table.
 */
export function translateAlterColumn(action: AlterAction): AlterResult {
  const { reader, from, to, target, t } = action;
  const column = readName(reader, reader.skip(from + 1, "COLUMN"));
  const at = column.end;
  const text = reader.text(from, to);
  const typeAt = findTypeChange(reader, at);
  if (typeAt >= 0) return changeType(typeAt, column.name, action);
  if (reader.is(at, "SET", "EXPRESSION")) {
    return void t.refuse("alter-column-type", `a change of column ${column.name}`);
  }
  if (reader.is(at, "SET", "NOT", "NULL")) {
    t.apply("set-not-null");
    return notNullSteps(column, undefined, target, t);
  }
  if (reader.is(at, "DROP", "NOT", "NULL")) {
    t.warn("drop-not-null");
    return dropNotNull(text, column, target);
  }
  if (reader.is(at, "SET", "DEFAULT") || reader.is(at, "DROP", "DEFAULT")) return { keep: text };
  const setsStorage = reader.is(at, "SET", "STATISTICS") || reader.is(at, "SET", "COMPRESSION") ||
    reader.is(at, "SET", "(") || reader.is(at, "RESET", "(");
  if (setsStorage) return void t.warn("table-settings");
  const edits = new TokenEdits(reader);
  if (reader.is(at, "ADD", "GENERATED")) normalizeIdentity(edits, at + 1, to, t);
  else normalizeCache(edits, at, to, "identity-cache", t);
  return { keep: edits.isEmpty ? text : edits.apply(from, to) };
}
