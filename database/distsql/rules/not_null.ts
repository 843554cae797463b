import { getName, type QualifiedName, truncateName } from "../sql_name.ts";
import { StatementReader } from "../statement_reader.ts";
import { tokenize } from "../tokenize.ts";
import type { StatementTranslation } from "../translation.ts";
import {
  type AlterResult,
  type AlterTarget,
  nameConstraint,
  step,
  validateStep,
} from "./alter_target.ts";

/**
 * Writes NOT NULL of an existing column: a CHECK that stands for it, added as NOT VALID, then validated.
 *
 * @param column The column.
 * @param given The name that the statement gives the constraint.
 * @param target The table.
 * @param t Where a generated name is noted.
 * @returns The steps.
 */
export function notNullSteps(
  column: QualifiedName,
  given: QualifiedName | undefined,
  target: AlterTarget,
  t: StatementTranslation,
): AlterResult {
  const name = given?.text ?? nameConstraint(target, [column], "not_null", t);
  const about = { table: target.quoted, column: truncateName(column.name) };
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
 * Keeps DROP NOT NULL, and notes that a CHECK which stands for NOT NULL goes with it.
 *
 * @param keep The action as written.
 * @param column The column.
 * @param target The table.
 */
export function dropNotNull(keep: string, column: QualifiedName, target: AlterTarget): AlterResult {
  return {
    keep,
    notNull: { table: target.quoted, column: truncateName(column.name), does: "drop" },
  };
}

/** A CHECK that stands for NOT NULL. */
export interface NotNullDefinition {
  /** The column, without quotes. */
  readonly column: string;
  /** Whether only the runner writes it so; without that, somebody may have written the same CHECK. */
  readonly isOwn: boolean;
}

const CHECK =
  /^CHECK \(\((?:\((?<own>.+) IS NOT NULL\) IS TRUE|(?<plain>.+) IS NOT NULL)\)\)(?: NOT VALID)?$/;

/**
 * Writes the CHECK that stands for NOT NULL, in a form that tells it from a CHECK that somebody wrote: only the former is
 * dropped by DROP NOT NULL.
 *
 * @param column The column, as SQL.
 */
export function notNullCheck(column: string): string {
  return `CHECK ((${column} IS NOT NULL) IS TRUE)`;
}

/**
 * Reads a CHECK that stands for NOT NULL.
 *
 * @param definition As `pg_get_constraintdef` writes it.
 * @returns The column, or `undefined` when the constraint says something else.
 */
export function readNotNullCheck(definition: string): NotNullDefinition | undefined {
  const { own, plain } = CHECK.exec(definition)?.groups ?? {};
  const reader = new StatementReader(tokenize(own ?? plain ?? ""));
  if (reader.size !== 1 || !reader.isName(0)) return undefined;
  return { column: getName(reader.token(0)!), isOwn: own !== undefined };
}
