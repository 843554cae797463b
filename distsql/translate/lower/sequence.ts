import {
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
} from "../../schema/declared_schema.ts";
import { getOwner } from "../../schema/fold_objects.ts";
import { readName, writeName } from "../../../sql/sql_name.ts";
import { parseStatement } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { Lowered, Lowering } from "./lowered.ts";
import { writeObject } from "./sql_text.ts";

/** Returns the serial column of a sequence, if it is an identity column on the provider. */
function serialColumn(
  state: DeclaredSchema,
  sequence: DeclaredSequence,
): [table: string, column: string] | undefined {
  if (sequence.origin !== "serial" || sequence.ownedBy === undefined) return undefined;
  const table = state.tables.get(sequence.ownedBy.table);
  const column = table?.columns.find((one) =>
    one.numbering === "serial" && one.sequence === getKey(sequence)
  );
  return table && column ? [writeObject(table), column.name] : undefined;
}

/**
 * Translates DROP SEQUENCE: with CASCADE also of an identity column, which becomes a plain one.
 */
export function lowerDropSequence({ reader, before, t }: Lowering): Lowered[] {
  const cascades = reader.is(reader.size - 1, "CASCADE");
  const end = reader.droppedEnd();
  const start = reader.skip(2, "IF", "EXISTS");
  const lowered: Lowered[] = [];
  const kept: string[] = [];
  for (const [from, to] of reader.list(start, end)) {
    const sequence = findObject(before.sequences, readName(reader, from));
    const serial = sequence && serialColumn(before, sequence);
    if (serial === undefined) kept.push(reader.text(from, to));
    else if (cascades) {
      t.apply("serial-default");
      const column = writeName(serial[1], true);
      lowered.push({ sql: `ALTER TABLE ${serial[0]} ALTER COLUMN ${column} DROP IDENTITY;` });
    } else {
      const what = `DROP SEQUENCE ${sequence!.name}, which numbers ${serial[0]}.${serial[1]}`;
      t.refuse("serial-sequence", what);
    }
  }
  if (kept.length === reader.list(start, end).length) return [reader];
  if (kept.length > 0) {
    const edits = new TokenEdits(reader);
    edits.replace(start, end, kept.join(", "));
    lowered.push(parseStatement(edits.apply()));
  }
  return lowered;
}

/**
 * Translates ALTER SEQUENCE of a serial column: OWNED BY the same column is omitted, another owner
 * is rejected.
 */
export function lowerAlterSequence({ reader, before, t }: Lowering): Lowered[] {
  const written = readName(reader, reader.skip(2, "IF", "EXISTS"));
  const sequence = findObject(before.sequences, written);
  const serial = sequence && serialColumn(before, sequence);
  const owned = reader.find("OWNED", written.end);
  if (serial === undefined || owned < 0) return [reader];
  const end = reader.nameEnd(owned + 2);
  const owner = getOwner(before, reader, owned);
  const isSame = owner?.table === sequence!.ownedBy?.table && owner?.column === serial[1];
  if (!isSame) {
    t.refuse("serial-sequence", `ALTER SEQUENCE ${sequence!.name} OWNED BY another column or NONE`);
    return [];
  }
  t.apply("serial-default");
  if (owned === written.end && end === reader.size) return [];
  const edits = new TokenEdits(reader);
  edits.remove(owned, end);
  return [parseStatement(edits.apply())];
}
