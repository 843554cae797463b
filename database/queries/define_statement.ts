import { ConfigurationError } from "../../errors/http_errors.ts";
import { addKnownNames } from "../../errors/known_names.ts";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import type { DistSqlRetryOptions } from "../session/retry.ts";
import type { PoolSession, TransactionSession } from "../session/session.ts";
import { type CallValues, CHANGES_TEXT } from "../session/statement_template.ts";
import { findSession } from "../session/statement_session.ts";
import type { TablePermission } from "./table_permission.ts";
import type { TransactionClient } from "../session/transaction.ts";
import {
  type BuilderClient,
  buildForAllValues,
  type BuiltStatement,
  type StatementBuilder,
} from "./build_statement.ts";
import { checkConstraintAnswers, type ConstraintAnswers } from "./constraint_answers.ts";
import { withQueryMetrics } from "./query_metrics.ts";
import { checkTables, type QueryTable } from "./query_tables.ts";
import { record } from "../../env/recording.ts";

/**
 * Parameter of a statement. It fits where a value of its type fits, and has no value while the statement
 * is built: an expression that needs one throws.
 */
export type Param<T> = T extends null | undefined ? T : T & { readonly "~parameter": true };

/**
 * Parameters of a statement by name.
 *
 * @example
 * ```ts
 * import type { Params } from "@trellis/fn/database";
 *
 * export type Page = Params<{ userId: string; limit: number }>;
 * ```
 */
export type Params<T> = { readonly [Name in keyof T]: Param<T[Name]> };

/** Client that builds the statement. Use `defineQuery` for relational queries (`db.query`). */
export type StatementClient<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
> = Pick<
  DrizzleClient<TSchema>,
  | "$with"
  | "with"
  | "select"
  | "selectDistinct"
  | "selectDistinctOn"
  | "insert"
  | "update"
  | "delete"
  | "execute"
>;

/** Options of `defineStatement`. */
export interface DefineStatementOptions<TRows, TResult> {
  /**
   * Maps the rows to the result of a call.
   * @default the rows
   */
  map?: (rows: TRows) => TResult;
  /**
   * Responses to violated constraints, as in `defineQuery`.
   * @default {}
   */
  constraints?: ConstraintAnswers;
  /**
   * Retries of conflicts; `false` disables them.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
  /**
   * Tables and operations of the statement.
   * @default those of its SQL, which `trellis generate permissions` reads
   */
  tables?: QueryTable[];
}

/** Arguments of a statement: none if it has no parameters. */
export type StatementArguments<TParams> = keyof TParams extends never ? [] : [params: TParams];

/** Declared statement: call it with its parameters. */
export interface DefinedStatement<
  TSchema extends Record<string, unknown>,
  TParams,
  TResult,
> {
  /** Runs the statement on the factory's client. */
  (...args: StatementArguments<TParams>): Promise<TResult>;
  /** Runs the statement on another client, such as that of a transaction. */
  on(
    client: DrizzleClient<TSchema> | TransactionClient,
    ...args: StatementArguments<TParams>
  ): Promise<TResult>;
  /** The name in metrics, spans and errors. */
  readonly queryName: string;
  /** The declared tables; empty if the statement declares none. */
  readonly tables: readonly TablePermission[];
}

type GetDb = () => DrizzleClient | Promise<DrizzleClient>;

/**
 * Declares a statement: see `QueryFactory.defineStatement`.
 *
 * @param getDb Returns the client.
 * @param name The name in metrics, spans and errors.
 * @param builder Builds the statement.
 * @param options The options.
 */
export function defineStatementOn(
  getDb: GetDb,
  name: string,
  builder: StatementBuilder,
  options: DefineStatementOptions<unknown, unknown> = {},
): DefinedStatement<Record<string, unknown>, CallValues, unknown> {
  checkDefinition(name, builder);
  const { map, constraints, retry } = options;
  if (constraints !== undefined) checkConstraintAnswers(constraints);
  const tables = checkTables(options.tables ?? []);
  const metrics = { constraints, retry };
  const statement = new Statement(name, builder);
  statements.add(statement);

  async function run(client: DrizzleClient, values: CallValues): Promise<unknown> {
    const rows = await statement.run(client, values);
    return map === undefined ? rows : map(rows);
  }
  function definedStatement(values: CallValues = {}): Promise<unknown> {
    return withQueryMetrics(name, async () => await run(await getDb(), values), metrics);
  }
  function on(
    client: DrizzleClient | TransactionClient,
    values: CallValues = {},
  ): Promise<unknown> {
    return withQueryMetrics(name, () => run(client as DrizzleClient, values), metrics);
  }
  return record(
    "defineStatement",
    [name, builder, options, statement],
    Object.assign(definedStatement, { on, queryName: name, tables: Object.freeze(tables) }),
  );
}

function checkDefinition(name: unknown, builder: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ConfigurationError(
      `defineStatement takes the name of the statement first, got ${JSON.stringify(name)}`,
    );
  }
  if (typeof builder !== "function") {
    throw new ConfigurationError(
      `defineStatement("${name}") takes a function that builds the statement, got ${typeof builder}`,
    );
  }
}

/** The declared statements of this process. */
const statements: Set<Statement> = new Set();

/** A declared statement, for tools that build it without a database. */
export interface DeclaredStatement {
  readonly name: string;
  /**
   * Builds the statement, as its first call does.
   *
   * @throws {ConfigurationError} If it cannot be built for all values.
   */
  buildOn(db: BuilderClient): BuiltStatement;
}

// names of tables and columns may appear in error messages
addKnownNames(() => [...statements].flatMap((statement) => statement.listNames()));

/** A declared statement. It is built once for PostgreSQL, and once for each client that needs another text. */
class Statement implements DeclaredStatement {
  readonly name: string;
  readonly #builder: StatementBuilder;
  #built: BuiltStatement | undefined;
  #calls = 0;
  #nextComparison = 1;
  readonly #ownTexts: WeakMap<object, BuiltStatement> = new WeakMap();

  constructor(name: string, builder: StatementBuilder) {
    this.name = name;
    this.#builder = builder;
  }

  /** Runs the statement. */
  run(client: DrizzleClient, values: CallValues): PromiseLike<unknown> {
    const session = findSession(client);
    // a client of drizzle's own drivers builds it for each call
    if (session === undefined) return this.#runAnew(client, values);
    const { query, names, compare } = this.#build(session);
    for (const name of names) {
      if (!Object.hasOwn(values, name) || values[name] === undefined) {
        throw new TypeError(`${this.name}: p.${name} is undefined, pass null for NULL`);
      }
    }
    // the 1st, 2nd, 4th, 8th call and so on
    if (++this.#calls === this.#nextComparison) {
      this.#nextComparison *= 2;
      runOutsideInvocation(() => compare(values));
    }
    return query.bind(session).execute(values).catch((error) => {
      if (error !== CHANGES_TEXT) throw error;
      return this.#runAnew(client, values);
    });
  }

  /** Builds the statement with the values themselves. */
  #runAnew(client: DrizzleClient, values: CallValues): PromiseLike<unknown> {
    return this.#builder(client, values);
  }

  /** Builds the statement, once. See {@link DeclaredStatement.buildOn}. */
  #build({ statements: traits }: PoolSession | TransactionSession): BuiltStatement {
    const known = traits.hasOwnText ? this.#ownTexts.get(traits) : this.#built;
    if (known !== undefined) return known;
    const built = this.buildOn(traits.createBuilder() as BuilderClient);
    if (traits.hasOwnText) this.#ownTexts.set(traits, built);
    else this.#built = built;
    return built;
  }

  buildOn(db: BuilderClient): BuiltStatement {
    return runOutsideInvocation(() => buildForAllValues(this.name, this.#builder, db));
  }

  /** Returns the names of the tables and columns that the statement mentions. */
  listNames(): string[] {
    const text = this.#built?.query.getQuery().sql ?? "";
    return [...text.matchAll(/"((?:[^"]|"")+)"/g)].map(([, name]) => name.replaceAll('""', '"'));
  }
}
