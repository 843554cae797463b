import { getName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";

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
