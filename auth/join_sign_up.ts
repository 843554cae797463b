import type { BetterAuthPlugin } from "better-auth";
import { is } from "drizzle-orm";
import { type PgTable, PgTransaction } from "drizzle-orm/pg-core";
import { addSentAhead } from "../database/send_ahead.ts";
import type { Statement, StatementResult } from "../database/session/driver.ts";
import type { PreparedQuery } from "../database/session/prepared_query.ts";
import type { TransactionSession } from "../database/session/session.ts";
import { findSession } from "../database/session/statement_session.ts";
import { SIGN_UP } from "./account_limits.ts";
import type { BetterAuthOptions } from "./better_auth_types.ts";
import type { OneStatementSignUps, SignUpTables } from "./one_statement_sign_up.ts";
import { findRequestScope } from "./request_scope.ts";

type Row = Readonly<Record<string, unknown>>;

interface Transaction {
  readonly _: { readonly session: { prepareQuery(...args: unknown[]): PreparedQuery } };
  insert(table: unknown): unknown;
}

interface Insert {
  values(row: Row): { returning(): PromiseLike<unknown> };
}

type Run<T> = (tx: Transaction) => Promise<T>;

/**
 * Checks that better-auth's sign-up inserts the account and then the session as its last statements,
 * that it does not use the stored account, and that nothing of the application runs in between.
 *
 * @param db The client.
 * @param options Options of better-auth.
 * @param plugins The plugins of the configuration.
 */
export function canJoinSignUp(
  db: object,
  { emailAndPassword, emailVerification, secondaryStorage, databaseHooks }: BetterAuthOptions,
  plugins: readonly BetterAuthPlugin[],
): boolean {
  // a statement that fails would end the transaction of the caller
  return !is(db, PgTransaction) &&
    emailAndPassword?.autoSignIn !== false &&
    !emailAndPassword?.requireEmailVerification &&
    !emailVerification?.sendOnSignUp &&
    secondaryStorage === undefined &&
    databaseHooks?.account?.create?.after === undefined &&
    databaseHooks?.session?.create?.before === undefined &&
    // a plugin adds hooks of the database there
    plugins.every(({ init }) => init === undefined);
}

/**
 * Returns a client that sends the last statements of a sign-up together: the account, the session and
 * COMMIT. If one of the inserts fails, the server rolls back.
 *
 * @param db The client. With a driver that does not pipeline, nothing changes.
 * @param tables The tables of better-auth's models.
 * @param statements Runs sign-ups by one statement without a transaction, if that is possible.
 * @returns A view of the client.
 */
export function joinSignUps<T extends object>(
  db: T,
  tables: SignUpTables,
  statements: OneStatementSignUps | undefined,
): T {
  return new Proxy(db, {
    get(target, key): unknown {
      const value: unknown = Reflect.get(target, key);
      if (key !== "transaction" || typeof value !== "function") return value;
      return function transact<R>(run: Run<R>, ...options: unknown[]): Promise<R> {
        const begin = (work: Run<unknown>): Promise<unknown> =>
          value.call(target, work, ...options);
        const scope = findRequestScope();
        if (scope?.path !== SIGN_UP || scope.isJoined) return begin(run) as Promise<R>;
        scope.isJoined = true;
        const transact = () => runJoined(begin, run, tables);
        return statements === undefined ? transact() : statements.run(scope, run, transact);
      };
    },
  });
}

/** Runs a transaction that ends when its session is sent, while the work still waits for the row. */
async function runJoined<T>(
  begin: (work: Run<unknown>) => Promise<unknown>,
  run: Run<T>,
  tables: SignUpTables,
): Promise<T> {
  let working: Promise<T> | undefined;
  await begin((tx) => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => end = resolve);
    const session = findSession(tx) as TransactionSession | undefined;
    working = run(session?.pipelines ? viewJoined(tx, session, tables, end) : tx);
    // reported below, or by the error of the transaction
    working.catch(() => {});
    return Promise.race([working, ended]);
  });
  return await working!;
}

function viewJoined(
  tx: Transaction,
  session: TransactionSession,
  tables: SignUpTables,
  end: () => void,
): Transaction {
  return new Proxy(tx, {
    get(target, key): unknown {
      if (key !== "insert") return Reflect.get(target, key);
      return function insert(table: PgTable): unknown {
        if (table === tables.account) return insertUnread(target, session, table);
        if (table === tables.session) return insertAhead(target, session, table, end);
        return target.insert(table);
      };
    },
  });
}

/** Returns drizzle's insert on a session that sends it without waiting. */
function insertAhead(
  tx: Transaction,
  session: TransactionSession,
  table: PgTable,
  onSent: () => void,
): Insert {
  const send = (statement: Statement): Promise<StatementResult> => {
    session.assertOpen();
    const answer = session.sendAhead(statement);
    addSentAhead(session.state, answer);
    onSent();
    return answer;
  };
  const ahead = {
    prepareQuery: (...args: unknown[]) => tx._.session.prepareQuery(...args).bind({ send }),
  };
  const view = Object.create(tx, { session: { value: ahead } });
  return view.insert(table) as Insert;
}

/** Returns an insert that answers with the given row once it is sent: nothing reads the stored one. */
function insertUnread(tx: Transaction, session: TransactionSession, table: PgTable): unknown {
  return {
    values(row: Row): unknown {
      let tell = (): void => {};
      const sent = new Promise<void>((resolve) => tell = resolve);
      const insert = insertAhead(tx, session, table, tell).values(row);
      const returning = (): Promise<unknown> => {
        const stored = Promise.resolve(insert.returning());
        // the transaction reports it
        stored.catch(() => {});
        return Promise.race([sent.then(() => [row]), stored]);
      };
      return Object.assign(Object.create(insert), { returning });
    },
  };
}
