import { findInCauseChain } from "../errors/cause_chain.ts";
import { DatabaseError } from "../errors/database_errors.ts";
import { getSqlState } from "../errors/driver_error.ts";

/**
 * A view of a drizzle client whose failed queries show neither SQL nor parameters. The auth library prints some errors of its
 * queries on standard error as they are, past every logger, and drizzle's hold the statement with its values.
 *
 * @param db The client.
 * @returns The view.
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
      // they come down to `then` of the view
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

/** What is handed to a method: the second callback of `then` gets a safe error, the work of a transaction a safe client. */
function replaceCallback(method: string | symbol, arg: unknown, at: number): unknown {
  if (typeof arg !== "function") return arg;
  if (method === "then" && at === 1) return (error: unknown) => arg(toSafeError(error));
  if (method === "transaction" && at === 0) return (tx: object) => arg(view(tx));
  return arg;
}

const STEPS = ["then", "from", "values", "set", "findMany"] as const;

/** A query that is being built, or is ready to run. */
function isStep(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Promise) &&
    STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}

function refuse(error: unknown): never {
  throw toSafeError(error);
}

/** Whether an error is of a query: drizzle's holds its text, a driver's a SQLSTATE. What a transaction's work throws may be neither. */
function isOfQuery(error: unknown): boolean {
  return (error instanceof Error && "query" in error) ||
    findInCauseChain(error, (link) => getSqlState(link) !== undefined) !== undefined;
}

/** Without its cause, which whoever prints the error would print with it; the SQLSTATE and the names in it stay. */
function toSafeError(error: unknown): unknown {
  if (!isOfQuery(error)) return error;
  const { message, sqlState, queryName, details } = DatabaseError.from(
    error,
    "of the auth library",
  );
  return new DatabaseError(message, { sqlState, queryName, details });
}
