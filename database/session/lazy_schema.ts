import {
  createTableRelationsHelpers,
  extractTablesRelationalConfig,
  type TablesRelationalConfig,
} from "drizzle-orm";
import { PgDatabase, type PgDialect, type PgSession } from "drizzle-orm/pg-core";
import type { QueryResultHKT } from "./query_result.ts";

/** Tables and relations for `db.query`. */
interface Relational {
  fullSchema: Record<string, unknown>;
  schema: TablesRelationalConfig;
  tableNamesMap: Record<string, string>;
}

type Client = PgDatabase<QueryResultHKT, Record<string, unknown>, TablesRelationalConfig>;

/** The parts of drizzle's client that its types hide. */
interface ClientParts {
  _: Relational & { readonly session: PgSession };
  query: Client["query"];
  readonly dialect: PgDialect;
}

/**
 * Schema of a client and its transactions, whose relations are read when they are first used. drizzle
 * would read them for each client, and create a builder for each table and each transaction.
 */
export class LazySchema {
  readonly fullSchema: Record<string, unknown>;
  #relational: Relational | undefined;

  /** @param fullSchema Tables and relations by name. */
  constructor(fullSchema: Record<string, unknown>) {
    this.fullSchema = fullSchema;
  }

  /**
   * Adds `db.query` and the schema to a client that was created without a schema. `db.query` is a
   * `Proxy`, because its properties are drizzle's, which makes them of relations that are not read yet.
   * The client gets no accessors of its own, which would put it into V8's slow dictionary mode.
   *
   * @param client The client.
   * @returns The same client.
   */
  addTo<T extends Client>(client: T): T {
    const parts = client as unknown as ClientParts;
    const { dialect, _: { session } } = parts;
    parts._ = new LazyParts(this, session);
    let query: Client["query"] | undefined;
    const getQuery = (): Client["query"] =>
      query ??= (new PgDatabase(dialect, session, this.relational) as Client).query;
    parts.query = new Proxy({}, {
      get: (_, key) => Reflect.get(getQuery(), key),
      has: (_, key) => Reflect.has(getQuery(), key),
      ownKeys: () => Reflect.ownKeys(getQuery()),
      getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(getQuery(), key),
    });
    return client;
  }

  /** The tables and relations. */
  get relational(): Relational {
    return this.#relational ??= readRelations(this.fullSchema);
  }
}

/** The property `_` of a client. */
class LazyParts implements Relational {
  readonly fullSchema: Record<string, unknown>;
  readonly session: PgSession;
  readonly #schema: LazySchema;

  constructor(schema: LazySchema, session: PgSession) {
    this.fullSchema = schema.fullSchema;
    this.session = session;
    this.#schema = schema;
  }

  get schema(): TablesRelationalConfig {
    return this.#schema.relational.schema;
  }

  get tableNamesMap(): Record<string, string> {
    return this.#schema.relational.tableNamesMap;
  }
}

function readRelations(fullSchema: Record<string, unknown>): Relational {
  const { tables, tableNamesMap } = extractTablesRelationalConfig(
    fullSchema,
    createTableRelationsHelpers,
  );
  return { fullSchema, schema: tables, tableNamesMap };
}
