import { getRequestContext, withObservability } from "../../../core/mod.ts";
import type { MigrationContext } from "../../../database/migrations/context.ts";
import { createTables, nameTables } from "../../../database/migrations/history.ts";
import type { MigrationLock } from "../../../database/migrations/lock.ts";
import type { DedicatedSession } from "../../../database/providers/provider.ts";
import type { Row, SqlSession } from "../../../sql/session.ts";
import { createFakeClock, createLambdaContext, type FakeClock } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { withSharedDatabase } from "../../support/shared_database.ts";

/** What a test does to a statement: throws in its place, gives other rows, or lets it run by calling `run`. */
export type Intercept = (
  text: string,
  run: () => Promise<Row[]>,
  params: readonly (string | number | boolean | null)[],
) => Promise<Row[]>;

/** A session of an embedded database, with what the steps of a run share. */
export interface MigrationLab {
  context: MigrationContext;
  session: DedicatedSession;
  clock: FakeClock;
  /** What was logged. */
  lines: string[];
  /** Runs a statement past everything that a test does to the session. */
  rows: (text: string) => Promise<Row[]>;
}

/** Options of {@link withMigrationLab}. */
export interface LabOptions
  extends Partial<Omit<MigrationContext, "session" | "tables" | "clock" | "logger">> {
  /** Statements to run first. */
  setup?: readonly string[];
  /** Comes between the runner and the database, also in transactions. */
  intercept?: Intercept;
}

/** A lock that is always held and needs no fence. */
export function heldLock(more: Partial<MigrationLock> = {}): MigrationLock {
  return {
    owner: "the-test",
    fence: undefined,
    check: () => Promise.resolve(),
    release: () => Promise.resolve(),
    ...more,
  };
}

/** A connection that ended without a word about the statement. */
export function connectionLost(): Error {
  return Object.assign(new Error("connection closed"), { code: "CONNECTION_CLOSED" });
}

/** An error of the server. */
export function serverError(sqlState: string, message = "server error"): Error {
  return Object.assign(new Error(message), { code: sqlState, severity: "ERROR" });
}

/** Hands a session of an empty embedded database with the runner's tables to a test. */
export async function withMigrationLab(
  options: LabOptions,
  test: (lab: MigrationLab) => Promise<void>,
): Promise<void> {
  const { setup = [], intercept = (_, run) => run(), ...more } = options;
  await withSharedDatabase(async (connection, plain) => {
    const clock = createFakeClock({ autoAdvance: true });
    const lines: string[] = [];
    const tables = nameTables();
    await createTables(plain, tables);
    for (const statement of setup) await plain.query(statement);
    const session = interceptSession(plain, intercept);
    const context: MigrationContext = {
      session,
      tables,
      lock: heldLock(),
      limitsRows: false,
      lockLimits: { timeoutMs: 2000, maxAttempts: 20 },
      backfill: { batchMs: 200, maxLagMs: 5000, maxWaitMs: 600_000 },
      jobTimeoutMs: 60_000,
      isOver: () => false,
      logger: (line) => void lines.push(line),
      clock,
      onUndecided: undefined,
      openClient: () => Promise.resolve(connection.createClient(undefined)),
      ...more,
    };
    await test({ context, session, clock, lines, rows: (text) => plain.query(text) });
  });
}

function interceptSession(plain: DedicatedSession, intercept: Intercept): DedicatedSession {
  const wrap = (inner: SqlSession): SqlSession => ({
    query: (text, params = []) => intercept(text, () => inner.query(text, params), params),
    script: (statements) => inner.script(statements),
  });
  return {
    ...wrap(plain),
    keepsSession: plain.keepsSession,
    close: () => plain.close(),
    // a transaction's end is a statement too
    async transaction<T>(fn: (tx: SqlSession) => Promise<T>): Promise<T> {
      let result: T | undefined;
      await intercept("COMMIT", async () => {
        result = await plain.transaction((tx) => fn(wrap(tx)));
        return [];
      }, []);
      return result as T;
    },
  };
}

/** A session that answers by a function alone. */
export function fakeSession(
  answer: (text: string, params: readonly unknown[]) => Row[] | Promise<Row[]>,
  more: Partial<DedicatedSession> = {},
): DedicatedSession {
  const session: SqlSession = {
    query: (text, params = []) => Promise.resolve().then(() => answer(text, params)),
    script: async (statements) => {
      for (const statement of statements) await answer(statement, []);
    },
  };
  return {
    ...session,
    transaction: (fn) => fn(session),
    keepsSession: true,
    close: () => Promise.resolve(),
    ...more,
  };
}

/** Runs work in a handler whose time is up at `deadlineMs`; a clock that starts there minus some is that far from it. */
export async function withDeadline<T>(work: (deadlineMs: number) => Promise<T>): Promise<T> {
  let outcome: Promise<T> | undefined;
  const handler = withObservability(async () => {
    const deadlineMs = getRequestContext()?.deadlineMs;
    if (deadlineMs === undefined) throw new Error("The handler has no deadline");
    outcome = work(deadlineMs);
    await outcome.catch(() => {});
  });
  await captureLogs(() => handler({}, createLambdaContext({ timeoutMs: 10_000 })));
  return await outcome!;
}
