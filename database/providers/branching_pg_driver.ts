import type { Client, Pool, PoolClient } from "@neondatabase/serverless";
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
import { toError } from "./neon_pool.ts";

/** Result of a statement of Neon's driver, as in node-postgres. */
export interface NeonResult<R> {
  /** The columns. */
  fields: { name: string; dataTypeID: number }[];
  /** Rows, as objects or as arrays. */
  rows: R[];
  /** First word of the command tag. */
  command: string;
  /** Rows in the command tag. */
  rowCount: number | null;
}

/** Statement in the form of Neon's driver. */
export interface NeonStatement {
  /** The SQL. */
  text: string;
  /** The parameters. */
  values: unknown[];
  /** The name of a prepared statement. */
  name?: string;
  /** Return rows as arrays. */
  rowMode?: "array";
  /** Parsers of values. */
  types?: object;
}

/** Runs one statement on a connection. */
export type NeonRunner = <R>(
  client: Client | PoolClient,
  statement: NeonStatement,
) => Promise<NeonResult<R>>;

type Callback = (error: unknown, result: never) => void;

/** Constructor of Neon's query objects, which its types omit. */
type QueryClass = new (statement: NeonStatement, callback: Callback) => object;

/**
 * Runs statements with the extended protocol, also without parameters, so that a second statement
 * in the text is rejected.
 *
 * @param ClientClass The client of `@neondatabase/serverless`.
 * @returns The runner. It rejects with an Error, never with a WebSocket event.
 */
export function createRunner(ClientClass: typeof Client): NeonRunner {
  const { Query } = ClientClass as typeof Client & { Query: QueryClass };
  class ExtendedQuery extends Query {
    requiresPreparation(): boolean {
      return true;
    }
  }
  return function runExtended(client, statement) {
    return new Promise((resolve, reject) => {
      const complete: Callback = (error, result) =>
        error ? reject(toError(error)) : resolve(result);
      client.query(new ExtendedQuery(statement, complete) as never);
    });
  };
}

/**
 * Creates a driver for Neon's pool.
 *
 * @param pool The pool.
 * @param run Runs statements.
 * @returns The driver.
 */
export function toSqlDriver(pool: Pool, run: NeonRunner): SqlDriver {
  const names = new StatementNames();

  function on(client: PoolClient): StatementRunner {
    return {
      run: async (statement) => toResult(await run(client, toNeonStatement(statement, names))),
    };
  }
  return {
    client: pool,
    async run(statement): Promise<StatementResult> {
      const client = await pool.connect();
      let isUsable = false;
      try {
        const result = await on(client).run(statement);
        isUsable = true;
        return result;
      } catch (error) {
        isUsable = getSqlState(error) !== undefined;
        throw error;
      } finally {
        client.release(!isUsable);
      }
    },
    async transaction<T>(work: (tx: TransactionDriver) => Promise<T>): Promise<T> {
      const client = await pool.connect();
      return await runTransaction(client, () => work(withSavepoints(on(client))));
    },
  };
}

async function runTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  // a connection whose transaction may still be open must not be reused
  let isOver = false;
  try {
    await client.query("begin");
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await client.query("rollback").then(() => isOver = true, () => {});
      throw error;
    }
    await commit(client, () => isOver = true);
    return result;
  } finally {
    client.release(!isOver);
  }
}

/**
 * Sends COMMIT. An error of the server also ends the transaction; without an answer its state is
 * unknown.
 */
async function commit(client: PoolClient, onOver: () => void): Promise<void> {
  try {
    await client.query("commit");
    onOver();
  } catch (error) {
    if (getSqlState(error) !== undefined) onOver();
    throw error;
  }
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
      const hash = builtinModule("node:crypto")?.createHash("sha256").update(text).digest("hex")
        .slice(0, 32);
      name = hash === undefined ? given : `${given.slice(0, 30)}_${hash}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
