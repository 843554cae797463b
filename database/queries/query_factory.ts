import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { recordQuery } from "../session/query_recorder.ts";
import type { DistSqlRetryOptions } from "../session/retry.ts";
import { type TransactionClient, withTransaction } from "../session/transaction.ts";
import { isFlatTransaction } from "../session/transaction_guard.ts";
import { checkConstraintAnswers, type ConstraintAnswers } from "./constraint_answers.ts";
import {
  type DefinedStatement,
  defineStatementOn,
  type DefineStatementOptions,
  type Params,
  type StatementClient,
} from "./define_statement.ts";
import { withQueryMetrics } from "./query_metrics.ts";
import { checkTables, type QueryTable } from "./query_tables.ts";
import type { TablePermission } from "./table_permission.ts";
import { record } from "../../env/recording.ts";

/** Options of `defineQuery`. */
export interface DefineQueryOptions {
  /**
   * All tables that the function itself uses: the grants of the functions that use the query are
   * generated from them. A query that only calls statements of `defineStatement` and other queries
   * leaves it out: their tables are known.
   * @default []
   */
  tables?: QueryTable[];
  /**
   * Run the query in a transaction. The whole transaction is retried after a conflict.
   * @default false
   */
  transaction?: boolean;
  /**
   * The query's name in metrics, spans and errors.
   * @default the function's name, else operations and tables
   */
  name?: string;
  /**
   * Retries of conflicts; `false` disables them.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
  /**
   * Log the arguments at DEBUG, redacted by key name.
   * @default false
   */
  logInput?: boolean;
  /**
   * Responses to violated constraints: field and message by the name of the constraint. Unique
   * constraints and foreign keys give 409, all others 400.
   * @default {}
   */
  constraints?: ConstraintAnswers;
}

/** Declared query: call it with the arguments that follow the client. */
export interface DefinedQuery<
  TSchema extends Record<string, unknown>,
  TArgs extends unknown[],
  TResult,
> {
  /** Runs the query on the factory's client. */
  (...args: TArgs): Promise<TResult>;
  /**
   * Runs the query on another client: pass a transaction's client to make the query part of that
   * transaction: in a savepoint if the query has `transaction: true` and the server supports them. The
   * transaction's owner retries it. The client of a job's transaction does not know
   * the schema in its type, but is the same client.
   */
  on(client: DrizzleClient<TSchema> | TransactionClient, ...args: TArgs): Promise<TResult>;
  /** The name in metrics, spans and errors. */
  readonly queryName: string;
  /** Operations of the query by table. */
  readonly tables: readonly TablePermission[];
  /** True if the query runs in a transaction. */
  readonly transaction: boolean;
}

/** Functions that declare the queries of a database. */
export interface QueryFactory<TSchema extends Record<string, unknown>> {
  /**
   * Declares a query.
   *
   * @param options Tables and settings of the query.
   * @param fn The query; its first argument is the client.
   * @returns A function that takes the other arguments.
   */
  defineQuery<TArgs extends unknown[], TResult>(
    options: DefineQueryOptions,
    fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
  ): DefinedQuery<TSchema, TArgs, TResult>;
  /**
   * Declares a query whose statements are prepared with `.prepare(name)`. The server parses and plans
   * a prepared statement once per connection, and recognizes it by its text. The function runs at
   * each call, as with `defineQuery`.
   *
   * @param options Tables and settings of the query.
   * @param fn The query; its first argument is the client.
   * @returns A function that takes the other arguments.
   */
  definePreparedQuery<TArgs extends unknown[], TResult>(
    options: DefineQueryOptions,
    fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
  ): DefinedQuery<TSchema, TArgs, TResult>;
  /**
   * Declares one statement, which is built once for all calls. Its members of `p` are placeholders for
   * the values of a call: pass them on unchanged. A builder whose SQL depends on a value, the clock, chance or the
   * context of a request is refused. Functions of columns (`$defaultFn`, `$onUpdateFn`) run at each call.
   *
   * Two things cannot be observed while the statement is built: a function that the builder calls with a
   * parameter must not compare it with `===`, and variables that the builder reads must not change. The
   * 1st, 2nd, 4th, 8th call and so on are compared with the statement that drizzle builds for their values,
   * and fail if it is another one.
   *
   * @param name The name in metrics, spans and errors.
   * @param builder Returns the statement, not awaited.
   * @param options Mapping of the rows, responses to constraints, retries.
   * @returns A function that takes the values of the parameters.
   * @throws {ConfigurationError} If a call finds that the statement cannot be built once for all values.
   */
  defineStatement<TParams = Record<never, never>, TRows = unknown, TResult = TRows>(
    name: string,
    builder: (db: StatementClient<TSchema>, p: Params<TParams>) => PromiseLike<TRows>,
    options?: DefineStatementOptions<TRows, TResult>,
  ): DefinedStatement<TSchema, TParams, TResult>;
}

/**
 * Creates the functions that declare a project's queries. Each query gets metrics, a span, a
 * log line on failure and retries of conflicts (`withQueryMetrics`), and a transaction if it asks
 * for one.
 *
 * @param getDb Returns the client. Called for each query, so it should be cached like
 * `getDrizzleClient`.
 * @returns `defineQuery`, `definePreparedQuery` and `defineStatement`.
 *
 * @example
 * ```ts
 * import {
 *   closeDrizzleClient,
 *   createQueryFactory,
 *   DatabaseOperation,
 *   getDrizzleClient,
 *   type Params,
 * } from "@trellis/fn/database";
 * import { eq, sql } from "@trellis/fn/database/orm";
 * import { integer, pgTable, text } from "drizzle-orm/pg-core";
 *
 * const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
 * const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
 * const { defineQuery, defineStatement } = createQueryFactory(getDb);
 *
 * const addNote = defineQuery(
 *   { tables: [{ table: notes, operations: [DatabaseOperation.Insert] }] },
 *   async function addNote(db, title: string) {
 *     await db.insert(notes).values({ id: 1, title });
 *   },
 * );
 * const findNote = defineStatement("findNote", (db, p: Params<{ id: number }>) =>
 *   db.select().from(notes).where(eq(notes.id, p.id))
 * );
 *
 * await (await getDb()).execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text)`);
 * await addNote("Milk");
 * console.log(await findNote({ id: 1 })); // [{ id: 1, title: "Milk" }]
 * await closeDrizzleClient();
 * ```
 */
export function createQueryFactory<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>,
): QueryFactory<TSchema> {
  if (typeof getDb !== "function") {
    throw new ConfigurationError(
      `createQueryFactory takes a function that returns the client, got ${typeof getDb}`,
    );
  }
  return {
    defineQuery: (options, fn) => define(getDb, options, fn),
    definePreparedQuery: (options, fn) => define(getDb, options, fn),
    defineStatement: (name, builder, options) =>
      defineStatementOn(getDb as never, name, builder as never, options as never) as never,
  };
}

function define<TSchema extends Record<string, unknown>, TArgs extends unknown[], TResult>(
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>,
  options: DefineQueryOptions,
  fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
): DefinedQuery<TSchema, TArgs, TResult> {
  const { transaction = false, retry, logInput = false, constraints } = options;
  if (constraints !== undefined) checkConstraintAnswers(constraints);
  const tables = checkTables(options.tables ?? []);
  const queryName = options.name ?? (fn.name || describeTables(tables));
  const measure = (args: TArgs, fn: () => Promise<TResult>): Promise<TResult> =>
    withQueryMetrics(queryName, fn, { retry, constraints, logInput: logInput ? args : undefined });

  function run(client: DrizzleClient<TSchema>, args: TArgs): Promise<TResult> {
    return recordQuery(queryName, fn, () => {
      // without savepoints the query's statements belong to the outer transaction alone
      if (!transaction || isFlatTransaction(client)) return fn(client, ...args);
      return withTransaction(client, (tx) => fn(tx as DrizzleClient<TSchema>, ...args));
    });
  }
  function definedQuery(...args: TArgs): Promise<TResult> {
    return measure(args, async () => await run(await getDb(), args));
  }
  function on(
    client: DrizzleClient<TSchema> | TransactionClient,
    ...args: TArgs
  ): Promise<TResult> {
    return measure(args, () => run(client as DrizzleClient<TSchema>, args));
  }
  return record(
    "defineQuery",
    [options, fn],
    Object.assign(definedQuery, { on, queryName, tables: Object.freeze(tables), transaction }),
  );
}

function describeTables(tables: readonly TablePermission[]): string {
  const words = tables.map(({ table, operations }) =>
    `${operations.join(" ").toLowerCase()} ${table}`
  );
  return words.length === 0 ? "query" : words.join(", ");
}
