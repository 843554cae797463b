import { countsRows, readCommand } from "../session/command_tag.ts";
import {
  type SqlDriver,
  type Statement,
  type StatementResult,
  type StatementRunner,
  withSavepoints,
} from "../session/driver.ts";
import { findTypeId } from "../session/type_ids.ts";
import { type DataApiClient, type DataApiResult, toParameter, toText } from "./data_api_values.ts";

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
    async transaction<T>(work: (tx: ReturnType<typeof withSavepoints>) => Promise<T>): Promise<T> {
      const transactionId = await api.begin();
      let result: T;
      try {
        result = await work(withSavepoints(getRunner(api, transactionId)));
      } catch (error) {
        // keep the first error; a transaction that is not ended here times out at the provider
        await api.rollback(transactionId).catch(() => {});
        throw error;
      }
      await api.commit(transactionId);
      return result;
    },
  };
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
