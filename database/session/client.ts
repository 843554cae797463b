import {
  DrizzleQueryError,
  getTableName,
  noopDecoder,
  type Query,
  type RelationalSchemaConfig,
  type SQL,
  type TablesRelationalConfig,
} from "drizzle-orm";
import type { DrizzleClient, QueryResult, QueryResultHKT } from "./drizzle_client.ts";
import type { ConnectionSlots } from "./connection_slots.ts";
import { Dialect } from "./dialect.ts";
import type { SqlDriver, Statement } from "./driver.ts";
import { PoolSession, type TransactionSession, type TransactionWork } from "./session.ts";
import { POSTGRES_RULES, type TransactionRules } from "./transaction_state.ts";
import {
  PgColumn,
  type PgDatabase as DatabaseOf,
  type PgPreparedQuery,
  type PgTransactionConfig,
  type PreparedQueryConfig,
  type SelectedFieldsOrdered,
} from "drizzle-orm/pg-core";
import {
  getDecoder,
  isColumn,
  isJsonField,
  type SelectedField,
  withSafeDecoder,
} from "./column_decoder.ts";
import { PgDatabase, PgSession, PgTransaction, readRelations } from "./drizzle_classes.ts";
import { createPlaceholderFiller } from "./placeholders.ts";
import { PreparedQuery, type StatementRunner } from "./prepared_query.ts";
import type { Cell, RowMapping } from "./row_mapper.ts";
import { findSession, SESSION } from "./statement_session.ts";

/** Options of {@link createSessionClient}. */
export interface SessionClientOptions {
  /** Tables and relations for `db.query`. */
  readonly schema: Record<string, unknown> | undefined;
  /**
   * Writes the SQL.
   * @default drizzle's dialect of PostgreSQL
   */
  readonly dialect?: Pick<Dialect, "hasOwnText" | "write">;
  /**
   * Limits of transactions on the server.
   * @default those of PostgreSQL
   */
  readonly rules?: TransactionRules;
}

/**
 * Creates drizzle's client on a driver.
 *
 * @param driver The connections.
 * @param slots Counts the transactions on them.
 * @param options Schema, dialect and limits.
 * @returns The client.
 */
export function createSessionClient(
  driver: SqlDriver,
  slots: ConnectionSlots,
  { schema, dialect = new Dialect(), rules = POSTGRES_RULES }: SessionClientOptions,
): DrizzleClient {
  const clients = new DrizzleClients(dialect as Dialect, schema);
  const session = new PoolSession(driver, slots, {
    hasOwnText: dialect.hasOwnText,
    write: (statement) => dialect.write(statement),
    createError: (text, params, cause) => new DrizzleQueryError(text, params, cause),
    rules,
    createTransaction: (session, depth) => clients.createTransaction(session, depth),
    createBuilder: () => clients.createBuilder(),
  });
  return Object.assign(clients.createClient(session), { $client: driver.client });
}

type RowMapper = (rows: unknown[][]) => unknown;
/** How a session of drizzle 1.0 returns rows. */
type ResultMode = "raw" | "arrays" | "objects";
type Client = DatabaseOf<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig>;

/** Session of drizzle on a session of this package, which sends its statements. */
class DrizzleSession
  extends PgSession<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig> {
  /** The session of this package. */
  readonly [SESSION]: PoolSession | TransactionSession;

  constructor(dialect: Dialect, session: PoolSession | TransactionSession | StatementRunner) {
    super(dialect);
    // a client that only builds statements has no session
    this[SESSION] = session as PoolSession | TransactionSession;
  }

  prepareQuery<T extends PreparedQueryConfig = PreparedQueryConfig>(
    query: Query,
    fields: SelectedFieldsOrdered | ResultMode | undefined,
    name: string | boolean | undefined,
    isArrayMode: boolean | RowMapper | undefined,
    mapRows?: RowMapper | Statement["metadata"],
    metadata?: Statement["metadata"],
  ): PgPreparedQuery<T> {
    // drizzle 1.0 passes the mode, the name, the mapper of rows and the metadata
    const mode = typeof fields === "string" ? fields : undefined;
    const mapping = mode === undefined
      ? this.#getMapping(fields as SelectedFieldsOrdered | undefined, mapRows as RowMapper)
      : this.#getModeMapping(isArrayMode as RowMapper | undefined);
    const template = {
      name: typeof name === "string" ? name : undefined,
      metadata: mode === undefined ? metadata : mapRows as Statement["metadata"],
      isCast: (this.dialect as Dialect).getCasts(query),
    };
    const fill = createPlaceholderFiller(query.params);
    const prepared = new PreparedQuery(this[SESSION], query, template, mapping, fill);
    if (mode === "objects") prepared.execute = prepared.all;
    return prepared as unknown as PgPreparedQuery<T>;
  }

  #getMapping(
    fields: SelectedFieldsOrdered | undefined,
    mapRows: RowMapper | undefined,
  ): RowMapping {
    if (mapRows !== undefined) {
      const { lastRelationalFields } = this.dialect as Dialect;
      return { kind: "relational", isJson: lastRelationalFields.map(isJsonField), mapRows };
    }
    return fields === undefined ? { kind: "raw" } : mapToFields(fields);
  }

  /** Returns the mapping of drizzle 1.0, whose function decodes the values too. */
  #getModeMapping(mapRows: RowMapper | undefined): RowMapping {
    if (mapRows === undefined) return { kind: "raw" };
    const isJson = (this.dialect as Dialect).findJsonFields(mapRows);
    return { kind: "relational", isJson, mapRows };
  }

  override async count(query: SQL): Promise<number> {
    const { rows } = await this.execute<QueryResult<{ count: unknown }>>(query);
    return Number(rows[0].count);
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>, config?: PgTransactionConfig): Promise<T> {
    const own = this[SESSION];
    // drizzle begins an inner transaction on the transaction
    return "savepoint" in own
      ? own.savepoint(work as TransactionWork<T>, 1)
      : own.transaction(work as TransactionWork<T>, config);
  }
}

class Transaction
  extends PgTransaction<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig> {
  override transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const session = findSession(this) as TransactionSession;
    return session.savepoint(work as TransactionWork<T>, this.nestedIndex + 1);
  }
}

/** The session of a client that sends no statements. */
const BUILDER: StatementRunner = {
  send: () => Promise.reject(new Error("A statement that is being built cannot be sent")),
  createError: (_text, _params, cause) => cause,
};

/** Creates the clients of drizzle that share a dialect and a schema. */
export class DrizzleClients {
  readonly #dialect: Dialect;
  readonly #schema: RelationalSchemaConfig<TablesRelationalConfig> | undefined;

  /**
   * @param dialect Writes the SQL.
   * @param schema Tables and relations for `db.query`.
   */
  constructor(dialect: Dialect, schema: Record<string, unknown> | undefined) {
    this.#dialect = dialect;
    this.#schema = readRelations(schema);
  }

  /** Creates the client of a session. */
  createClient(session: PoolSession): Client {
    return new PgDatabase(this.#dialect, new DrizzleSession(this.#dialect, session), this.#schema);
  }

  /** Creates a client that builds statements and sends none. */
  createBuilder(): Client {
    return new PgDatabase(
      this.#dialect,
      new DrizzleSession(this.#dialect, BUILDER),
      readRelations(undefined),
    );
  }

  /** Creates the client of a transaction. */
  createTransaction(session: TransactionSession, depth: number): Client {
    const own = new DrizzleSession(this.#dialect, session);
    return new Transaction(this.#dialect, own, this.#schema, depth);
  }
}

/**
 * Creates the mapping of rows to a builder's fields.
 *
 * @param fields The fields that drizzle selected.
 * @returns The mapping.
 */
export function mapToFields(
  fields: SelectedFieldsOrdered,
): Extract<RowMapping, { kind: "fields" }> {
  const cells = fields.map(({ path, field }) =>
    toCell(path, withSafeDecoder(field as SelectedField))
  );
  return { kind: "fields", cells };
}

function toCell(path: readonly string[], field: SelectedField): Cell {
  const decoder = getDecoder(field);
  const { mapFromDriverValue } = decoder;
  const isKept = mapFromDriverValue === PgColumn.prototype.mapFromDriverValue ||
    mapFromDriverValue === noopDecoder.mapFromDriverValue;
  return {
    path,
    decode: isKept ? undefined : (value) => decoder.mapFromDriverValue(value),
    table: isColumn(field) && path.length === 2 ? getTableName(field.table) : undefined,
    isJson: isJsonField(field),
  };
}
