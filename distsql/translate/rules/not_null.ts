import { getName, type QualifiedName } from "../../../sql/sql_name.ts";
import { parseStatement } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import {
  type AlterResult,
  type AlterTarget,
  nameConstraint,
  step,
  validateStep,
} from "./alter_target.ts";

/**
 * Returns the steps that make an existing column NOT NULL: a CHECK added as NOT VALID, then
 * validated.
 *
 * @param column The column.
 * @param given Name of the constraint in the statement.
 * @param target The table.
 * @param t Receives a generated name.
 * @returns The steps.
 */
export function notNullSteps(
  column: QualifiedName,
  given: QualifiedName | undefined,
  target: AlterTarget,
  t: StatementTranslation,
): AlterResult {
  const name = given?.text ?? nameConstraint(target, [column], "not_null", t);
  const about = { table: target.quoted, column: column.name };
  const catalogName = given?.name ?? unquote(name);
  return {
    steps: [
      {
        ...step(
          `${target.head} ADD CONSTRAINT ${name} CHECK (${column.text} IS NOT NULL) NOT VALID;`,
        ),
        notNull: [{ ...about, does: "add", name: catalogName }],
      },
      {
        ...validateStep(target, name),
        notNull: [{ ...about, does: "validate", name: catalogName }],
      },
    ],
  };
}

function unquote(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

/**
 * Keeps DROP NOT NULL, and records that a CHECK which replaces NOT NULL is dropped with it.
 *
 * @param keep The action, as written.
 * @param column The column.
 * @param target The table.
 */
export function dropNotNull(keep: string, column: QualifiedName, target: AlterTarget): AlterResult {
  return {
    keep,
    notNull: { table: target.quoted, column: column.name, does: "drop" },
  };
}

/** CHECK that replaces NOT NULL. */
export interface NotNullDefinition {
  /** Column, without quotes. */
  readonly column: string;
  /**
   * True if it has the form that only the runner writes; otherwise the user may have written the
   * same CHECK.
   */
  readonly isOwn: boolean;
}

const CHECK =
  /^CHECK \(\((?:\((?<own>.+) IS NOT NULL\) IS TRUE|(?<plain>.+) IS NOT NULL)\)\)(?: NOT VALID)?$/;

/**
 * Writes the CHECK that replaces NOT NULL, in a form that distinguishes it from user-defined
 * CHECKs: only this form is dropped by DROP NOT NULL.
 *
 * @param column The column, as SQL.
 */
export function notNullCheck(column: string): string {
  return `CHECK ((${column} IS NOT NULL) IS TRUE)`;
}

/**
 * Parses a CHECK that replaces NOT NULL.
 *
 * @param definition Definition from `pg_get_constraintdef`.
 * @returns The column, or `undefined` for any other constraint.
 */
export function readNotNullCheck(definition: string): NotNullDefinition | undefined {
  const { own, plain } = CHECK.exec(definition)?.groups ?? {};
  const reader = parseStatement(own ?? plain ?? "");
  if (reader.size !== 1 || !reader.isName(0)) return undefined;
  return { column: getName(reader.token(0)!), isOwn: own !== undefined };
}
