import type { Query, SQL, TablesRelationalConfig } from "drizzle-orm";
import {
  PgDatabase,
  type PgPreparedQuery,
  PgSession,
  PgTransaction,
  type PgTransactionConfig,
  type PreparedQueryConfig,
  type SelectedFieldsOrdered,
} from "drizzle-orm/pg-core";
import type { DrizzleClient } from "../providers/provider.ts";
import { isJsonField } from "./column_decoder.ts";
import type { ConnectionSlots } from "./connection_slots.ts";
import { CellReaders } from "./decode_rows.ts";
import type { Dialect } from "./dialect.ts";
import type { SqlDriver, Statement, StatementResult, TransactionDriver } from "./driver.ts";
import { LazySchema } from "./lazy_schema.ts";
import type { Lease } from "./lease.ts";
import { describeStatement } from "./misuse_messages.ts";
import { PreparedQuery, type RowMapping } from "./prepared_query.ts";
import type { QueryResult, QueryResultHKT } from "./query_result.ts";
import { mapToFields } from "./row_mapping.ts";
import type { StatementSession } from "./statement_session.ts";

type RowMapper = (rows: unknown[][]) => unknown;
type Metadata = Statement["metadata"];

/**
 * Session of drizzle on a driver. All providers share it, so that the same query returns the same
 * result.
 */
abstract class Session
  extends PgSession<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig>
  implements StatementSession {
  /** Schema for `db.query`. */
  protected readonly schema: LazySchema | undefined;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect, schema: LazySchema | undefined) {
    super(dialect);
    this.#dialect = dialect;
    this.schema = schema;
  }

  abstract send(statement: Statement): Promise<StatementResult>;

  prepareQuery<T extends PreparedQueryConfig = PreparedQueryConfig>(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    name: string | undefined,
    _isResponseInArrayMode: boolean,
    mapRows?: RowMapper,
    metadata?: Metadata,
  ): PgPreparedQuery<T> {
    const template = { name, metadata, isCast: this.#dialect.getCasts(query) };
    const mapping = this.#getMapping(fields, mapRows);
    return new PreparedQuery(this, query, template, mapping) as PgPreparedQuery<T>;
  }

  get statements(): object {
    return this.#dialect;
  }

  bind(statement: object): object {
    return (statement as PreparedQuery).bind(this);
  }

  #getMapping(
    fields: SelectedFieldsOrdered | undefined,
    mapRows: RowMapper | undefined,
  ): RowMapping {
    if (mapRows !== undefined) {
      const cells = new CellReaders(this.#dialect.lastRelationalFields.map(isJsonField));
      return { kind: "relational", cells, mapRows };
    }
    return fields === undefined ? { kind: "raw" } : mapToFields(fields);
  }

  override async count(query: SQL): Promise<number> {
    const { rows } = await this.execute<QueryResult<{ count: unknown }>>(query);
    return Number(rows[0].count);
  }
}

class PoolSession extends Session {
  readonly #driver: SqlDriver;
  readonly #slots: ConnectionSlots;

  constructor(
    driver: SqlDriver,
    slots: ConnectionSlots,
    dialect: Dialect,
    schema: LazySchema | undefined,
  ) {
    super(dialect, schema);
    this.#driver = driver;
    this.#slots = slots;
  }

  send(statement: Statement): Promise<StatementResult> {
    const waiting = this.#slots.admit(() => describeStatement(statement));
    return waiting === undefined
      ? this.#driver.run(statement)
      : waiting.then(() => this.#driver.run(statement));
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>, config?: PgTransactionConfig): Promise<T> {
    return this.#slots.hold((scope) =>
      this.#driver.transaction((driver) =>
        scope.run(async () => {
          const tx = createTransaction(
            driver,
            scope.lease,
            this.dialect as Dialect,
            this.schema,
            0,
          );
          if (config !== undefined) await tx.setTransaction(config);
          return await work(tx);
        })
      )
    );
  }
}

class TransactionSession extends Session {
  readonly #driver: TransactionDriver;
  readonly #lease: Lease;

  constructor(
    driver: TransactionDriver,
    lease: Lease,
    dialect: Dialect,
    schema: LazySchema | undefined,
  ) {
    super(dialect, schema);
    this.#driver = driver;
    this.#lease = lease;
  }

  send(statement: Statement): Promise<StatementResult> {
    return this.#lease.run(() => describeStatement(statement), () => this.#driver.run(statement));
  }

  /**
   * Sends a statement that the caller does not wait for. Where the driver pipelines, it travels with
   * the next statement or with COMMIT; elsewhere the transaction waits for it before COMMIT.
   */
  sendAhead(statement: Statement): Promise<StatementResult> {
    return this.pipelines ? this.#driver.run(statement) : this.send(statement);
  }

  /** True if statements that are sent ahead take no round trip. */
  get pipelines(): boolean {
    return this.#driver.pipelines === true;
  }

  /** Throws if the transaction's work has ended. Call it before {@link sendAhead}. */
  assertOpen(): void {
    this.#lease.assertOpen(() => "the statement");
  }

  savepoint<T>(work: (tx: Transaction) => Promise<T>, depth: number): Promise<T> {
    return this.#lease.runInner((inner) =>
      this.#driver.savepoint((driver) =>
        inner.use(() =>
          work(createTransaction(driver, inner, this.dialect as Dialect, this.schema, depth))
        )
      )
    );
  }

  /** Never called: drizzle begins an inner transaction on the transaction. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.savepoint(work, 1);
  }
}

class Transaction
  extends PgTransaction<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig> {
  override transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const session = this._.session as unknown as TransactionSession;
    return session.savepoint(work, this.nestedIndex + 1);
  }
}

function createTransaction(
  driver: TransactionDriver,
  lease: Lease,
  dialect: Dialect,
  schema: LazySchema | undefined,
  depth: number,
): Transaction {
  const session = new TransactionSession(driver, lease, dialect, schema);
  const tx = new Transaction(dialect, session, undefined, depth);
  return schema === undefined ? tx : schema.addTo(tx);
}

/**
 * Creates drizzle's client on a driver.
 *
 * @param driver The connections.
 * @param slots Counts the transactions on them.
 * @param dialect Writes the SQL.
 * @param schema Tables and relations for `db.query`.
 * @returns The client.
 */
export function createSessionClient(
  driver: SqlDriver,
  slots: ConnectionSlots,
  dialect: Dialect,
  schema: Record<string, unknown> | undefined,
): DrizzleClient {
  const lazy = schema && new LazySchema(schema);
  const db: PgDatabase<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig> =
    new PgDatabase(dialect, new PoolSession(driver, slots, dialect, lazy), undefined);
  lazy?.addTo(db);
  return Object.assign(db, { $client: driver.client }) as never;
}
