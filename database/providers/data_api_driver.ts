import {
  setModes,
  type SqlDriver,
  type Statement,
  type StatementResult,
  type StatementRunner,
  withSavepoints,
} from "../session/driver.ts";
import { findTypeId } from "../session/type_ids.ts";
import { type DataApiClient, type DataApiResult, toParameter, toText } from "./data_api_values.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { parseStatement } from "../../sql/statement_reader.ts";

/**
 * Creates a driver for the Data API.
 *
 * @param api The requests.
 * @returns The driver.
 */
export function toSqlDriver(api: DataApiClient): SqlDriver {
  return {
    client: api,
    ...getRunner(api, undefined),
    transaction: (work, modes) =>
      runTransaction(api, async (id) => {
        const runner = getRunner(api, id);
        await setModes(runner, modes);
        return await work(withSavepoints(runner));
      }),
  };
}

/** Runs work in a transaction, whose id it gets. */
export async function runTransaction<T>(
  api: DataApiClient,
  work: (transactionId: string) => Promise<T>,
): Promise<T> {
  const transactionId = await api.begin();
  let result: T;
  try {
    result = await work(transactionId);
  } catch (error) {
    // keep the first error; a transaction that is not ended here times out at the provider
    await api.rollback(transactionId).catch(() => {});
    throw error;
  }
  await api.commit(transactionId);
  return result;
}

/**
 * Runs statements through the Data API.
 *
 * @param api The requests.
 * @param transactionId The transaction of the statements.
 * @returns The runner.
 */
export function getRunner(api: DataApiClient, transactionId: string | undefined): StatementRunner {
  return {
    async run(statement): Promise<StatementResult> {
      const { text, params, isCast } = statement;
      const parameters = params.map((param, at) =>
        toParameter(String(at + 1), param, isCast?.[at] === true)
      );
      return toResult(await api.execute({ sql: text, parameters, transactionId }), statement);
    },
  };
}

function toResult(
  { records, columnMetadata = [], numberOfRecordsUpdated }: DataApiResult,
  { text }: Statement,
): StatementResult {
  const columns = columnMetadata.map(({ label, name, typeName }, at) => ({
    name: label ?? name ?? String(at),
    type: findTypeId(typeName),
  }));
  const rows = (records ?? []).map((fields) =>
    fields.map((field, at) => toText(field, columnMetadata[at]?.typeName))
  );
  const command = readCommand(text);
  const changed = numberOfRecordsUpdated ?? 0;
  // statements that return rows leave the other count at 0
  const counted = rows.length > 0 ? rows.length : changed;
  return { columns, rows, command, rowCount: countsRows(command) || changed > 0 ? counted : null };
}

const MAIN_VERBS = keywordSet("SELECT INSERT UPDATE DELETE MERGE VALUES TABLE");

/** Commands whose tag has another first word. */
const TAGS: Readonly<Record<string, string>> = { VALUES: "SELECT", TABLE: "SELECT" };

/** Commands whose tag counts rows. */
const COUNTING = keywordSet("SELECT INSERT UPDATE DELETE MERGE FETCH MOVE COPY");

/**
 * Returns the first word of the server's command tag for a statement. The Data API does not report
 * tags.
 *
 * @param text One statement.
 * @returns The word in upper case; empty if there is none.
 */
export function readCommand(text: string): string {
  const reader = parseStatement(text);
  let at = 0;
  while (reader.is(at, "(")) at++;
  if (reader.is(at, "WITH")) at = reader.find(MAIN_VERBS, at + 1);
  const word = at < 0 ? "SELECT" : reader.key(at);
  return TAGS[word] ?? word;
}

/**
 * Checks whether a command's tag contains a number of rows.
 *
 * @param command A result of {@link readCommand}.
 */
export function countsRows(command: string): boolean {
  return COUNTING.has(command);
}
