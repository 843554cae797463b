import { keywordSet } from "../../../sql/list_words.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { DistSqlStep } from "../context/translation.ts";
import { uniqueSteps } from "./add_constraint.ts";
import {
  type AlterResult,
  type AlterScope,
  chain,
  nameConstraint,
  step,
  validateStep,
} from "./alter_target.ts";
import type { ActionOf } from "../../syntax/alter_action.ts";
import type { ColumnClause } from "../../syntax/column_definition.ts";
import { type ColumnType, translateType } from "./column_type.ts";
import { notNullSteps } from "./not_null.ts";
import { cleanAttributes } from "./clean_constraint.ts";

/**
 * Functions that return another value at each call. The transaction's time is kept constant for all
 * rows.
 */
const VOLATILE: ReadonlySet<string> = keywordSet(
  "CLOCK_TIMESTAMP TIMEOFDAY RANDOM GEN_RANDOM_UUID NEXTVAL",
);

/** Clauses that require a table recreation. */
const RECREATES: ReadonlySet<string> = new Set(["primary_key", "generated", "identity"]);
/** Clauses that a plain ADD COLUMN keeps, or that can be omitted without loss. */
const PLAIN: ReadonlySet<string> = new Set(["storage", "compression", "null", "attribute"]);

/** Context of one added column. */
interface Addition extends AlterScope, ActionOf<"add_column"> {
  readonly type: ColumnType;
}

/** Returns the plain column, without the parts that the steps add. */
function plainColumn({ reader, from, to, column, type, t }: Addition): string {
  const edits = new TokenEdits(reader);
  if (type.replacement) edits.replace(column.typeFrom, column.typeTo, type.replacement);
  for (const clause of column.clauses) {
    if (clause.kind === "storage") continue;
    if (clause.kind === "compression") t.apply("create-table-storage");
    edits.remove(clause.from, clause.to);
  }
  return edits.isEmpty ? reader.text(from, to) : edits.apply(from, to);
}

function defaultSteps(
  clause: ColumnClause,
  { reader, column, target, t }: Addition,
): DistSqlStep[] {
  const start = clause.bodyFrom + 1;
  const isNull = reader.key(start) === "NULL" &&
    (clause.to === start + 1 || reader.key(start + 1) === "::");
  if (isNull) return [];
  const value = reader.text(start, clause.to);
  const { text } = column.name;
  for (let at = start; at < clause.to; at++) {
    if (reader.isOneOf(at, VOLATILE)) {
      t.warn(
        "add-column-constraint",
        "The default is volatile: each existing row gets a different value.",
      );
    }
  }
  const table = target.table.text;
  return [
    step(`${target.head} ALTER COLUMN ${text} SET DEFAULT ${value};`),
    step(`UPDATE ${table} SET ${text} = ${value} WHERE ${text} IS NULL;`),
  ];
}

/** Translates a column constraint as a table constraint. */
function constraintSteps(
  clause: ColumnClause,
  attributes: ColumnClause[],
  addition: Addition,
): readonly DistSqlStep[] {
  const { reader, column, target, t } = addition;
  const body = reader.text(clause.bodyFrom, clause.to);
  const name = (label: string): string =>
    clause.name?.text ?? nameConstraint(target, [column.name], label, t);
  let result: AlterResult;
  // PostgreSQL 16 does not store the name of a column's NOT NULL
  if (clause.kind === "not_null") result = notNullSteps(column.name, undefined, target, t);
  else if (clause.kind === "unique") {
    const nulls = reader.is(clause.bodyFrom + 1, "NULLS", "NOT") ? " NULLS NOT DISTINCT" : "";
    result = uniqueSteps(name("key"), `(${column.name.text})`, nulls, target, t);
  } else if (clause.kind === "check") result = checkedSteps(name("check"), body, addition);
  else {
    const rest = attributes.map((attribute) => ` ${reader.text(attribute.from, attribute.to)}`)
      .join("");
    result = checkedSteps(
      name("fkey"),
      `FOREIGN KEY (${column.name.text}) ${body}${rest}`,
      addition,
    );
  }
  return result && "steps" in result ? result.steps : [];
}

function checkedSteps(name: string, body: string, { target }: Addition): AlterResult {
  return {
    steps: [
      step(`${target.head} ADD CONSTRAINT ${name} ${body} NOT VALID;`),
      validateStep(target, name),
    ],
  };
}

/** Rejects additions that cannot be done in steps; returns true if it did. */
function refuses(addition: Addition): boolean {
  const { column, type, reader, t } = addition;
  const before = t.refusals.length;
  for (const clause of column.clauses) {
    if (RECREATES.has(clause.kind)) {
      t.refuse("add-column-recreate", "ADD COLUMN with a key or a generated value");
    }
    if (clause.kind === "not_enforced") t.refuse("constraint-not-enforced", "NOT ENFORCED");
    const isKey = clause.kind === "unique";
    if (isKey && type.isJson) {
      t.refuse("index-json-key", `column ${column.name.name} of type ${type.name} in a key`);
    }
    if (isKey && type.isNumeric && !t.can("numeric_keys")) {
      t.refuse("index-numeric-key", "a numeric key");
    }
    const takesSteps = !PLAIN.has(clause.kind) && clause.kind !== "references";
    if (takesSteps && !t.can("check_not_valid")) {
      t.refuse("add-column-recreate-before-steps", "ADD COLUMN with a constraint");
    }
  }
  // existing rows would get the default, which an UPDATE of NULLs would then not change
  if (type.domain?.hasDefault) {
    t.refuse("add-column-recreate", `ADD COLUMN of the domain ${type.name} with a default`);
  }
  if (type.isSerial) t.refuse("add-serial-column", `ADD COLUMN of type ${type.name}`);
  for (const clause of column.clauses) {
    if (clause.kind === "unknown") {
      t.refuse("add-column-recreate", `ADD COLUMN with ${reader.key(clause.bodyFrom)}`);
    }
  }
  return t.refusals.length > before;
}

/** Returns the DEFERRABLE attributes after a clause, which are kept only on foreign keys. */
function getAttributes(clause: ColumnClause, addition: Addition): ColumnClause[] {
  const { column, reader, t } = addition;
  const next = column.clauses.indexOf(clause) + 1;
  let end = next;
  while (column.clauses[end]?.kind === "attribute") end++;
  const attributes = column.clauses.slice(next, end);
  if (clause.kind === "references") return attributes;
  for (const { from, to } of attributes) {
    cleanAttributes(new TokenEdits(reader), from, to, false, t);
  }
  return [];
}

/**
 * Translates ADD COLUMN: plain columns are kept, a default and constraints become separate steps.
 */
export function translateAddColumn(
  action: ActionOf<"add_column">,
  scope: AlterScope,
): AlterResult {
  const { column, isGuarded } = action;
  const { reader, target, t } = scope;
  const refusedBefore = t.refusals.length;
  const type = translateType(reader, column.typeFrom, column.typeTo, t, column.name.name);
  const addition: Addition = { ...scope, ...action, type };
  if (refuses(addition) || t.refusals.length > refusedBefore) return undefined;
  const plain = plainColumn(addition);
  const steps: DistSqlStep[] = [step(`${target.head} ${plain};`)];
  const ordered = [...column.clauses].sort((a, b) =>
    Number(b.kind === "default") - Number(a.kind === "default")
  );
  for (const clause of ordered) {
    const attributes = PLAIN.has(clause.kind) ? [] : getAttributes(clause, addition);
    if (clause.kind === "default") steps.push(...defaultSteps(clause, addition));
    else if (clause.kind === "references" && !t.can("foreign_keys")) t.warn("foreign-key-dropped");
    else if (!PLAIN.has(clause.kind)) steps.push(...constraintSteps(clause, attributes, addition));
  }
  const kinds = new Set(column.clauses.map((clause) => clause.kind));
  if (kinds.has("not_null") && !kinds.has("default")) {
    t.warn(
      "add-column-constraint",
      "NOT NULL without a default: the validation fails if there are rows without a value.",
    );
  }
  const isPlain = column.clauses.every((clause) => clause.kind === "storage");
  if (isPlain && steps.length === 1) return { keep: plain };
  t.apply(steps.length === 1 ? "add-column-null" : "add-column-constraint");
  if (steps.length === 1) return { keep: plain };
  const about = { table: target.quoted, column: column.name.name };
  if (isGuarded) steps[0] = { ...steps[0], ifNoColumn: about };
  return { steps: chain(steps) };
}
