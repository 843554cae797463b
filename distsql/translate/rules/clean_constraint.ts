import type { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import type { TableConstraint } from "../../syntax/table_constraint.ts";

const MAX_KEY_COLUMNS = 8;

/**
 * Removes the parts of a constraint that the provider rejects: storage, and DEFERRABLE except on
 * foreign keys. Rejects constraints without an equivalent.
 */
export function cleanConstraint(
  edits: TokenEdits,
  constraint: TableConstraint,
  t: StatementTranslation,
): void {
  const { reader } = edits;
  const { kind, bodyFrom, bodyTo, to, columns } = constraint;
  if (kind === "exclude") t.refuse("constraint-exclude", "EXCLUDE");
  cleanAttributes(edits, bodyTo, to, kind === "foreign_key", t);
  if (kind !== "unique" && kind !== "primary_key") return;
  if (columns.length > MAX_KEY_COLUMNS) {
    t.refuse("index-key-columns", `a key of ${columns.length} columns`);
  }
  for (let at = bodyFrom; at < to; at = reader.next(at)) {
    let end = at;
    if (reader.is(at, "WITH", "(")) end = reader.next(at + 1);
    else if (reader.is(at, "USING", "INDEX", "TABLESPACE")) end = reader.nameEnd(at + 3);
    if (end > at) {
      edits.remove(at, end);
      t.apply("constraint-storage");
    }
  }
  const open = reader.find("(", bodyFrom, to);
  if (open >= 0 && reader.is(reader.closing(open) - 2, "WITHOUT", "OVERLAPS")) {
    t.refuse("constraint-exclude", "WITHOUT OVERLAPS");
  }
}

/** Removes DEFERRABLE, INITIALLY and ENFORCED where they are rejected or have no effect. */
export function cleanAttributes(
  edits: TokenEdits,
  from: number,
  to: number,
  isForeignKey: boolean,
  t: StatementTranslation,
): void {
  const { reader } = edits;
  for (let at = from; at < to; at++) {
    if (reader.is(at, "NOT", "ENFORCED")) t.refuse("constraint-not-enforced", "NOT ENFORCED");
    else if (reader.is(at, "ENFORCED") && !reader.is(at - 1, "NOT")) {
      t.apply("newer-syntax");
      edits.remove(at, at + 1);
    }
    if (isForeignKey) continue;
    const isNot = reader.is(at, "NOT", "DEFERRABLE");
    const isInitially = reader.is(at, "INITIALLY");
    if (isNot || isInitially) {
      edits.remove(at, at + 2);
      if (reader.is(at + 1, "DEFERRED")) t.warn("constraint-deferrable");
      else t.apply("constraint-deferrable");
      at++;
    } else if (reader.is(at, "DEFERRABLE")) {
      edits.remove(at, at + 1);
      t.warn("constraint-deferrable");
    }
  }
}
