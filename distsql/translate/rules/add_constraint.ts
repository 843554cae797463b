import { columnsNamed } from "../../schema/expression_columns.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import {
  type AlterResult,
  type AlterScope,
  type AlterTarget,
  chain,
  nameConstraint,
  type NamedColumn,
  step,
  validateStep,
} from "./alter_target.ts";
import { refuseJsonKeys } from "./known_table.ts";
import { notNullSteps } from "./not_null.ts";
import { cleanConstraint } from "./clean_constraint.ts";
import type { ActionOf } from "../../syntax/alter_action.ts";
import { isNotValid, type TableConstraint } from "../../syntax/table_constraint.ts";

/** Returns the only column of a CHECK, which PostgreSQL uses in its name. */
function onlyColumn(reader: StatementReader, from: number, to: number): NamedColumn[] {
  const names = columnsNamed(reader, from, to);
  return names.length === 1 ? [{ name: names[0], isQuoted: false }] : [];
}

/**
 * Returns the steps of a unique constraint: an index that is built in the background, then becomes
 * the constraint.
 */
export function uniqueSteps(
  name: string,
  columns: string,
  suffix: string,
  target: AlterTarget,
  t: StatementTranslation,
): AlterResult {
  t.apply("add-unique");
  const index = /^async$/i.test(name) ? '"async"' : name;
  return {
    steps: chain([
      {
        sql: `CREATE UNIQUE INDEX ASYNC ${index} ON ${target.table.text} ${columns}${suffix};`,
        job: { kind: "index", table: target.table.text, name: index },
      },
      step(`${target.head} ADD CONSTRAINT ${index} UNIQUE USING INDEX ${index};`),
    ]),
  };
}

function translateUnique(
  constraint: TableConstraint,
  { reader, target, t }: AlterScope,
): AlterResult {
  if (isIgnored(constraint, target, t)) return undefined;
  const open = reader.find("(", constraint.bodyFrom, constraint.to);
  const afterColumns = reader.next(open);
  const include = reader.key(afterColumns) === "INCLUDE"
    ? ` ${reader.text(afterColumns, reader.next(afterColumns + 1))}`
    : "";
  const nulls = reader.is(constraint.bodyFrom + 1, "NULLS", "NOT", "DISTINCT")
    ? " NULLS NOT DISTINCT"
    : "";
  if (!constraint.name) t.warn("constraint-name");
  const name = constraint.name?.text ?? nameConstraint(target, constraint.columns, "key", t);
  return uniqueSteps(name, reader.text(open, afterColumns), include + nulls, target, t);
}

/** SQLSTATE of a constraint whose name a check or a foreign key has. */
const DUPLICATE_OBJECT = "42710";

/**
 * Checks for a unique constraint that PostgreSQL does not add, because a check or a foreign key has
 * its name and the DO block ignores that. Its index would be built before the server noticed.
 */
function isIgnored(
  { name }: TableConstraint,
  { known }: AlterTarget,
  t: StatementTranslation,
): boolean {
  return name !== undefined && t.ignores.includes(DUPLICATE_OBJECT) &&
    known?.constraints.some((one) =>
        one.name === name.name && (one.type === "check" || one.type === "foreign_key")
      ) === true;
}

/**
 * Translates CHECK and FOREIGN KEY: added as NOT VALID, then validated. A constraint that is
 * already NOT VALID is not changed.
 */
function translateChecked(
  constraint: TableConstraint,
  edits: TokenEdits,
  { reader, target, t }: AlterScope,
): AlterResult {
  const { kind, from, to } = constraint;
  if (kind === "foreign_key" && !t.can("foreign_keys")) {
    return void t.warn("foreign-key-dropped");
  }
  if (!t.can("check_not_valid")) return void t.refuse("add-constraint-recreate", "ADD CONSTRAINT");
  const text = edits.apply(from, to);
  if (isNotValid(reader, constraint)) {
    const isValidatedLater = constraint.name && t.scope.validated.has(constraint.name.name);
    if (!isValidatedLater) t.warn("constraint-unvalidated");
    return { keep: `${reader.text(from - 1, from)} ${text}` };
  }
  t.apply("add-constraint-not-valid");
  if (!constraint.name) t.warn("constraint-name");
  const columns = kind === "foreign_key"
    ? constraint.columns
    : onlyColumn(reader, constraint.bodyFrom + 2, reader.closing(constraint.bodyFrom + 1));
  const name = constraint.name?.text ??
    nameConstraint(target, columns, kind === "foreign_key" ? "fkey" : "check", t);
  const named = constraint.name ? text : `CONSTRAINT ${name} ${text}`;
  return {
    steps: chain([step(`${target.head} ADD ${named} NOT VALID;`), validateStep(target, name)]),
  };
}

/**
 * Translates ADD of a constraint to an existing table.
 */
export function translateAddConstraint(
  { constraint, from, to }: ActionOf<"add_constraint">,
  scope: AlterScope,
): AlterResult {
  const { reader, target, t } = scope;
  const edits = new TokenEdits(reader);
  cleanConstraint(edits, constraint, t);
  const isKey = constraint.kind === "primary_key" || constraint.kind === "unique";
  if (isKey) refuseJsonKeys(target.known, constraint.columns.map(({ name }) => name), t);
  switch (constraint.kind) {
    case "primary_key":
      return void t.refuse("primary-key-change", "ADD PRIMARY KEY");
    case "unique":
      if (constraint.usesIndex) {
        return { keep: edits.isEmpty ? reader.text(from, to) : edits.apply(from, to) };
      }
      return translateUnique(constraint, scope);
    case "not_null":
      return addNotNull(constraint, scope);
    case "exclude":
      return undefined;
    case "check":
    case "foreign_key":
      return translateChecked(constraint, edits, scope);
    case "unknown":
      return { keep: reader.text(from, to) };
  }
}

function addNotNull(constraint: TableConstraint, { target, t }: AlterScope): AlterResult {
  if (!t.can("check_not_valid")) return void t.refuse("set-not-null-recreate", "ADD NOT NULL");
  t.apply("set-not-null");
  return notNullSteps(constraint.columns[0], constraint.name, target, t);
}
