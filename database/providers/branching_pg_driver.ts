import type { Pool, PoolClient } from "@neondatabase/serverless";
import { builtinModule } from "../../env/mod.ts";
import { sqlStateOf } from "../../errors/mod.ts";
import {
  type SqlDriver,
  type Statement,
  type StatementResult,
  type StatementRunner,
  withSavepoints,
} from "../session/driver.ts";
import { toParameterText } from "../session/parameter_text.ts";

/** What Neon's driver, like node-postgres, answers in array mode. */
interface NeonResult {
  fields: { name: string; dataTypeID: number }[];
  rows: (string | null)[][];
  command: string;
  rowCount: number | null;
}

/**
 * Makes a driver of Neon's pool.
 *
 * @param pool The pool.
 * @returns The driver.
 */
export function toSqlDriver(pool: Pool): SqlDriver {
  const names = new StatementNames();

  function on(target: Pool | PoolClient): StatementRunner {
    const query = target.query.bind(target) as unknown as (config: object) => Promise<NeonResult>;
    return {
      async run(statement): Promise<StatementResult> {
        return toResult(await query(toConfig(statement, names)));
      },
    };
  }
  return {
    ...on(pool),
    async transaction(work): Promise<never> {
      const client = await pool.connect();
      return await runTransaction(client, () => work(withSavepoints(on(client)))) as never;
    },
  };
}

async function runTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  // a connection whose transaction may still be open must not serve anybody else
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

/** An error of the server ends the transaction as well; without an answer nobody knows. */
async function commit(client: PoolClient, onOver: () => void): Promise<void> {
  try {
    await client.query("commit");
    onOver();
  } catch (error) {
    if (sqlStateOf(error) !== undefined) onOver();
    throw error;
  }
}

function toConfig({ text, params, name }: Statement, names: StatementNames): object {
  return {
    name: name === undefined ? undefined : names.nameOf(name, text),
    text,
    values: params.map(toParameterText),
    rowMode: "array",
    // one statement, also without parameters: a stray second one is refused instead of run
    queryMode: "extended",
    types: TEXT_TYPES,
  };
}

function toResult({ fields, rows, command, rowCount }: NeonResult): StatementResult {
  return { columns: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })), rows, command, rowCount };
}

const TEXT_TYPES = { getTypeParser: () => (text: string): string => text };

/** A name for each prepared text: two queries may give the same name to `.prepare`, and the server must not. */
class StatementNames {
  readonly #names: Map<string, string> = new Map();

  nameOf(given: string, text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      const hash = builtinModule("node:crypto")?.createHash("sha256").update(text).digest("hex").slice(0, 32);
      name = hash === undefined ? given : `${given.slice(0, 30)}_${hash}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
