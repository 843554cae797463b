import type { Table } from "drizzle-orm";
import { DatabaseError } from "../../errors/database_errors.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";
import { addStatement, noteFailure, runInTransaction } from "../better_auth/statement_scope.ts";
import { findRowProblem } from "./row_problem.ts";

/** Options of {@link createAuthClient}. */
export interface AuthClientOptions {
  /** Tables of the client's schema by model name. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The tables in their place. */
  readonly tables: Readonly<Record<string, unknown>>;
  /** better-auth's error, which its routes pass on. */
  readonly APIError: BetterAuthLibrary["APIError"];
}

type AnyFunction = (...args: unknown[]) => unknown;

const STATEMENTS: ReadonlySet<PropertyKey> = new Set([
  "select",
  "selectDistinct",
  "insert",
  "update",
  "delete",
  "execute",
]);

/**
 * Returns the client of better-auth's adapter:
 *
 * - An insert or update whose values do not fit their columns is answered with 400.
 * - Errors of queries contain neither SQL nor parameters.
 * - Statements of requests are counted, and functions that better-auth calls find its transaction.
 * - The schema has the tables of the adapter. better-auth finds relations by the identity of a table.
 *
 * It is a `Proxy`, also of the builders, because better-auth's adapter calls any of their methods.
 *
 * @param db The client.
 * @param options Tables and error.
 * @returns A view of the client.
 */
export function createAuthClient<T extends object>(
  db: T,
  { schema, tables, APIError }: AuthClientOptions,
): T {
  const byTable = new Map(Object.keys(schema).map((model) => [schema[model], tables[model]]));

  function viewClient<V extends object>(client: V): V {
    return view(client, (key, method, args) => {
      if (key === "transaction") return runTransaction(client, method, args);
      if (STATEMENTS.has(key)) addStatement();
      const [table] = args as [Table];
      const result = method.apply(client, args);
      return key === "insert" || key === "update"
        ? viewBuilder(result as object, table)
        : viewResult(result);
    });
  }

  function runTransaction(client: object, begin: AnyFunction, args: unknown[]): unknown {
    const [run, ...options] = args as [AnyFunction];
    return viewResult(runInTransaction((inScope) =>
      begin.call(
        client,
        (tx: never) => inScope(tx, () => run(viewClient(tx))),
        ...options,
      )
    ));
  }

  /** Views a builder; with the table if its rows are still to come. */
  function viewBuilder(builder: object, table?: Table): object {
    return view(builder, (key, method, args) => {
      if (table !== undefined && (key === "values" || key === "set")) {
        const message = findRowProblem(table, key, args[0] as object);
        if (message !== undefined) {
          throw new APIError("BAD_REQUEST", { message, code: "VALIDATION_ERROR" });
        }
      }
      return viewResult(method.apply(builder, key === "then" ? withSafeRejection(args) : args));
    });
  }

  function viewResult(result: unknown): unknown {
    if (result instanceof Promise) return result.catch(refuse);
    return isStep(result) ? viewBuilder(result) : result;
  }

  function view<V extends object>(
    target: V,
    call: (key: PropertyKey, method: AnyFunction, args: unknown[]) => unknown,
  ): V {
    return new Proxy(target, {
      get(owner, key, receiver): unknown {
        const value: unknown = Reflect.get(owner, key);
        if (key === "_") return replaceTables(value as Internals | undefined, byTable);
        if (typeof value !== "function") {
          return isStep(value) || key === "query" ? viewBuilder(value as object) : value;
        }
        // they call `then` of the view
        if (key === "catch" || key === "finally") return value.bind(receiver);
        return (...args: unknown[]): unknown => call(key, value as AnyFunction, args);
      },
    });
  }

  return viewClient(db);
}

/** What drizzle keeps in a client. */
interface Internals {
  readonly fullSchema?: Readonly<Record<string, unknown>>;
}

function replaceTables(
  internals: Internals | undefined,
  byTable: ReadonlyMap<unknown, unknown>,
): unknown {
  if (internals?.fullSchema === undefined) return internals;
  const entries = Object.entries(internals.fullSchema);
  const fullSchema = entries.map(([name, table]) => [name, byTable.get(table) ?? table]);
  return { ...internals, fullSchema: Object.fromEntries(fullSchema) };
}

const STEPS = ["then", "from", "values", "set", "findMany"] as const;

/** A query builder. */
function isStep(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Promise) &&
    STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}

function withSafeRejection([onFulfilled, onRejected]: unknown[]): unknown[] {
  return typeof onRejected === "function"
    ? [onFulfilled, (error: unknown) => onRejected(toSafeError(error))]
    : [onFulfilled];
}

function refuse(error: unknown): never {
  throw toSafeError(error);
}

/** Checks for an error of drizzle or a driver. A transaction's function can throw other errors. */
function isOfQuery(error: unknown): boolean {
  return (error instanceof Error && "query" in error) ||
    findSqlState(error) !== undefined;
}

/**
 * Returns the error of a query without SQL and parameters. better-auth prints some query errors to
 * standard error without the logger, and drizzle's errors contain the statement and its values. Keeps
 * the SQLSTATE and the names. Removes the cause, which would be printed with the error.
 */
function toSafeError(error: unknown): unknown {
  if (!isOfQuery(error)) return error;
  noteFailure();
  const { message, sqlState, queryName, details } = DatabaseError.from(
    error,
    "of better-auth",
  );
  return new DatabaseError(message, { sqlState, queryName, details });
}
