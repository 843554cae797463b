import { type AppError, isAppError } from "../../errors/app_error.ts";
import { causeChain, findInCauseChain } from "../../errors/cause_chain.ts";
import {
  DatabaseError,
  ForeignKeyViolationError,
  UniqueViolationError,
} from "../../errors/database_errors.ts";
import { readDriverError } from "../../errors/driver_error.ts";
import { ValidationError } from "../../errors/http_errors.ts";
import { TransactionMisuseError } from "../../errors/transaction_misuse_error.ts";
import { countAttempts } from "../retry.ts";
import { isOccError } from "../sqlstate.ts";
import { isInsideTransaction, keepTransaction } from "../transaction_guard.ts";
import { type ConstraintAnswers, findConstraintAnswer } from "./constraint_answers.ts";

/** What is known of a query that failed. */
export interface FailedQuery {
  /** The query's name. */
  queryName: string;
  /** How many times it was tried. */
  attempts: number;
  /** The answers to violated constraints. */
  constraints: ConstraintAnswers | undefined;
}

/** SQLSTATE of a NUL byte, or of bytes that are no text (PostgreSQL 18, appendix A). */
const CHARACTER_NOT_IN_REPERTOIRE = "22021";

/**
 * Makes the error that leaves a query: drivers and drizzle put statements and values into theirs.
 *
 * @param thrown What the query threw.
 * @param query The query.
 * @returns The application's own error as it is; else one without SQL and values.
 */
export function toQueryError(thrown: unknown, query: FailedQuery): AppError {
  const { queryName, constraints = {} } = query;
  const first = causeChain(thrown).find((link) => !isStatementError(link));
  const attempts = readAttempts(thrown, query);
  if (isAppError(first)) {
    if (!(first instanceof DatabaseError)) return first;
    if (first instanceof TransactionMisuseError) return first.forQuery(queryName);
    // an inner query could not know how often its transaction would be tried
    const isRetried = attempts !== undefined && first.attempts === undefined;
    return answerConstraint(
      isRetried ? DatabaseError.from(first.cause, queryName, attempts) : first,
      constraints,
    );
  }
  const error = DatabaseError.from(withoutValues(thrown), queryName, attempts);
  const answer = answerConstraint(error, constraints);
  return answer === error && error.sqlState === CHARACTER_NOT_IN_REPERTOIRE
    ? unstorable(error)
    : answer;
}

/** How many times the work was tried that ended in a conflict. In a transaction it is not over yet. */
function readAttempts(thrown: unknown, { attempts }: FailedQuery): number | undefined {
  if (!isOccError(thrown) || isInsideTransaction(thrown)) return undefined;
  return Math.max(attempts, countAttempts(thrown));
}

/** The answer that the query has for a violated constraint, in the form of a validation error. */
function answerConstraint(error: DatabaseError, constraints: ConstraintAnswers): AppError {
  const answer = findConstraintAnswer(constraints, error);
  const isAnswered = (error as UniqueViolationError).errors !== undefined;
  if (answer === undefined || isAnswered) return error;
  const { sqlState, queryName, constraint, table, columns, cause } = error;
  const facts = { sqlState, queryName, constraint, table, columns };
  const errors = { [answer.field]: [answer.message] };
  if (error instanceof UniqueViolationError) {
    return new UniqueViolationError(undefined, { ...facts, cause, errors });
  }
  if (error instanceof ForeignKeyViolationError) {
    return new ForeignKeyViolationError(undefined, { ...facts, cause, errors });
  }
  return new ValidationError(undefined, { cause, errors, details: facts });
}

/** No table can hold such a text, so it came with the input. */
function unstorable({ cause }: DatabaseError): ValidationError {
  return new ValidationError("A text holds a character that cannot be stored, such as NUL", {
    cause,
  });
}

/**
 * A cause that may be looked at: the driver's error with its safe message, code, names and stack, or the first link that
 * is no drizzle wrapper.
 */
function withoutValues(thrown: unknown): unknown {
  const link = findInCauseChain(thrown, (candidate) => readDriverError(candidate) !== undefined);
  const driver = readDriverError(link);
  if (driver === undefined) {
    return causeChain(thrown).find((candidate) => !isStatementError(candidate));
  }
  const { name, stack } = link as Partial<Error>;
  const { sqlState: code, message, names, columns } = driver;
  const safe = Object.assign(new Error(message), { code, ...names, ...(columns && { columns }) });
  safe.name = typeof name === "string" ? name : "Error";
  const frames = stack?.split("\n").filter((line) => /^\s+at /.test(line));
  keepTransaction(thrown, safe);
  safe.stack = [`${safe.name}: ${safe.message}`, ...frames ?? []].join("\n");
  return safe;
}

/** drizzle's DrizzleQueryError: its message is the statement and its parameters. */
function isStatementError(error: unknown): boolean {
  return typeof error === "object" && error !== null && "query" in error && "params" in error;
}
