import { getName } from "./sql_name.ts";
import type { StatementReader } from "./statement_reader.ts";

const OF_TRANSACTION: ReadonlySet<string> = new Set(["LOCAL", "TRANSACTION", "CONSTRAINTS"]);

/**
 * Checks whether a statement changes settings for the rest of the session: SET, RESET, or a call of
 * set_config.
 */
export function isSessionSetting(reader: StatementReader): boolean {
  if (reader.is(0, "RESET")) return true;
  if (reader.is(0, "SET")) return !isTransactionSetting(reader);
  return callsSetConfig(reader, "false");
}

/** Checks whether a statement changes settings for the rest of the transaction. */
export function isTransactionSetting(reader: StatementReader): boolean {
  return reader.is(0, "SET") ? reader.isOneOf(1, OF_TRANSACTION) : callsSetConfig(reader, "true");
}

function callsSetConfig(reader: StatementReader, isLocal: "true" | "false"): boolean {
  if (!reader.is(0, "SELECT")) return false;
  const end = reader.nameEnd(1);
  const name = reader.token(end - 1);
  if (
    end === 1 || name === undefined || getName(name) !== "set_config" || reader.key(end) !== "("
  ) return false;
  return reader.key(reader.closing(end) - 1).toLowerCase() === isLocal;
}
