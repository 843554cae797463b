/** A statement as a driver gets it: drizzle's text, and values that drizzle's columns have encoded. */
export interface Statement {
  /** One statement, with the placeholders that the dialect writes. */
  readonly text: string;
  /** One value for each placeholder. */
  readonly params: readonly unknown[];
  /** The name given to `.prepare(name)`. */
  readonly name: string | undefined;
  /** For each parameter, whether the statement casts it to its column's type. */
  readonly isCast?: readonly boolean[];
  /** What drizzle's builders say of it. */
  readonly metadata?: { readonly type: string; readonly tables: readonly string[] };
}

/** A column of a result. */
export interface ResultColumn {
  /** The name in the result. */
  readonly name: string;
  /** The type's object id in `pg_type`, or 0 when it is not known. */
  readonly type: number;
}

/** What the server answered. Values are texts in PostgreSQL's output format, so that all drivers share one reader. */
export interface StatementResult {
  /** The columns, empty for a statement without rows. */
  readonly columns: readonly ResultColumn[];
  /** The rows. */
  readonly rows: (string | null)[][];
  /** First word of the command tag, such as `UPDATE`. */
  readonly command: string;
  /** Number of rows read or changed; null for commands that count none. */
  readonly rowCount: number | null;
}

/** Runs statements. */
export interface StatementRunner {
  /** Runs one statement. */
  run(statement: Statement): Promise<StatementResult>;
}

/** Runs the statements of one transaction. */
export interface TransactionDriver extends StatementRunner {
  /** Runs work between SAVEPOINT and RELEASE, or ROLLBACK TO when it rejects. */
  savepoint<T>(work: (inner: TransactionDriver) => Promise<T>): Promise<T>;
}

/** A pool of connections to one database. */
export interface SqlDriver extends StatementRunner {
  /** What runs below, for drizzle's `$client`. */
  readonly client: unknown;
  /** Runs work between BEGIN and COMMIT, or ROLLBACK when it rejects. */
  transaction<T>(work: (tx: TransactionDriver) => Promise<T>): Promise<T>;
}

/**
 * Makes the savepoints of a driver that has no function of its own for them.
 *
 * @param runner The transaction's connection.
 * @returns The transaction's driver.
 */
export function withSavepoints(runner: StatementRunner): TransactionDriver {
  const send = (text: string): Promise<StatementResult> =>
    runner.run({ text, params: [], name: undefined });
  let made = 0;
  const driver: TransactionDriver = {
    run: (statement) => runner.run(statement),
    async savepoint<T>(work: (inner: TransactionDriver) => Promise<T>): Promise<T> {
      const name = `sp${++made}`;
      await send(`savepoint ${name}`);
      let result: T;
      try {
        result = await work(driver);
      } catch (error) {
        await send(`rollback to savepoint ${name}`);
        throw error;
      }
      await send(`release savepoint ${name}`);
      return result;
    },
  };
  return driver;
}
