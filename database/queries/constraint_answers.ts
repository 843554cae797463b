import type { DatabaseError } from "../../errors/database_errors.ts";
import { deriveName, MAX_NAME_BYTES } from "../../sql/sql_name.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";

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

/**
 * Validates the responses of a query when it is defined.
 *
 * @param answers The application's responses.
 * @throws {ConfigurationError} If a key can never occur. The message has the key and the fix.
 */
export function checkConstraintAnswers(answers: unknown): void {
  if (typeof answers !== "object" || answers === null || Array.isArray(answers)) {
    throw new ConfigurationError(
      `constraints must be an object such as { users_email_unique: { field: "email", message: "is taken" } }, got ${
        JSON.stringify(answers)
      }`,
    );
  }
  for (const [key, answer] of Object.entries(answers)) {
    checkKey(key);
    checkAnswer(key, answer);
  }
}

function checkKey(key: string): void {
  if (key === "") {
    throw new ConfigurationError("constraints has an empty name: give the name of a constraint");
  }
  const bytes = new TextEncoder().encode(key).length;
  if (bytes > MAX_NAME_BYTES) {
    throw new ConfigurationError(
      `constraints.${key} is ${bytes} bytes long: PostgreSQL cuts names to ${MAX_NAME_BYTES} ` +
        `bytes, give the name in the database`,
    );
  }
  if (/^\d[0-9A-Z]{4}$/.test(key) && !/^2[23]/.test(key)) {
    throw new ConfigurationError(
      `constraints["${key}"] is never used: only SQLSTATEs of the classes 22 (values) and 23 ` +
        "(constraints) can be mapped",
    );
  }
}

function checkAnswer(key: string, answer: unknown): void {
  const { field, message, ...rest } = (answer ?? {}) as Record<string, unknown>;
  const isComplete = [field, message].every((text) => typeof text === "string" && text !== "");
  if (isComplete && Object.keys(rest).length === 0) return;
  throw new ConfigurationError(
    `constraints.${key} must be { field, message } with two strings, got ` +
      `${JSON.stringify(answer)}`,
  );
}
