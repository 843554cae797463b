import { StatementReader } from "../../sql/statement_reader.ts";
import { tokenize } from "../../sql/tokenize.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { Row } from "../../sql/session.ts";
import { MigrationError } from "./migration_error.ts";
import { isSessionSetting } from "../../sql/setting_statements.ts";
import type { MigrationStep, PlannedMigration } from "./steps.ts";

/** Returns the settings that a step makes for the rest of the session. */
export function getSettings({ sql, block }: Pick<MigrationStep, "sql" | "block">): string[] {
  return (block?.map((step) => step.sql) ?? [sql]).filter((text) => {
    const mayBeSetting = text.length < 1000 && /\bset|\breset/i.test(text);
    return mayBeSetting && isSessionSetting(new StatementReader(tokenize(text)));
  });
}

/**
 * Wraps a session so that it repeats settings before each statement. A statement may run in another
 * server session than the settings did: in a later run, or where the provider replaces sessions.
 *
 * @param session The session.
 * @param settings The settings so far; the list may grow.
 */
export function withSettings(
  session: DedicatedSession,
  settings: readonly string[],
): DedicatedSession {
  async function repeat(): Promise<void> {
    for (const sql of settings) await session.query(sql);
  }
  return {
    ...session,
    async query(text, params): Promise<Row[]> {
      await repeat();
      return await session.query(text, params);
    },
    async script(statements): Promise<void> {
      await repeat();
      await session.script(statements);
    },
    async transaction(fn) {
      await repeat();
      return await session.transaction(fn);
    },
  };
}

/**
 * Rejects table recreation under a search path set by the file: the other connections that take
 * part do not have it.
 *
 * @param settings The settings so far.
 * @throws {MigrationError} If there is a search path: names the fix.
 */
export function assertNoSearchPath(settings: readonly string[]): void {
  if (!settings.some((sql) => /search_path|schema/i.test(sql) && !/^\s*reset/i.test(sql))) return;
  throw new MigrationError(
    "The table must be recreated, and the recreation does not use the search path set by the " +
      "file: write the schema before each name, and remove SET search_path",
  );
}

/**
 * Rejects settings of the session behind a pooler in transaction mode: they would reach other
 * clients, and not the next statement of the migration.
 *
 * @param planned The pending migrations.
 * @throws {MigrationError} If there is one: names file, statement and fix. Nothing was applied.
 */
export function assertNoSharedSettings(planned: readonly PlannedMigration[]): void {
  for (const { file, steps } of planned) {
    const index = steps.findIndex((step) => getSettings(step).length > 0);
    if (index < 0) continue;
    throw new MigrationError(
      `${file.path} changes a setting of the session at statement ${index + 1}, but the ` +
        "connection goes through a pooler, which gives the session to other clients: write SET " +
        "LOCAL, or migrate over a direct connection. If the pooler is in session mode, set " +
        'DatabaseConfig.pooler to "session"',
      { tag: file.tag, statement: index + 1 },
    );
  }
}
