import { retry, type RetryOptions } from "../../../core/retry.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/providers/client.ts";
import { executeRows } from "../../../database/session/execute.ts";
import type { DrizzleClient } from "../../../database/session/drizzle_client.ts";
import type { Row } from "../../../sql/session.ts";
import { withDistSqlRetry } from "../../../database/session/retry.ts";
import { isConnectionLost } from "../../../sql/retry_idempotent.ts";
import { isSilent } from "../../../sql/sqlstate.ts";
import { withTransaction } from "../../../database/session/transaction.ts";
import { sql } from "../../../database/orm.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import type { DatabaseTarget } from "../to_database_target.ts";
import { toDatabaseError } from "../reaching.ts";

/** Executes a statement and returns its rows. */
export type Run = (text: string) => Promise<Row[]>;

/** The source or the target of a clone. */
export interface CloneConnection {
  /** The drizzle client. */
  readonly db: DrizzleClient;
  /** A printable name. */
  readonly label: string;
  /** True for Aurora DSQL. */
  readonly isDistSql: boolean;
  /** True for the RDS Data API. */
  readonly isDataApi: boolean;
  /** True for an embedded database. */
  readonly isEmbedded: boolean;
  /** Executes an idempotent statement. Retries after conflicts and lost connections. */
  readonly run: Run;
  /**
   * Executes statements in a transaction. Retries after conflicts, but not after lost connections.
   */
  transaction(work: (run: Run) => Promise<void>): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Retries of a statement whose connection was lost: a server restarts within their delays. */
const LOST_CONNECTIONS: RetryOptions = {
  maxAttempts: 8,
  baseDelayMs: 400,
  maxDelayMs: 15_000,
  isRetryable: (error) => isConnectionLost(error) && !isSilent(error),
};

/**
 * Connects to a database with settings that give values the same text form on both sides.
 *
 * @returns An open connection.
 * @throws {DatabaseError} If the database cannot be reached.
 * @throws {ConfigurationError} If its settings would change values.
 */
export async function connect(target: DatabaseTarget): Promise<CloneConnection> {
  const { config, label } = target;
  const plain = await open(target);
  const wrong = await findUnsafeSettings(plain.run);
  if (wrong.length === 0) return plain;
  await plain.close();
  const takesSettings = config.provider === "serverless-pg" || config.provider === "postgres";
  const url = takesSettings ? config.connectionString ?? "" : "";
  if (takesSettings && /^postgres(?:ql)?:/i.test(url)) {
    const withSettings = `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(
      TEXT_SETTINGS,
    )}`;
    const again = await open({ label, config: { ...config, connectionString: withSettings } });
    const left = await findUnsafeSettings(again.run);
    if (left.length === 0) return again;
    await again.close();
  }
  throw new ConfigurationError(
    `${label}: ${wrong.join(" and ")} would change copied values: set ` +
      `${
        Object.entries(TEXT_SETTINGS).map(([name, value]) => `${name} to ${value}`).join(" and ")
      } for the role of the clone`,
  );
}

/** Settings that affect the text of dates and intervals. */
const TEXT_SETTINGS: Readonly<Record<string, string>> = {
  DateStyle: "ISO",
  IntervalStyle: "postgres",
};

async function findUnsafeSettings(run: Run): Promise<string[]> {
  const [row] = await run(
    "SELECT current_setting('DateStyle') AS date, current_setting('IntervalStyle') AS interval, " +
      "current_setting('extra_float_digits') AS digits",
  );
  const wrong: string[] = [];
  if (!String(row.date).startsWith("ISO")) wrong.push(`DateStyle ${row.date}`);
  if (row.interval !== "postgres") wrong.push(`IntervalStyle ${row.interval}`);
  if (Number(row.digits) < 1) wrong.push(`extra_float_digits ${row.digits}`);
  return wrong;
}

/** Timeout of a statement in seconds; the creation of a large index is one statement. */
const STATEMENT_SECONDS = 3600;

async function open({ config: given, label }: DatabaseTarget): Promise<CloneConnection> {
  const config = { ...given, statementTimeoutSeconds: STATEMENT_SECONDS };
  let db: DrizzleClient;
  try {
    db = await getDrizzleClient(config);
  } catch (error) {
    throw toDatabaseError(error, label);
  }
  const retryConflicts = <T>(work: () => Promise<T>): Promise<T> =>
    withDistSqlRetry(work, { maxRetries: 12 });
  const runOn = (client: DrizzleClient): Run => async (text) =>
    await executeRows(client, sql.raw(text));
  return {
    db,
    label,
    isDistSql: config.provider === "distsql",
    isDataApi: config.provider === "serverless-pg" &&
      config.connectionString?.startsWith("rds-data://") === true,
    isEmbedded: config.provider === "embedded-pg",
    run: (text) => retry(() => retryConflicts(() => runOn(db)(text)), LOST_CONNECTIONS),
    transaction: (work) =>
      retryConflicts(() => withTransaction(db, (tx) => work(runOn(tx as DrizzleClient)))),
    close: () => closeDrizzleClient(config),
  };
}
