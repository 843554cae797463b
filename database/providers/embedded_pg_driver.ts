import type { PGlite, QueryOptions, Results, Transaction } from "@electric-sql/pglite";
import {
  setModes,
  type SqlDriver,
  type StatementResult,
  type StatementRunner,
  withSavepoints,
} from "../session/driver.ts";
import { recordStatement } from "../session/query_recorder.ts";
import { toParameterText } from "../session/parameter_text.ts";

/**
 * Creates a driver for PGlite.
 *
 * @param pglite The database; it has one connection.
 * @returns The driver.
 */
export function toSqlDriver(pglite: PGlite): SqlDriver {
  const options: QueryOptions = {
    rowMode: "array",
    parsers: keepTexts(pglite.parsers),
    serializers: keepTexts(pglite.serializers),
  };
  function on(target: PGlite | Transaction): StatementRunner {
    return {
      async run({ text, params }): Promise<StatementResult> {
        const values = params.map(toParameterText);
        const results = await target.query<(string | null)[]>(text, values, options);
        recordStatement(text);
        return toResult(results);
      },
    };
  }
  return {
    client: pglite,
    ...on(pglite),
    transaction: (work, modes) =>
      pglite.transaction(async (tx) => {
        const runner = on(tx);
        await setModes(runner, modes);
        return await work(withSavepoints(runner));
      }),
  };
}

function toResult({ fields, rows, ...result }: Results<(string | null)[]>): StatementResult {
  const { command = "", rowCount = null } = result as { command?: string; rowCount?: number };
  return {
    columns: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
    rows,
    command,
    rowCount,
  };
}

function asText(text: string): string {
  return text;
}

/** Returns functions that keep the text of each type which PGlite would convert. */
function keepTexts(converters: object): Record<string, (text: string) => string> {
  return Object.fromEntries(Object.keys(converters).map((type) => [type, asText]));
}
