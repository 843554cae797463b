import { DatabaseError } from "../../errors/database_errors.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { noteFailure } from "../better_auth/statement_scope.ts";

/**
 * Wraps a drizzle client so that errors of its queries contain neither SQL nor parameters.
 * better-auth prints some query errors to standard error without the logger, and drizzle's errors
 * contain the statement and its values.
 *
 * @param db The client.
 * @returns The wrapped client.
 */
export function withSafeErrors<T extends object>(db: T): T {
  return view(db);
}

function view<T extends object>(target: T): T {
  return new Proxy(target, {
    get(owner, key, receiver): unknown {
      const value: unknown = Reflect.get(owner, key);
      if (typeof value !== "function") {
        return isStep(value) || key === "query" ? view(value as object) : value;
      }
      // they call `then` of the wrapper
      if (key === "catch" || key === "finally") return value.bind(receiver);
      return (...args: unknown[]): unknown => {
        const result: unknown = value.apply(
          owner,
          args.map((arg, at) => replaceCallback(key, arg, at)),
        );
        if (result instanceof Promise) return result.catch(refuse);
        return isStep(result) ? view(result) : result;
      };
    },
  });
}

/**
 * Wraps an argument: the second callback of `then` receives a safe error, the function of a
 * transaction a safe client.
 */
function replaceCallback(method: string | symbol, arg: unknown, at: number): unknown {
  if (typeof arg !== "function") return arg;
  if (method === "then" && at === 1) return (error: unknown) => arg(toSafeError(error));
  if (method === "transaction" && at === 0) return (tx: object) => arg(view(tx));
  return arg;
}

const STEPS = ["then", "from", "values", "set", "findMany"] as const;

/** A query builder. */
function isStep(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Promise) &&
    STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}

function refuse(error: unknown): never {
  throw toSafeError(error);
}

/** Checks for an error of drizzle or a driver. A transaction's function can throw other errors. */
function isOfQuery(error: unknown): boolean {
  return (error instanceof Error && "query" in error) ||
    findSqlState(error) !== undefined;
}

/** Removes the cause, which would be printed with the error. Keeps the SQLSTATE and the names. */
function toSafeError(error: unknown): unknown {
  if (!isOfQuery(error)) return error;
  noteFailure();
  const { message, sqlState, queryName, details } = DatabaseError.from(
    error,
    "of better-auth",
  );
  return new DatabaseError(message, { sqlState, queryName, details });
}
