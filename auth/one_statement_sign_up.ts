import type { PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";
import type { DrizzleClient } from "../database/providers/provider.ts";
import { getStatementSession } from "../database/session/statement_session.ts";
import { isCommitOutcomeUnknown, isTransactionConflict } from "../database/sqlstate.ts";
import { isAppError } from "../errors/app_error.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import { UnexpectedError } from "../errors/http_errors.ts";
import type { BetterAuthOptions } from "./better_auth_types.ts";
import type { RequestScope } from "./request_scope.ts";
import { insertSignUp, type NewRow, type Row } from "./sign_up_statement.ts";

type Client = PgDatabase<PgQueryResultHKT>;
type AnyFunction = (...args: unknown[]) => unknown;

/** The tables whose rows a sign-up inserts. */
export interface SignUpTables {
  readonly user?: unknown;
  readonly account?: unknown;
  readonly session?: unknown;
  /** Table of the audit log. */
  readonly authEvent?: unknown;
}

/**
 * Checks that a sign-up can be one statement: the application makes the user's id, and none of its
 * code runs between the search for the user and the last insert. The conditions of `canJoinSignUp`
 * must hold too.
 *
 * @param db The client.
 * @param options Options of better-auth.
 */
export function canSignUpInOneStatement(
  db: object,
  { advanced, databaseHooks = {}, user }: BetterAuthOptions,
): boolean {
  const hooks = [databaseHooks.user, databaseHooks.account, databaseHooks.session];
  return getStatementSession(db as DrizzleClient) !== undefined &&
    typeof advanced?.database?.generateId === "function" &&
    user?.validateUserInfo === undefined &&
    hooks.every((hook) => hook?.create === undefined);
}

/**
 * Runs sign-ups without a transaction. The user and the account are kept until better-auth inserts
 * the session, and one statement inserts all of them. If it fails, nothing is stored, and the sign-up
 * is run again in a transaction, whose statements decide about the answer.
 */
export class OneStatementSignUps {
  readonly #db: Client;
  readonly #tables: SignUpTables;
  #isRefused = false;

  /**
   * @param db The client.
   * @param tables The tables.
   */
  constructor(db: object, tables: SignUpTables) {
    this.#db = db as Client;
    this.#tables = tables;
  }

  /**
   * Runs a sign-up.
   *
   * @param scope The request.
   * @param run The sign-up, on a transaction's client or what looks like one.
   * @param transact Runs it in a transaction.
   * @returns Its result.
   */
  async run<T>(
    scope: RequestScope,
    run: (tx: never) => Promise<T>,
    transact: () => Promise<T>,
  ): Promise<T> {
    if (this.#isRefused) return await transact();
    const attempt = new Attempt(this.#db, this.#tables, scope);
    const [outcome] = await Promise.allSettled([run(attempt.createClient() as never)]);
    if (!attempt.mustRepeat(outcome.status)) {
      if (outcome.status === "rejected") throw outcome.reason;
      if (attempt.failure !== undefined) throw attempt.failure;
      return outcome.value;
    }
    const result = await transact();
    // the transaction stored what the statement could not: it would fail each time
    this.#isRefused = !isTransactionConflict(attempt.failure);
    return result;
  }
}

/** Checks that a failed statement has stored nothing, and that the server is able to run others. */
function canRunAgain(failure: unknown): boolean {
  // drizzle's errors have the query; an error of a value, such as an invalid date, comes before it
  const wasSent = isAppError(failure) || failure instanceof Error && "query" in failure;
  return !wasSent || !isCommitOutcomeUnknown(failure) && !hasSqlState(failure, OVERLOADED);
}

/** Out of memory, disk or connections; cancelled. */
const OVERLOADED: readonly string[] = ["53000", "53100", "53200", "53300", "53400", "57014"];

type Status = "empty" | "pending" | "stored" | "failed" | "abandoned";

/** One run of a sign-up with a client that keeps its rows. */
class Attempt {
  readonly #db: Client;
  readonly #tables: SignUpTables;
  readonly #scope: RequestScope;
  readonly #rows: NewRow[] = [];
  #status: Status = "empty";
  /** Error of the statement. */
  failure: unknown;

  constructor(db: Client, tables: SignUpTables, scope: RequestScope) {
    this.#db = db;
    this.#tables = tables;
    this.#scope = scope;
  }

  /** Checks whether the sign-up must be run again in a transaction. */
  mustRepeat(outcome: PromiseSettledResult<unknown>["status"]): boolean {
    if (this.#status === "failed") return canRunAgain(this.failure);
    // better-auth has not inserted a session: the rows are not stored
    const isIncomplete = this.#status === "pending" && outcome === "fulfilled";
    return this.#status === "abandoned" || isIncomplete;
  }

  /**
   * Returns a client that finds what is stored, and keeps the rows of the sign-up. Any other use
   * leads to a transaction.
   */
  createClient(): Client {
    return new Proxy(this.#db, {
      get: (target, key): unknown => {
        const value: unknown = Reflect.get(target, key);
        if (key === "insert") return (table: PgTable) => this.#insert(table);
        if (key === "select") return (...args: unknown[]) => this.#select(value, args);
        if (key === "query" && this.#status !== "empty") this.#abandon();
        return typeof value === "function" ? () => this.#abandon() : value;
      },
    });
  }

  #abandon(): never {
    if (this.#status !== "stored") this.#status = "abandoned";
    throw new UnexpectedError("This sign-up needs a transaction");
  }

  #insert(table: PgTable): unknown {
    const { user, account, authEvent, session } = this.#tables;
    const isFirst = this.#status === "empty";
    const isKnown = isFirst
      ? table === user
      : this.#status === "pending" && [account, authEvent, session].includes(table);
    if (!isKnown) return this.#abandon();
    return {
      values: (values: Row): unknown => {
        if (isFirst && typeof values.id !== "string") return this.#abandon();
        const insert = this.#db.insert(table).values(values);
        const row = { table, values };
        const returning = () => table === session ? this.#store(row) : this.#keep(row);
        return Object.assign(Object.create(insert), { returning });
      },
    };
  }

  #keep(row: NewRow): Promise<Row[]> {
    this.#status = "pending";
    this.#rows.push(row);
    return Promise.resolve([row.values]);
  }

  async #store(last: NewRow): Promise<Row[]> {
    const [first, ...others] = this.#rows;
    try {
      const { user, session } = await insertSignUp(this.#db, first, others, last);
      this.#status = "stored";
      this.#scope.storedUser = user;
      return [session];
    } catch (error) {
      this.#status = "failed";
      this.failure = error;
      throw error;
    }
  }

  #select(select: unknown, args: unknown[]): unknown {
    if (this.#status === "empty") return (select as AnyFunction).apply(this.#db, args);
    const { storedUser } = this.#scope;
    if (storedUser === undefined) return this.#abandon();
    return {
      from: (table: unknown) => {
        if (table !== this.#tables.user) this.#abandon();
        return { where: () => Promise.resolve([storedUser]) };
      },
    };
  }
}
