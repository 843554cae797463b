import type { ActionOf } from "../../syntax/alter_action.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import type { AlterResult, AlterScope } from "./alter_target.ts";
import { translateType } from "./column_type.ts";
import { normalizeCache, normalizeIdentity } from "./identity.ts";
import { isKey } from "./known_table.ts";
import { dropNotNull, notNullSteps } from "./not_null.ts";

const AFTER_TYPE: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/**
 * Translates SET DEFAULT, DROP DEFAULT and DROP NOT NULL, which required a recreation before the
 * provider supported them.
 */
function keepSince(keep: string, t: StatementTranslation): AlterResult {
  if (t.can("column_defaults")) return { keep };
  return void t.refuse("alter-column-recreate", "ALTER COLUMN");
}

/**
 * Translates a change of type, which requires a recreation with a type that the provider supports.
 */
function changeType(
  { column: { name: column }, valueAt: typeAt, to }: ActionOf<"alter_column">,
  { reader, target, t }: AlterScope,
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
export function translateAlterColumn(
  action: ActionOf<"alter_column">,
  scope: AlterScope,
): AlterResult {
  const { column, change, valueAt, from, to } = action;
  const { reader, target, t } = scope;
  const text = reader.text(from, to);
  const edits = new TokenEdits(reader);
  switch (change) {
    case "type":
      return changeType(action, scope);
    case "set_expression":
      return void t.refuse("alter-column-type", `a change of column ${column.name}`);
    case "set_not_null":
      if (!t.can("check_not_valid")) return void t.refuse("set-not-null-recreate", "SET NOT NULL");
      t.apply("set-not-null");
      return notNullSteps(column, undefined, target, t);
    case "drop_not_null":
      if (!t.can("column_defaults")) return keepSince(text, t);
      t.warn("drop-not-null");
      return dropNotNull(text, column, target);
    case "set_default":
    case "drop_default":
      return keepSince(text, t);
    case "add_identity":
      normalizeIdentity(edits, valueAt - 1, to, t);
      break;
    default: {
      const at = column.end;
      const setsStorage = reader.is(at, "SET", "STATISTICS") ||
        reader.is(at, "SET", "COMPRESSION") || reader.is(at, "SET", "(") ||
        reader.is(at, "RESET", "(");
      if (setsStorage) return void t.warn("table-settings");
      normalizeCache(edits, at, to, "identity-cache", t);
    }
  }
  return { keep: edits.isEmpty ? text : edits.apply(from, to) };
}
