/** Statement for a driver: drizzle's text, and values encoded by drizzle's columns. */
export interface Statement {
  /** One statement, with the placeholders of the dialect. */
  readonly text: string;
  /** One value per placeholder. */
  readonly params: readonly unknown[];
  /** Name passed to `.prepare(name)`. */
  readonly name: string | undefined;
  /** For each parameter, true if the statement casts it to its column's type. */
  readonly isCast?: readonly boolean[];
  /** Metadata from drizzle's builders; drizzle 1.0 has a function that returns the tables. */
  readonly metadata?: {
    readonly type: string;
    readonly tables: readonly string[] | (() => readonly string[]);
  };
}

/** A statement of this package in the form of the server. */
export interface WrittenStatement {
  readonly text: string;
  readonly params: unknown[];
  /** For each parameter, true if the statement casts it to its column's type. */
  readonly isCast?: readonly boolean[] | undefined;
}

/** Column of a result. */
export interface ResultColumn {
  /** Name in the result. */
  readonly name: string;
  /** Object id of the type in `pg_type`, or 0 if unknown. */
  readonly type: number;
}

/**
 * Answer of the server. Values are texts in PostgreSQL's output format, so that all drivers share
 * one parser.
 */
export interface StatementResult {
  /** Columns; empty for a statement without rows. */
  readonly columns: readonly ResultColumn[];
  /** The rows. */
  readonly rows: (string | null)[][];
  /** First word of the command tag, such as `UPDATE`. */
  readonly command: string;
  /** Number of rows read or changed; null for commands without a count. */
  readonly rowCount: number | null;
}

/** Runner of statements. */
export interface StatementRunner {
  /** Runs one statement. */
  run(statement: Statement): Promise<StatementResult>;
}

/** Runner of the statements of one transaction. */
export interface TransactionDriver extends StatementRunner {
  /**
   * True if a statement that was not awaited reaches the server before the next one, and before
   * COMMIT, without a separate round trip.
   */
  readonly pipelines?: boolean;
  /** Runs work between SAVEPOINT and RELEASE; ROLLBACK TO if it rejects. */
  savepoint<T>(work: (inner: TransactionDriver) => Promise<T>): Promise<T>;
}

/** Connection pool of one database. */
export interface SqlDriver extends StatementRunner {
  /** Underlying client, for drizzle's `$client`. */
  readonly client: unknown;
  /**
   * Runs work between BEGIN and COMMIT; ROLLBACK if it rejects.
   *
   * @param modes The modes of BEGIN: `isolation level repeatable read`.
   */
  transaction<T>(work: (tx: TransactionDriver) => Promise<T>, modes?: string): Promise<T>;
}

/**
 * Adds savepoints to a driver without its own function for them.
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

/**
 * Sets the modes of a transaction whose BEGIN could not carry them.
 *
 * @param runner The transaction's connection.
 * @param modes `isolation level repeatable read`; `undefined` for those of the server.
 */
export async function setModes(runner: StatementRunner, modes: string | undefined): Promise<void> {
  if (modes === undefined) return;
  await runner.run({ text: `set transaction ${modes}`, params: [], name: undefined });
}
