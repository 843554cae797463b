import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { addKnownNames } from "../../errors/known_names.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import type { DistSqlRetryOptions } from "../retry.ts";
import { withTransaction } from "../transaction.ts";
import { checkConstraintAnswers, type ConstraintAnswers } from "./constraint_answers.ts";
import { type QueryMetricsOptions, withQueryMetrics } from "./query_metrics.ts";
import { checkPermissions } from "./requires_table.ts";
import { type PreparedByName, reusePrepared } from "./reuse_prepared.ts";
import type { DatabaseOperation, TablePermission } from "../table_permission.ts";

/** A table of a query and what the query does with it. */
export interface QueryTable {
  /** A drizzle table, or a table's name in the database. */
  table: PgTable | string;
  /** What is done with it. */
  operations: DatabaseOperation[];
}

/** How a query is declared. */
export interface DefineQueryOptions {
  /** Every table that the query touches: the source of the grants of the functions that use it. */
  tables: QueryTable[];
  /**
   * Run the query in a transaction, which is run again as a whole after a conflict.
   * @default false
   */
  transaction?: boolean;
  /**
   * The query's name in metrics, spans and errors.
   * @default the function's name, else operations and tables
   */
  name?: string;
  /**
   * How conflicts are met; `false` runs the query once.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
  /**
   * Log the arguments at DEBUG, with secrets taken out by key name.
   * @default false
   */
  logInput?: boolean;
  /**
   * What a client is told when a constraint is violated: the field and what is wrong with it, by the name of the
   * constraint. Unique constraints and foreign keys give 409, all others 400.
   * @default {}
   */
  constraints?: ConstraintAnswers;
}

/** A declared query: call it with the arguments that follow the client. */
export interface DefinedQuery<
  TSchema extends Record<string, unknown>,
  TArgs extends unknown[],
  TResult,
> {
  /** Runs the query on the factory's client. */
  (...args: TArgs): Promise<TResult>;
  /**
   * Runs the query on a client of the caller's: as a part of a transaction that is under way, with that transaction's
   * client. Whoever began the transaction retries it.
   */
  on(client: DrizzleClient<TSchema>, ...args: TArgs): Promise<TResult>;
  /** The name in metrics, spans and errors. */
  readonly queryName: string;
  /** What the query does with which tables. */
  readonly tables: readonly TablePermission[];
  /** Whether the query runs in a transaction. */
  readonly transaction: boolean;
}

/** Declares queries of one database. */
export interface QueryFactory<TSchema extends Record<string, unknown>> {
  /**
   * Declares a query.
   *
   * @param options Its tables, and how it runs.
   * @param fn The query; its first argument is the client.
   * @returns A function that takes the other arguments.
   */
  defineQuery<TArgs extends unknown[], TResult>(
    options: DefineQueryOptions,
    fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
  ): DefinedQuery<TSchema, TArgs, TResult>;
  /**
   * Declares a query whose statements are built once for each connection: what `.prepare(name)` of the client gave
   * under a name is given again, so a name must stand for one statement, with `sql.placeholder` for what differs.
   *
   * @param options Its tables, and how it runs.
   * @param fn The query; its first argument is the client.
   * @returns A function that takes the other arguments.
   */
  definePreparedQuery<TArgs extends unknown[], TResult>(
    options: DefineQueryOptions,
    fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
  ): DefinedQuery<TSchema, TArgs, TResult>;
}

/**
 * Makes the two functions that declare a project's queries. Each query gets metrics, a span, an error line and a retry
 * of conflicts (`withQueryMetrics`), and a transaction when it asks for one.
 *
 * @param getDb Gives the client; called for each query, so it should be a cached one such as `getDrizzleClient`'s.
 * @returns `defineQuery` and `definePreparedQuery`.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
 * import { eq, sql } from "@trellis/fn/database/orm";
 * import { integer, pgTable, text } from "drizzle-orm/pg-core";
 *
 * const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
 * const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
 * const { defineQuery, definePreparedQuery } = createQueryFactory(getDb);
 *
 * const addNote = defineQuery(
 *   { tables: [{ table: notes, operations: [DatabaseOperation.Insert] }] },
 *   async function addNote(db, title: string) {
 *     await db.insert(notes).values({ id: 1, title });
 *   },
 * );
 * const findNote = definePreparedQuery(
 *   { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
 *   function findNote(db, id: number) {
 *     return db.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare("findNote").execute({ id });
 *   },
 * );
 *
 * await (await getDb()).execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text)`);
 * await addNote("Milk");
 * console.log(await findNote(1)); // [{ id: 1, title: "Milk" }]
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
      `createQueryFactory takes a function that gives the client, got ${typeof getDb}`,
    );
  }
  return {
    defineQuery: (options, fn) => define(getDb, options, fn),
    definePreparedQuery(options, fn) {
      // one query's statements, by client; another query may use the same name
      const statements: WeakMap<object, PreparedByName> = new WeakMap();
      return define(getDb, options, function runPrepared(db, ...args) {
        let prepared = statements.get(db);
        if (prepared === undefined) statements.set(db, prepared = new Map());
        return fn(reusePrepared(db, prepared), ...args);
      }, fn.name);
    },
  };
}

function define<TSchema extends Record<string, unknown>, TArgs extends unknown[], TResult>(
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>,
  options: DefineQueryOptions,
  fn: (db: DrizzleClient<TSchema>, ...args: TArgs) => Promise<TResult>,
  functionName: string = fn.name,
): DefinedQuery<TSchema, TArgs, TResult> {
  const { transaction = false, retry, logInput = false, constraints } = options;
  if (constraints !== undefined) checkConstraintAnswers(constraints);
  const tables = checkPermissions(
    options.tables?.map(({ table, operations }) => ({
      table: typeof table === "string" ? table : getName(table),
      operations,
    })),
  );
  options.tables?.forEach(({ table }) => declaredTables.add(table));
  const queryName = options.name ?? (functionName || describeTables(tables));
  const shared: QueryMetricsOptions = { retry, constraints };

  function run(client: DrizzleClient<TSchema>, args: TArgs): Promise<TResult> {
    if (!transaction) return fn(client, ...args);
    return withTransaction(client, (tx) => fn(tx as unknown as DrizzleClient<TSchema>, ...args));
  }
  async function runOnce(args: TArgs): Promise<TResult> {
    return await run(await getDb(), args);
  }
  function definedQuery(...args: TArgs): Promise<TResult> {
    return withQueryMetrics(
      queryName,
      () => runOnce(args),
      logInput ? { ...shared, logInput: args } : shared,
    );
  }
  function on(client: DrizzleClient<TSchema>, ...args: TArgs): Promise<TResult> {
    return withQueryMetrics(
      queryName,
      () => run(client, args),
      logInput ? { ...shared, logInput: args } : shared,
    );
  }
  return Object.assign(definedQuery, { on, queryName, tables: Object.freeze(tables), transaction });
}

function getName(table: PgTable): string {
  const { name, schema } = getTableConfig(table);
  return schema === undefined ? name : `${schema}.${name}`;
}

/** Tables of the declared queries: an error message may show their names. */
const declaredTables: Set<string | PgTable> = new Set();
addKnownNames(() => [...declaredTables].flatMap(listNames));

/** Lists the names of a table and of its columns. */
function listNames(table: string | PgTable): string[] {
  if (typeof table === "string") return table.split(".");
  const { name, columns } = getTableConfig(table);
  return [name, ...columns.map((column) => column.name)];
}

function describeTables(tables: readonly TablePermission[]): string {
  const words = tables.map(({ table, operations }) =>
    `${operations.join(" ").toLowerCase()} ${table}`
  );
  return words.length === 0 ? "query" : words.join(", ");
}
