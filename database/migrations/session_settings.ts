import { StatementReader } from "../distsql/statement_reader.ts";
import { tokenize } from "../distsql/tokenize.ts";
import type { DedicatedSession, Row } from "../providers/provider.ts";
import { MigrationError } from "./migration_error.ts";
import { isSessionSetting } from "./setting_statements.ts";
import type { MigrationStep } from "./steps.ts";

/** The settings that a step makes for the rest of the session. */
export function getSettings({ sql, block }: Pick<MigrationStep, "sql" | "block">): string[] {
  return (block ?? [sql]).filter((text) => {
    const mayBeSetting = text.length < 1000 && /\bset|\breset/i.test(text);
    return mayBeSetting && isSessionSetting(new StatementReader(tokenize(text)));
  });
}

/**
 * Makes a session that repeats settings before each statement. A statement may meet another session on the server than the
 * settings did: after a run that died, and where the provider replaces a session that ends.
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
 * Refuses to make a table again under a search path of the file: several connections take part, which do not have it.
 *
 * @param settings The settings so far.
 * @throws {MigrationError} Names the fix.
 */
export function assertNoSearchPath(settings: readonly string[]): void {
  if (!settings.some((sql) => /search_path|schema/i.test(sql) && !/^\s*reset/i.test(sql))) return;
  throw new MigrationError(
    "The table has to be made again, which a search path set by the file does not reach: " +
      "write the schema before each name, and take SET search_path out",
  );
}
