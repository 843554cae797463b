import { closeDrizzleClient, getDrizzleClient } from "../../../database/client.ts";
import { executeRows } from "../../../database/execute.ts";
import type { DrizzleClient, Row } from "../../../database/providers/provider.ts";
import { withDistSqlRetry } from "../../../database/retry.ts";
import { withTransaction } from "../../../database/transaction.ts";
import { sql } from "../../../database/orm.ts";
import { isAppError } from "../../../errors/app_error.ts";
import { causeChain } from "../../../errors/cause_chain.ts";
import { getSqlState } from "../../../errors/driver_error.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import type { DatabaseTarget } from "../database_target.ts";
import { toDatabaseError } from "../reaching.ts";

/** Runs one statement and gives its rows. */
export type Run = (text: string) => Promise<Row[]>;

/** One of a clone's two databases. */
export interface CloneConnection {
  /** For the library's own functions. */
  readonly db: DrizzleClient;
  /** What may be printed. */
  readonly label: string;
  /** Whether it is the distributed provider. */
  readonly isDistSql: boolean;
  /** Whether it is reached by the RDS Data API. */
  readonly isDataApi: boolean;
  /** Whether it lives in this process. */
  readonly isEmbedded: boolean;
  /** Runs a statement that may be run twice: again after a conflict, and after a connection that was lost. */
  readonly run: Run;
  /** Runs statements in one transaction: again after a conflict, not after a lost connection. */
  transaction(work: (run: Run) => Promise<void>): Promise<void>;
  /** Closes it. */
  close(): Promise<void>;
}

const MAX_LOST_CONNECTIONS = 6;

/**
 * Connects to a database, with settings that make values the same text on both sides.
 *
 * @param target The database.
 * @returns The connection, which works.
 * @throws {DatabaseError} When it cannot be reached.
 * @throws {ConfigurationError} When its settings would change values.
 */
export async function connect(target: DatabaseTarget): Promise<CloneConnection> {
  const { config, label } = target;
  const plain = await open(target);
  const wrong = await wrongSettings(plain.run);
  if (wrong.length === 0) return plain;
  await plain.close();
  const url = config.connectionString ?? "";
  if (/^postgres(?:ql)?:/i.test(url) && config.provider === "serverless-pg") {
    const set = `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(TEXT_SETTINGS)}`;
    const again = await open({ label, config: { ...config, connectionString: set } });
    const left = await wrongSettings(again.run);
    if (left.length === 0) return again;
    await again.close();
  }
  throw new ConfigurationError(
    `${label}: ${wrong.join(" and ")} would change values on their way: set ` +
      `${
        Object.entries(TEXT_SETTINGS).map(([name, value]) => `${name} to ${value}`).join(" and ")
      } for the role that clones`,
  );
}

/** What the text of dates and intervals hangs on, in the form that both sides read. */
const TEXT_SETTINGS: Readonly<Record<string, string>> = {
  DateStyle: "ISO",
  IntervalStyle: "postgres",
};

async function wrongSettings(run: Run): Promise<string[]> {
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

/** Seconds that a statement of a clone may take: an index of a large table is one. */
const STATEMENT_SECONDS = 3600;

async function open({ config: given, label }: DatabaseTarget): Promise<CloneConnection> {
  const config = { ...given, statementTimeoutSeconds: STATEMENT_SECONDS };
  let db: DrizzleClient;
  try {
    db = await getDrizzleClient(config);
  } catch (error) {
    throw toDatabaseError(error, label);
  }
  const retry = <T>(work: () => Promise<T>): Promise<T> =>
    withDistSqlRetry(work, { maxRetries: 12 });
  const runOn = (client: DrizzleClient): Run => async (text) =>
    await executeRows(client, sql.raw(text));
  return {
    db,
    label,
    isDistSql: config.provider === "distsql",
    isDataApi: config.connectionString?.startsWith("rds-data://") === true,
    isEmbedded: config.provider === "embedded-pg",
    async run(text): Promise<Row[]> {
      for (let lost = 0;; lost++) {
        try {
          return await retry(() => runOn(db)(text));
        } catch (error) {
          if (!isConnectionLost(error) || isSilent(error) || lost >= MAX_LOST_CONNECTIONS) {
            throw error;
          }
          await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** lost));
        }
      }
    },
    transaction: (work) =>
      retry(() => withTransaction(db, (tx) => work(runOn(tx as unknown as DrizzleClient)))),
    close: () => closeDrizzleClient(config),
  };
}

/**
 * Whether the server gave no word about what was sent.
 *
 * @param error What was thrown.
 */
export function isConnectionLost(error: unknown): boolean {
  if (isAppError(error)) return isAppError(error, "COMMIT_OUTCOME_UNKNOWN");
  const state = getState(error);
  return state === undefined ? !(error instanceof TypeError) : /^(?:08|57P0|XX)/.test(state);
}

/** Whether the statement took all the time that it was given: another try would take as long. */
function isSilent(error: unknown): boolean {
  return causeChain(error).some((link) =>
    (link as { code?: unknown }).code === "CONNECTION_SILENT"
  );
}

/**
 * The SQLSTATE of an error, wherever in its chain it is.
 *
 * @param error What was thrown.
 */
export function getState(error: unknown): string | undefined {
  return causeChain(error).map(getSqlState).find((state) => state !== undefined);
}
