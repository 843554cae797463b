import { nameOf } from "../distsql/sql_name.ts";
import { StatementReader } from "../distsql/statement_reader.ts";
import { tokenize } from "../distsql/tokenize.ts";
import type { MigrationContext } from "./context.ts";
import { retryIdempotent } from "./retry_idempotent.ts";
import type { MigrationStep } from "./steps.ts";

const OF_TRANSACTION: ReadonlySet<string> = new Set(["LOCAL", "TRANSACTION", "CONSTRAINTS"]);

/** Whether a statement changes settings for the rest of the session: SET, RESET, or a call of set_config. */
export function isSessionSetting(reader: StatementReader): boolean {
  if (reader.is(0, "RESET")) return true;
  if (reader.is(0, "SET")) return !isTransactionSetting(reader);
  return callsSetConfig(reader, "false");
}

/** Whether a statement changes settings for the rest of the transaction. */
export function isTransactionSetting(reader: StatementReader): boolean {
  return reader.is(0, "SET") ? reader.isOneOf(1, OF_TRANSACTION) : callsSetConfig(reader, "true");
}

function callsSetConfig(reader: StatementReader, isLocal: "true" | "false"): boolean {
  if (!reader.is(0, "SELECT")) return false;
  const end = reader.nameEnd(1);
  const name = reader.token(end - 1);
  if (end === 1 || name === undefined || nameOf(name) !== "set_config" || reader.key(end) !== "(") return false;
  return reader.key(reader.closing(end) - 1).toLowerCase() === isLocal;
}

/**
 * Repeats the settings that a file made before a statement. The statement may run in another session than they did: after
 * a run that died, and where the provider replaces a session that ends.
 *
 * @param steps The steps before the statement.
 * @param context What the run shares.
 */
export async function repeatSettings(steps: readonly MigrationStep[], context: MigrationContext): Promise<void> {
  const statements = steps.flatMap(({ sql, block }) => block ?? [sql]).filter(mayBeSetting);
  for (const sql of statements) {
    if (!isSessionSetting(new StatementReader(tokenize(sql)))) continue;
    await retryIdempotent(() => context.session.query(sql), context.clock);
  }
}

function mayBeSetting(sql: string): boolean {
  return sql.length < 1000 && /\bset|\breset/i.test(sql);
}
