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
  readonly dialect: PgDialect;
}

/**
 * Schema of a client and its transactions, whose relations are read when they are first used. drizzle
 * would read them for each client, and create a builder for each table and each transaction.
 */
export class LazySchema {
  readonly #fullSchema: Record<string, unknown>;
  #relational: Relational | undefined;

  /** @param fullSchema Tables and relations by name. */
  constructor(fullSchema: Record<string, unknown>) {
    this.#fullSchema = fullSchema;
  }

  /**
   * Adds `db.query` and the schema to a client that was created without a schema.
   *
   * @param client The client.
   * @returns The same client.
   */
  addTo<T extends Client>(client: T): T {
    const parts = client as unknown as ClientParts;
    const { dialect, _: { session } } = parts;
    const read = (): Relational => this.#read();
    parts._ = {
      get schema() {
        return read().schema;
      },
      fullSchema: this.#fullSchema,
      get tableNamesMap() {
        return read().tableNamesMap;
      },
      session,
    };
    let query: Client["query"] | undefined;
    function getQuery(): Client["query"] {
      if (query !== undefined) return query;
      const whole: Client = new PgDatabase(dialect, session, read() as never);
      return query = whole.query;
    }
    Object.defineProperty(client, "query", { get: getQuery, enumerable: true, configurable: true });
    return client;
  }

  #read(): Relational {
    return this.#relational ??= readRelations(this.#fullSchema);
  }
}

function readRelations(fullSchema: Record<string, unknown>): Relational {
  const { tables, tableNamesMap } = extractTablesRelationalConfig(
    fullSchema,
    createTableRelationsHelpers,
  );
  return { fullSchema, schema: tables, tableNamesMap };
}
