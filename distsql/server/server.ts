import { type Backend, type BackendSession, queryRows } from "./backend.ts";
import { accessDenied, ClientConnection, type ConnectionHost } from "./connection.ts";
import { openEmbeddedBackend } from "./embedded_backend.ts";
import { type DistSqlInjection, FaultRegistry, type InjectedFault } from "./faults.ts";
import { checkIamToken, type DistSqlPrincipal } from "./iam_token.ts";
import { JobRunner, type SystemWork } from "./jobs.ts";
import { listen } from "./listener.ts";
import { openPostgresBackend } from "./postgres_backend.ts";
import { checkRefusals } from "./rules/check.ts";
import type { DistSqlLimits, DistSqlStatistics } from "./server_context.ts";
import {
  checkServerOptions,
  type DistSqlBackend,
  type DistSqlServerOptions,
} from "./server_options.ts";
import { type ConflictMarker, SqlError } from "./sql_error.ts";
import { loadStatementParser, type StatementParser } from "./syntax/statements.ts";
import { prepareDatabase } from "./sys_schema.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import type { Session } from "./session.ts";
import { randomInt } from "node:crypto";
import type { Socket } from "node:net";

/** Running server. */
export interface DistSqlServer {
  /** Host name for signing tokens. */
  readonly hostname: string;
  /** Port on the loopback interface. */
  readonly port: number;
  /** Region for signing tokens. */
  readonly region: string;
  /** Certificate authority in PEM, for a client's `ssl.ca`. */
  readonly ca: string;
  /** First principal: sign tokens with its keys. */
  readonly principal: DistSqlPrincipal;
  /** Counters since the start. */
  readonly statistics: Readonly<DistSqlStatistics>;
  /** Number of open connections. */
  readonly connections: number;
  /** Injects a fault. */
  inject(injection: DistSqlInjection): InjectedFault;
  /**
   * Closes every connection that is not in a transaction, as the provider may at any time; returns
   * their number.
   */
  closeIdleConnections(): number;
  /** Holds asynchronous jobs, so that indexes stay invalid. */
  holdJobs(): void;
  /** Runs held jobs. */
  releaseJobs(): void;
  /** Closes all connections and the database behind the server. */
  stop(): Promise<void>;
}

const DEFAULT_PRINCIPAL: DistSqlPrincipal = {
  accessKeyId: "AKIADISTSQLSTANDIN00",
  secretAccessKey: "stand-in/secret/access/key",
  arn: "arn:aws:iam::000000000000:role/app",
};

const DEFAULT_HOSTNAME = "localhost";
const DEFAULT_REGION = "us-east-1";

const DEFAULT_LIMITS: DistSqlLimits = {
  rows: 3000,
  bytes: 10 * 1024 * 1024,
  transactionAgeMs: 300_000,
};

async function openBackend(options: DistSqlBackend, surrenderAfterMs: number): Promise<Backend> {
  if ("url" in options) return await openPostgresBackend(options.url);
  return await openEmbeddedBackend({ ...options, surrenderAfterMs });
}

/** Creates a function that runs work on the server's own connection, one task at a time. */
function createSystemWork(session: BackendSession): SystemWork {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(async () => {
      await session.enter();
      try {
        return await work((sql) => queryRows(session, sql));
      } finally {
        session.leave();
      }
    });
    last = result.catch(() => {});
    return result;
  };
}

/**
 * Starts a PostgreSQL server on the loopback interface that behaves like the distributed-SQL
 * provider.
 *
 * It requires TLS and an IAM token, rejects what the provider rejects with the same SQLSTATE and
 * text, enforces the provider's limits, runs index builds and validations as jobs, lets
 * transactions conflict at COMMIT, and injects faults on demand. Real clients can connect:
 * postgres.js with `@aws-sdk/dsql-signer`, or this library's `distsql`.
 *
 * @param options Backend and behavior of the server.
 * @returns The running server; call `stop()` at the end.
 * @throws {RangeError} If an option is out of range.
 * @throws {TypeError} If `backend.url` is not a PostgreSQL URL, or its user is not a superuser.
 *
 * @example
 * ```ts
 * import { startDistSqlServer } from "@trellis/fn/testing/distsql";
 *
 * const server = await startDistSqlServer();
 * console.log(`${server.hostname}:${server.port}`);
 * await server.stop();
 * ```
 */
export async function startDistSqlServer(
  options: DistSqlServerOptions = {},
): Promise<DistSqlServer> {
  checkServerOptions(options);
  const parse = await loadStatementParser();
  const backend = await openBackend(options.backend ?? {}, options.surrenderAfterMs ?? 1000);
  try {
    return await startOn(backend, parse, options);
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/** Creates the check of a client's user name and token; it resolves to the refusal, if any. */
function createAuthentication(
  system: SystemWork,
  options: DistSqlServerOptions,
): ConnectionHost["authenticate"] {
  const { hostname = DEFAULT_HOSTNAME, region = DEFAULT_REGION, now = Date.now } = options;
  const principals = options.principals ?? [DEFAULT_PRINCIPAL];
  return async function authenticate(user, token) {
    const checked = checkIamToken(token, { user, hostname, region, principals, now: now() });
    if ("fault" in checked) {
      return accessDenied(checked.fault === "expired" ? "Signature expired" : undefined);
    }
    if (user === "admin") return undefined;
    const mappings = await system((query) =>
      query(
        "SELECT FROM sys.iam_mapping_records m JOIN pg_roles r ON r.rolname = m.pg_role_name " +
          `AND r.rolcanlogin WHERE m.pg_role_name = ${quoteLiteral(user)} ` +
          `AND m.arn = ${quoteLiteral(checked.principal.arn)}`,
      )
    );
    return mappings.length > 0 ? undefined : accessDenied();
  };
}

/** Parts of a server that its connections use. */
interface ServerParts {
  readonly backend: Backend;
  readonly parse: StatementParser;
  readonly options: DistSqlServerOptions;
  readonly system: SystemWork;
  readonly faults: FaultRegistry;
  readonly statistics: DistSqlStatistics;
  readonly connections: ConnectionTable;
  readonly jobs: JobRunner;
  readonly catalog: { version: number };
}

function createHost(parts: ServerParts): ConnectionHost {
  const { backend, options, system, statistics, connections, jobs, catalog } = parts;
  const { asOf = "9999-12-31", now = Date.now } = options;
  return {
    backend,
    faults: parts.faults,
    statistics,
    now,
    parse: parts.parse,
    authenticate: createAuthentication(system, options),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    superuser: backend.superuser,
    isConcurrent: backend.isConcurrent,
    reportsCatalogChanges: options.catalogConflicts ?? false,
    get catalogVersion() {
      return catalog.version;
    },
    refuse: (statement) => checkRefusals(statement, asOf),
    noteCatalogChange: () => ++catalog.version,
    scheduleJobs: (jobIds) => jobs.schedule(jobIds),
    watchBlocked: (processId, marker) =>
      watchBlocked(system, () => connections.sessions(), processId, marker),
    cancel: (processId, secretKey) => connections.cancel(processId, secretKey),
    countError({ sqlstate }) {
      if (sqlstate === "40001") statistics.conflicts++;
      if (sqlstate === "0A000" || sqlstate === "54000") statistics.refusals++;
    },
    async waitForJob(jobId, runner) {
      const connection = connections.all().find(({ session }) => session?.runner === runner);
      const signal = connection?.waitSignal() ?? AbortSignal.abort();
      await jobs.wait(jobId, signal);
      if (signal.aborted) throw new SqlError("57014", "canceling statement due to user request");
    },
  };
}

async function startOn(
  backend: Backend,
  parse: StatementParser,
  options: DistSqlServerOptions,
): Promise<DistSqlServer> {
  const { hostname = DEFAULT_HOSTNAME, region = DEFAULT_REGION } = options;
  const ownSessions = [await backend.openSession(), await backend.openSession()];
  const [system, jobWork] = ownSessions.map(createSystemWork);
  await system(prepareDatabase);

  const faults = new FaultRegistry();
  const statistics = { connections: 0, statements: 0, commits: 0, conflicts: 0, refusals: 0 };
  const connections = new ConnectionTable(options.sessionLifetimeMs ?? 3_600_000);
  const catalog = { version: 0 };
  const jobs = new JobRunner({
    work: jobWork,
    faults,
    delayMs: options.jobDelayMs ?? 0,
    onCatalogChange: () => catalog.version++,
  });
  const host = createHost(
    { backend, parse, options, system, faults, statistics, connections, jobs, catalog },
  );
  const listener = await listen({
    hostname,
    port: options.port ?? 0,
    onSecure: (socket) => connections.open(host, socket),
    onCancel: (processId, secretKey) =>
      void connections.cancel(processId, secretKey).catch(() => {}),
  });
  await jobs.resume();

  async function stop(): Promise<void> {
    const closed = listener.close();
    await connections.close();
    await jobs.stop();
    await closed;
    for (const session of ownSessions) await session.close();
    await backend.close();
  }

  let stopping: Promise<void> | undefined;
  return {
    hostname,
    region,
    statistics,
    port: listener.port,
    ca: listener.ca,
    principal: (options.principals ?? [DEFAULT_PRINCIPAL])[0],
    get connections() {
      return connections.size;
    },
    inject: (injection) => faults.inject(injection),
    closeIdleConnections() {
      const idle = connections.all().filter(({ session }) => session?.isIdle);
      for (const connection of idle) connection.destroy();
      return idle.length;
    },
    holdJobs: () => jobs.hold(),
    releaseJobs: () => jobs.release(),
    stop: () => stopping ??= stop(),
  };
}

/** Interval for checking a statement's blockers, in milliseconds. */
const BLOCK_CHECK_MS = 20;

/**
 * Watches a statement in autocommit. A transaction that blocks it while it waits for its client
 * loses with a conflict.
 *
 * On the provider nothing waits: the statement in autocommit commits first, and the transaction
 * fails at its COMMIT.
 *
 * @param work Runs SQL outside of the session that may be blocked.
 * @param sessions The sessions that may block it.
 * @param processId The session that may be blocked.
 * @param marker Conflict for the transactions that lose.
 * @returns A function that ends the watch.
 */
function watchBlocked(
  work: SystemWork,
  sessions: () => Iterable<Session>,
  processId: number,
  marker: ConflictMarker,
): () => void {
  let isWatching = true;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function breakBlockers(): Promise<void> {
    const rows = await work((query) => query(`SELECT unnest(pg_blocking_pids(${processId}))`));
    const blockers = new Set(rows.map(([blocker]) => Number(blocker)));
    for (const session of sessions()) {
      if (blockers.has(session.processId) && session.idleInTransactionMs() > 0) {
        await session.surrender(marker);
      }
    }
  }

  function schedule(): void {
    timer = setTimeout(async () => {
      await breakBlockers().catch(() => {});
      if (isWatching) schedule();
    }, BLOCK_CHECK_MS);
  }

  schedule();
  return function stopWatching(): void {
    isWatching = false;
    clearTimeout(timer);
  };
}

/** Milliseconds that a transaction which began in the session's last minute may still run (Q). */
const EXPIRY_GRACE_MS = 300_000;

/** Connections of the server, by their process ids. */
class ConnectionTable {
  readonly #byProcessId = new Map<number, ClientConnection>();
  readonly #lifetimeMs: number;
  #lastProcessId = 0;

  constructor(lifetimeMs: number) {
    this.#lifetimeMs = lifetimeMs;
  }

  get size(): number {
    return this.#byProcessId.size;
  }

  all(): ClientConnection[] {
    return [...this.#byProcessId.values()];
  }

  sessions(): Session[] {
    return this.all().flatMap(({ session }) => session ? [session] : []);
  }

  open(host: ConnectionHost, socket: Socket): void {
    const connection = new ClientConnection(
      host,
      socket,
      ++this.#lastProcessId,
      randomInt(2 ** 31),
    );
    this.#byProcessId.set(connection.processId, connection);
    const timers = [
      setTimeout(() => connection.expire(), this.#lifetimeMs),
      setTimeout(() => connection.destroy(), this.#lifetimeMs + EXPIRY_GRACE_MS),
    ];
    connection.done.finally(() => {
      timers.forEach((timer) => clearTimeout(timer));
      this.#byProcessId.delete(connection.processId);
    });
  }

  async cancel(processId: number, secretKey: number): Promise<void> {
    const connection = this.#byProcessId.get(processId);
    if (!connection || connection.secretKey !== secretKey) return;
    connection.cancelWait();
    await connection.session?.cancel();
  }

  async close(): Promise<void> {
    const open = this.all();
    for (const connection of open) connection.destroy();
    await Promise.all(open.map((connection) => connection.done));
  }
}
