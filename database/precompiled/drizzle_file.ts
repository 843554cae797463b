/**
 * The second file of a built function without drizzle. Together with the members that `trellis build`
 * adds, its exports are a {@link DrizzleFile}. It must not import modules with state, such as the
 * running invocation: the file contains copies of its modules.
 */
import { DataApiDialect } from "../providers/data_api_dialect.ts";
import { Dialect } from "../session/dialect.ts";
import { DrizzleClients } from "../session/drizzle_clients.ts";

/** The exports of the second file. */
export interface DrizzleFile {
  /**
   * Creates drizzle's clients on sessions of the main file.
   *
   * @param schema Tables and relations for `db.query`.
   * @param dialect The result of {@link createDataApiDialect}, or nothing for PostgreSQL's.
   */
  createClients(schema: Record<string, unknown> | undefined, dialect?: object): DrizzleClients;
  /** Creates the dialect of the Data API. */
  createDataApiDialect(): object;
  /**
   * The original statements by key: `(db) => db.select().from(notes).prepare("list_notes")`. Those of
   * this package take the tables of the application, too.
   */
  readonly statements: Readonly<Record<string, (db: object, tables?: never) => object>>;
  /** The schemas of database configurations by key. */
  readonly schemas: Readonly<Record<string, Record<string, unknown>>>;
}

/** Implements {@link DrizzleFile.createClients}. */
export function createClients(
  schema: Record<string, unknown> | undefined,
  dialect: object = new Dialect(),
): DrizzleClients {
  return new DrizzleClients(dialect as Dialect, schema);
}

/** Implements {@link DrizzleFile.createDataApiDialect}. */
export function createDataApiDialect(): object {
  return new DataApiDialect();
}
