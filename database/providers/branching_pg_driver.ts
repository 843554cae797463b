import { builtinModule } from "../../env/builtin_module.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import {
  type SqlDriver,
  type Statement,
  type StatementResult,
  type StatementRunner,
  type TransactionDriver,
  withSavepoints,
} from "../session/driver.ts";
import { toParameterText } from "../session/parameter_text.ts";
import type { NeonConnection, NeonPool, NeonResult, NeonStatement } from "./neon_pool.ts";

/**
 * Creates a driver for Neon's pool.
 *
 * @param pool The connections.
 * @returns The driver.
 */
export function toSqlDriver(pool: NeonPool): SqlDriver {
  const names = new StatementNames();

  function on(connection: NeonConnection): StatementRunner {
    return {
      run: async (statement) => toResult(await connection.run(toNeonStatement(statement, names))),
    };
  }
  return {
    client: pool.pool,
    async run(statement): Promise<StatementResult> {
      const { connection, release } = await pool.take();
      let isUsable = false;
      try {
        const result = await on(connection).run(statement);
        isUsable = true;
        return result;
      } catch (error) {
        isUsable = getSqlState(error) !== undefined;
        throw error;
      } finally {
        release(isUsable);
      }
    },
    async transaction<T>(
      work: (tx: TransactionDriver) => Promise<T>,
      modes?: string,
    ): Promise<T> {
      const { connection, release } = await pool.take();
      // a connection whose transaction may still be open must not be reused
      let isOver = false;
      try {
        return await runTransaction(
          connection,
          () => work(withSavepoints(on(connection))),
          () => isOver = true,
          modes,
        );
      } finally {
        release(isOver);
      }
    },
  };
}

/**
 * Runs work between BEGIN and COMMIT. An error of the server at COMMIT also ends the transaction;
 * without an answer its state is unknown.
 *
 * @param connection The connection.
 * @param work The work.
 * @param onOver Called when no transaction is open any more.
 * @param modes The modes of BEGIN: `isolation level repeatable read`.
 * @returns The result of the work.
 */
export async function runTransaction<T>(
  connection: NeonConnection,
  work: () => Promise<T>,
  onOver: () => void = () => {},
  modes = "",
): Promise<T> {
  const execute = (text: string) => connection.run({ text, values: [] });
  await execute(`begin ${modes}`.trim());
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await execute("rollback").then(onOver, () => {});
    throw error;
  }
  try {
    await execute("commit");
    onOver();
  } catch (error) {
    if (getSqlState(error) !== undefined) onOver();
    throw error;
  }
  return result;
}

function toNeonStatement({ text, params, name }: Statement, names: StatementNames): NeonStatement {
  return {
    name: name === undefined ? undefined : names.getName(name, text),
    text,
    values: params.map(toParameterText),
    rowMode: "array",
    types: TEXT_TYPES,
  };
}

function toResult(
  { fields, rows, command, rowCount }: NeonResult<(string | null)[]>,
): StatementResult {
  return {
    columns: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })),
    rows,
    command,
    rowCount,
  };
}

const TEXT_TYPES = { getTypeParser: () => (text: string): string => text };

/**
 * Generates a server-side name per statement text, because two queries may pass the same name to
 * `.prepare`.
 */
class StatementNames {
  readonly #names: Map<string, string> = new Map();

  getName(given: string, text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      const hash = builtinModule("node:crypto")!.createHash("sha256").update(text).digest("hex");
      name = `${given.slice(0, 30)}_${hash.slice(0, 32)}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
