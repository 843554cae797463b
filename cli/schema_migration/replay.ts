import type { PGlite } from "@electric-sql/pglite";
import { adaptForStandardPg } from "../../distsql/translate/adapt.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import type { MigrationFile } from "../../database/migrations/files.ts";
import { runMigrationFolder } from "../../database/migrations/run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { splitStatements, type SqlStatement } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { createLocator, findFirstWord } from "../../sql/text_position.ts";
import { openTestDatabase } from "../../testing/embedded_database.ts";

/**
 * Runs work on an embedded PostgreSQL in memory after migrations.
 *
 * @param files The migrations in order.
 * @throws {MigrationError} If the migrations fail.
 * @throws {ConfigurationError} If PGlite is not installed.
 */
export async function withMigrated<T>(
  files: readonly MigrationFile[],
  work: (database: PGlite, config: DatabaseConfig) => Promise<T>,
): Promise<T> {
  const test = await openTestDatabase({});
  try {
    if (files.length > 0) {
      const folder = { files: [...files], hasJournal: true, unlisted: [] };
      await runMigrationFolder({ database: test.config }, () => folder);
    }
    return await work((test.db as typeof test.db & { $client: PGlite }).$client, test.config);
  } finally {
    await test.close();
  }
}

/** A statement of a file that is replayed. */
export interface ReplayedStatement {
  readonly file: MigrationFile;
  readonly source: SqlStatement;
  readonly reader: StatementReader;
  /** Line in the file, from 1. */
  readonly line: number;
  /** The statement as PostgreSQL understands it. */
  readonly sql: string;
}

/**
 * Lists the statements of a migration as PostgreSQL runs them, without those that begin and end
 * transactions.
 */
export function listStatements(file: MigrationFile): ReplayedStatement[] {
  const locate = createLocator(file.sql);
  return splitStatements(file.sql).flatMap((source): ReplayedStatement[] => {
    const reader = new StatementReader(source.tokens);
    const sql = adaptForStandardPg(source.text);
    if (sql === "" || /^(?:BEGIN|START|COMMIT|END)$/.test(reader.key(0))) return [];
    return [{ file, source, reader, line: locate(findFirstWord(source)).line, sql }];
  });
}

/**
 * Runs a statement of a migration on the embedded database.
 *
 * @param so What cannot be done if it fails: `the release cannot be checked`.
 * @throws {ConfigurationError} If PostgreSQL refuses it.
 */
export async function runStatement(
  database: PGlite,
  { sql, path, line }: { readonly sql: string; readonly path: string; readonly line: number },
  so: string,
): Promise<void> {
  try {
    await database.exec(sql);
  } catch (cause) {
    throw new ConfigurationError(
      `${path}:${line} does not run on the embedded database (${
        (cause as Error).message
      }), so ${so}`,
      { cause },
    );
  }
}
