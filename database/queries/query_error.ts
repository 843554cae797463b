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
import { countAttempts } from "../session/retry.ts";
import { isOccError } from "../../sql/sqlstate.ts";
import { isInsideTransaction, keepTransaction } from "../session/transaction_state.ts";
import { type ConstraintAnswers, findConstraintAnswer } from "./constraint_answers.ts";

/** Facts about a query that failed. */
export interface FailedQuery {
  /** The query's name. */
  queryName: string;
  /** Number of attempts. */
  attempts: number;
  /** Responses to violated constraints. */
  constraints: ConstraintAnswers | undefined;
}

/** SQLSTATE of a NUL byte or of bytes that are not valid text (PostgreSQL 18, appendix A). */
const CHARACTER_NOT_IN_REPERTOIRE = "22021";

/**
 * Converts an error of a query: errors of drivers and drizzle contain statements and values.
 *
 * @param thrown The error.
 * @param query The query.
 * @returns The application's own error unchanged; any other error without SQL and values.
 */
export function toQueryError(thrown: unknown, query: FailedQuery): AppError {
  const { queryName, constraints = {} } = query;
  const first = causeChain(thrown).find((link) => !isStatementError(link));
  const attempts = readAttempts(thrown, query);
  if (isAppError(first)) {
    if (!(first instanceof DatabaseError)) return first;
    if (first instanceof TransactionMisuseError) return first.forQuery(queryName);
    // an inner query cannot know how often its transaction is retried
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

/**
 * Returns the number of attempts of work that ended in a conflict. Not known inside a transaction,
 * which may still be retried.
 */
function readAttempts(thrown: unknown, { attempts }: FailedQuery): number | undefined {
  if (!isOccError(thrown) || isInsideTransaction(thrown)) return undefined;
  return Math.max(attempts, countAttempts(thrown));
}

/** Returns the query's response to a violated constraint as a validation error. */
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

/** Reports input that no text column can store. */
function unstorable({ cause }: DatabaseError): ValidationError {
  return new ValidationError("A text contains a character that cannot be stored, such as NUL", {
    cause,
  });
}

/**
 * Returns a safe cause: the driver's error reduced to its safe message, code, names and stack, or
 * the first error in the chain that is not a wrapper of drizzle.
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

/**
 * Checks for drizzle's DrizzleQueryError, whose message contains the statement and its parameters.
 */
function isStatementError(error: unknown): boolean {
  return typeof error === "object" && error !== null && "query" in error && "params" in error;
}
