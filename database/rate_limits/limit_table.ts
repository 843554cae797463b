import type { Column } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getColumns, getTableNames } from "../session/drizzle_table.ts";
import { columnNameSql } from "../session/column_sql.ts";
import { type PlainSql, rawSql } from "../session/plain_sql.ts";
import { qualify, quoteName } from "../../sql/quote.ts";

/** The names of a table of rate limits, as SQL. */
export interface LimitTable {
  /** The table's name for messages. */
  readonly label: string;
  /** The table, with its schema. */
  readonly table: PlainSql;
  /** The primary key; `undefined` if the database fills it. */
  readonly id?: { readonly name: PlainSql; readonly type: PlainSql };
  /** The columns. */
  readonly key: PlainSql;
  readonly count: PlainSql;
  readonly lastRequest: PlainSql;
}

const DEFAULT_NAME = "rate_limits";

/**
 * Reads the names of a table.
 *
 * @param db The client, which may derive the names of columns.
 * @param table The table; by default that of `RATE_LIMIT_MIGRATION_SQL`, which is not read here, so
 * that a bundle needs no drizzle for it.
 * @throws {ConfigurationError} If the table lacks a column.
 */
export function readLimitTable(db: object, table?: PgTable): LimitTable {
  if (table === undefined) {
    const [key, count, lastRequest] = ["key", "count", "last_request"].map(toName);
    return { label: DEFAULT_NAME, table: toName(DEFAULT_NAME), key, count, lastRequest };
  }
  const columns: Readonly<Record<string, Column | undefined>> = getColumns(table);
  const { id, key, count, lastRequest } = columns;
  if (key === undefined || count === undefined || lastRequest === undefined) {
    throw new ConfigurationError(
      "The table of rate limits lacks key, count or lastRequest: spread RATE_LIMIT_COLUMNS of " +
        "@trellis/fn/database into it",
    );
  }
  const { name, schema } = getTableNames(table);
  const getName = (column: Column) => columnNameSql(db, column);
  return {
    label: name,
    table: rawSql(qualify(schema, name)),
    // an id with a default of the database is left to it
    id: id === undefined || (id.hasDefault && !id.defaultFn)
      ? undefined
      : { name: getName(id), type: rawSql(id.getSQLType()) },
    key: getName(key),
    count: getName(count),
    lastRequest: getName(lastRequest),
  };
}

function toName(name: string): PlainSql {
  return rawSql(quoteName(name));
}
