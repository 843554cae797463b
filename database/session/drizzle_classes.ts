/**
 * The classes and functions of drizzle that have another name in 1.0 than in 0.45. Both are read of the
 * modules, because an import by name fails if the module does not have it.
 */
import type { RelationalSchemaConfig, TablesRelationalConfig } from "drizzle-orm";
import * as drizzle from "drizzle-orm";
import type {
  PgDatabase as Database,
  PgSession as Session,
  PgTransaction as Transaction,
} from "drizzle-orm/pg-core";
import * as core from "drizzle-orm/pg-core";
import { isTable } from "./drizzle_table.ts";
import { isDrizzleOne } from "./drizzle_version.ts";

/** What 1.0 has and 0.45 has not. */
interface NewCore {
  readonly PgAsyncDatabase: typeof Database;
  readonly PgAsyncSession: typeof Session;
  readonly PgAsyncTransaction: typeof Transaction;
}

/** What 1.0 has and 0.45 has not. */
interface NewDrizzle {
  defineRelations(tables: Record<string, unknown>): Record<string, unknown>;
}

/** The class of clients. */
export const PgDatabase: typeof Database = isDrizzleOne
  ? (core as unknown as NewCore).PgAsyncDatabase
  : core.PgDatabase;

/** The class of sessions. */
export const PgSession: typeof Session = isDrizzleOne
  ? (core as unknown as NewCore).PgAsyncSession
  : core.PgSession;

/** The class of a transaction's clients. */
export const PgTransaction: typeof Transaction = isDrizzleOne
  ? (core as unknown as NewCore).PgAsyncTransaction
  : core.PgTransaction;

type Relations = RelationalSchemaConfig<TablesRelationalConfig>;

/**
 * Reads the tables and relations of `db.query`.
 *
 * @param schema The tables and relations of the configuration; with drizzle 1.0 the tables, or the result
 * of `defineRelations`.
 * @returns The form that drizzle's classes take.
 */
export function readRelations(schema: Record<string, unknown> | undefined): Relations | undefined {
  if (isDrizzleOne) return readNewRelations(schema ?? {}) as Relations;
  if (schema === undefined) return undefined;
  const { tables, tableNamesMap } = drizzle.extractTablesRelationalConfig(
    schema,
    drizzle.createTableRelationsHelpers,
  );
  return { fullSchema: schema, schema: tables, tableNamesMap };
}

function readNewRelations(schema: Record<string, unknown>): unknown {
  // not destructured, because bundlers then keep the whole module
  const defineRelations = (drizzle as unknown as NewDrizzle).defineRelations;
  const tables = Object.entries(schema).filter(([, value]) => isTable(value));
  const others = Object.entries(schema).filter(([, value]) => isRelations(value));
  return { ...defineRelations(Object.fromEntries(tables)), ...Object.fromEntries(others) };
}

/** Checks for the relations of one table, which `defineRelations` returns by the table's key. */
function isRelations(value: unknown): boolean {
  const { table, relations } = (value ?? {}) as { table?: unknown; relations?: unknown };
  return isTable(table) && typeof relations === "object";
}
