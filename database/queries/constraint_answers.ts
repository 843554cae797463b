import type { DatabaseError } from "../../errors/database_errors.ts";
import { deriveName } from "../../sql/sql_name.ts";

/** Response to the violation of a constraint. */
export interface ConstraintAnswer {
  /** The field of the input, as a dotted path (`address.zip`); `_form` for the whole input. */
  readonly field: string;
  /** Message for the field, such as `is taken`. */
  readonly message: string;
}

/**
 * Responses by name of a constraint or unique index. A NOT NULL column has PostgreSQL 18's name for
 * it: `users_email_not_null`. Errors without a constraint, such as a text that is too long, use
 * their SQLSTATE: `22001`.
 *
 * @example
 * ```ts
 * import type { ConstraintAnswers } from "@trellis/fn/database";
 *
 * export const constraints: ConstraintAnswers = {
 *   users_email_unique: { field: "email", message: "is taken" },
 *   users_age_check: { field: "age", message: "must be 18 or more" },
 *   "22001": { field: "_form", message: "a value is too long" },
 * };
 * ```
 */
export type ConstraintAnswers = Readonly<Record<string, ConstraintAnswer>>;

/**
 * Returns the response to a failure.
 *
 * @param answers The query's responses.
 * @param error The failure.
 */
export function findConstraintAnswer(
  answers: ConstraintAnswers,
  { sqlState, constraint, table, columns }: DatabaseError,
): ConstraintAnswer | undefined {
  // PostgreSQL 18 gives NOT NULL constraints this name; older servers have no name for them
  const isNotNull = sqlState === "23502" && table !== undefined && columns.length === 1;
  const names = [
    constraint,
    isNotNull ? deriveName(table, columns[0], "not_null") : undefined,
    sqlState,
  ];
  const name = names.find((one) => one !== undefined && Object.hasOwn(answers, one));
  return name === undefined ? undefined : answers[name];
}
