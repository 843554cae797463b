import type { RDSDataClient } from "@aws-sdk/client-rds-data";
import { runtimeProcess } from "../../env/builtin_module.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import type { DatabaseSettings } from "../config/config.ts";
import { DATABASE_PACKAGES } from "../config/optional_packages.ts";
import { NO_DEADLINE, onDeadline } from "../session/deadline.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import { toQueryResult } from "../session/decode_rows.ts";
import { createSessionClient } from "../session/client.ts";
import { DataApiDialect } from "./data_api_dialect.ts";
import { getRunner, runTransaction, toSqlDriver } from "./data_api_driver.ts";
import {
  type ConnectRetry,
  createConnectRetry,
  isUnreachable,
  retryRefused,
} from "./connect_retry.ts";
import { readFailure } from "./data_api_error.ts";
import type { DataApiClient, DataApiResult, StatementInput } from "./data_api_values.ts";
import { IdleTimer } from "../../env/idle_timer.ts";
import { isSilent } from "../../sql/sqlstate.ts";
import type { Connection, DedicatedSession } from "./provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import { getLimit, type StatementLimit, withinLimit } from "./statement_limit.ts";

/** Cluster, secret and database, which every request contains. */
export interface DataApiTarget {
  /** ARN of the cluster. */
  resourceArn: string;
  /** ARN of the secret with user and password. */
  secretArn: string;
  /** Name of the database. */
  database: string | undefined;
}

/**
 * Opens Aurora through the Data API: HTTPS requests signed with IAM, without a persistent
 * connection. The IAM actions are `rds-data:ExecuteStatement`, `BeginTransaction`,
 * `CommitTransaction`, `RollbackTransaction`, and `secretsmanager:GetSecretValue` on the secret.
 *
 * @param config `connectionString` is `rds-data://<cluster-arn>?secretArn=…&database=…`.
 * @returns The connection; nothing is sent yet.
 */
export async function openDataApi(config: DatabaseSettings): Promise<Connection> {
  const { target, region } = readTarget(config);
  const limit = getLimit(config);
  const sdk = await loadDataApi();
  // Deno 2.9 resends a request, also an INSERT, when a reused connection ends without an answer
  const agent = { keepAlive: runtimeProcess?.versions.deno === undefined };
  const client = new sdk.RDSDataClient({
    region,
    // the SDK would resend an INSERT whose answer was lost
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: (config.connectTimeout ?? 10) * 1000,
      requestTimeout: Math.max(REQUEST_TIMEOUT_MS, limit.ms),
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  const withLimit = toApi(client, sdk, target, createConnectRetry(config, isNotYet));
  const api = withLimit(limit);
  const driver = toSqlDriver(api);
  // there are no connections to hold
  const slots = new ConnectionSlots(Infinity);
  return {
    async check(): Promise<void> {
      try {
        await api.execute({ sql: "select 1" });
      } catch (error) {
        client.destroy();
        throw error;
      }
    },
    createClient: (schema) =>
      createSessionClient(driver, slots, { schema, dialect: new DataApiDialect() }),
    openSession(): Promise<DedicatedSession> {
      const own = getLimit(config);
      const session = openSession(withLimit(own));
      return Promise.resolve({ ...session, limitStatements: (ms) => void (own.ms = ms) });
    },
    close: () => Promise.resolve(client.destroy()),
  };
}

const ARN = /^arn:[a-z-]+:rds:([a-z0-9-]+):\d+:cluster:[A-Za-z0-9-]+$/;

function readTarget(config: DatabaseSettings): { target: DataApiTarget; region: string } {
  const [resourceArn, query = ""] = (config.connectionString ?? "").slice("rds-data://".length)
    .split("?");
  const params = new URLSearchParams(query);
  const secretArn = params.get("secretArn");
  const region = ARN.exec(resourceArn)?.[1];
  if (region === undefined) {
    throw new ConfigurationError(
      `DatabaseConfig.connectionString must name a cluster, ` +
        `rds-data://arn:aws:rds:<region>:<account>:cluster:<name>, ` +
        `got ${JSON.stringify(resourceArn)}`,
    );
  }
  if (secretArn === null || secretArn === "") {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString lacks ?secretArn=…: give " +
        "the ARN of the secret with user and password",
    );
  }
  const unknown = [...params.keys()].find((key) => key !== "secretArn" && key !== "database");
  if (unknown !== undefined) {
    throw new ConfigurationError(
      "DatabaseConfig.connectionString has the unknown parameter " +
        `${JSON.stringify(unknown)}: the Data API takes secretArn and database`,
    );
  }
  return {
    target: { resourceArn, secretArn, database: params.get("database") ?? undefined },
    region: config.region ?? region,
  };
}

/**
 * Request timeout. The Data API ends a statement after 45 s, so a longer silence means that the
 * answer was lost.
 */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Maximum idle time of a socket. The server closes idle sockets, which a frozen sandbox does not
 * notice: the next request would then fail with an unknown outcome.
 */
const MAX_IDLE_MS = 4000;

/**
 * Errors which mean that the statement was not run: the cluster is resuming, or requests are
 * throttled.
 */
const NOT_YET: ReadonlySet<string> = new Set(["DatabaseResumingException", "ThrottlingException"]);

function isNotYet(error: unknown): boolean {
  return NOT_YET.has((error as Error).name);
}

/**
 * Checks whether a statement was certainly not run: the service deferred it, or the server or the
 * network refused the connection.
 */
function isUnsent(error: unknown): boolean {
  return isNotYet(error) || /^FATAL:/.test((error as Error).message) || isUnreachable(error);
}

type Request<T> = (options: { abortSignal: AbortSignal }) => Promise<T>;

function toApi(
  client: RDSDataClient,
  sdk: typeof import("@aws-sdk/client-rds-data"),
  target: DataApiTarget,
  connectRetry: ConnectRetry,
): (limit: StatementLimit) => DataApiClient {
  const { resourceArn, secretArn } = target;
  let underWay = 0;
  const idle = new IdleTimer();
  const lastAnswerMs = (): number => performance.now() - idle.elapsedMs;

  /** Sends a request; statements of one transaction are sent one after another. */
  async function send<T>(
    request: Request<T>,
    limit: StatementLimit,
    isInTransaction = true,
  ): Promise<T> {
    const abort = new AbortController();
    // a request that is no longer awaited would keep its socket as long as the network is silent
    const forget = onDeadline(() => abort.abort());
    const hasDeadline = forget !== NO_DEADLINE;
    // closes its sockets; the next request opens a new one
    if (underWay === 0 && idle.elapsedMs > MAX_IDLE_MS) client.destroy();
    underWay++;
    try {
      return await retryRefused(() => {
        const answer = runOutsideInvocation(() => request({ abortSignal: abort.signal }));
        return hasDeadline
          ? answer
          : withinLimit(answer, limit, isInTransaction ? lastAnswerMs : undefined);
      }, (error, attempt, elapsedMs) => {
        if (isSilent(error)) abort.abort();
        const failure = readFailure(error);
        const delayMs = isUnsent(error) ? connectRetry(failure, attempt, elapsedMs) : undefined;
        if (delayMs === undefined) throw failure;
        return delayMs;
      });
    } finally {
      forget();
      underWay--;
      idle.reset();
    }
  }
  return (limit) => ({
    execute({ sql, parameters, transactionId }: StatementInput): Promise<DataApiResult> {
      const statement = new sdk.ExecuteStatementCommand({
        ...target,
        sql,
        parameters,
        transactionId,
        includeResultMetadata: true,
        // as numbers, bigints beyond 2^53 would lose digits
        resultSetOptions: { longReturnType: "STRING", decimalReturnType: "STRING" },
      });
      return send((options) => client.send(statement, options), limit, transactionId !== undefined);
    },
    async begin(): Promise<string> {
      const begin = new sdk.BeginTransactionCommand(target);
      const { transactionId } = await send((options) => client.send(begin, options), limit);
      if (transactionId === undefined) throw new Error("The Data API returned no transaction id");
      return transactionId;
    },
    async commit(transactionId: string): Promise<void> {
      const commit = new sdk.CommitTransactionCommand({ resourceArn, secretArn, transactionId });
      await send((options) => client.send(commit, options), limit);
    },
    async rollback(transactionId: string): Promise<void> {
      const ended = { resourceArn, secretArn, transactionId };
      const rollback = new sdk.RollbackTransactionCommand(ended);
      await send((options) => client.send(rollback, options), limit);
    },
  });
}

function toSession(api: DataApiClient, transactionId: string | undefined): SqlSession {
  const runner = getRunner(api, transactionId);
  return {
    async query(text, params = []): Promise<Row[]> {
      const named = params.length === 0 ? text : text.replace(/\$(\d+)/g, ":$1");
      return toQueryResult(await runner.run({ text: named, params, name: undefined })).rows;
    },
    async script(statements): Promise<void> {
      for (const statement of statements) await this.query(statement);
    },
  };
}

function openSession(api: DataApiClient): DedicatedSession {
  function transaction<T>(fn: (tx: SqlSession) => Promise<T>): Promise<T> {
    return runTransaction(api, (id) => fn(toSession(api, id)));
  }
  return {
    query: toSession(api, undefined).query,
    script: (statements) => transaction((tx) => tx.script(statements)),
    transaction,
    keepsSession: false,
    close: () => Promise.resolve(),
  };
}

async function loadDataApi(): Promise<typeof import("@aws-sdk/client-rds-data")> {
  try {
    return await import("@aws-sdk/client-rds-data");
  } catch (error) {
    const purpose = "Provider serverless-pg over the Data API";
    return explainMissing(DATABASE_PACKAGES, "@aws-sdk/client-rds-data", purpose)(error);
  }
}
