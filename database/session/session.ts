import type { PgTransactionConfig } from "drizzle-orm/pg-core";
import type { PlainSql } from "./plain_sql.ts";
import type { ConnectionSlots } from "./connection_slots.ts";
import type {
  SqlDriver,
  Statement,
  StatementResult,
  TransactionDriver,
  WrittenStatement,
} from "./driver.ts";
import type { Lease } from "./lease.ts";
import { describeStatement } from "./misuse_messages.ts";
import {
  type CreateStatementError,
  type StatementRunner,
  toStatementError,
} from "./prepared_query.ts";
import {
  createSavepointError,
  type TransactionRules,
  TransactionState,
} from "./transaction_state.ts";

/** Work of a transaction with its client. */
export type TransactionWork<T> = (tx: object) => Promise<T>;

/** Properties of a client that its sessions share. */
export interface ClientTraits {
  /** True if the texts of statements differ from those that drizzle writes for PostgreSQL. */
  readonly hasOwnText: boolean;
  /** Writes a statement of this package. */
  write(statement: PlainSql): WrittenStatement;
  /** Creates the error of a statement. */
  readonly createError: CreateStatementError;
  /** Limits of transactions on the server. */
  readonly rules: TransactionRules;
  /**
   * Creates the client of a transaction.
   *
   * @param session The session of the transaction or savepoint.
   * @param depth Number of transactions around it.
   */
  createTransaction(session: TransactionSession, depth: number): object;
  /** Creates a client that builds statements and sends none. */
  createBuilder(): object;
}

/** Session of a client, without a class of drizzle. All providers share it. */
export class PoolSession implements StatementRunner {
  /** Key of the client's prepared statements, which its transactions share. */
  readonly statements: ClientTraits;
  /** There is no transaction. */
  readonly state: undefined;
  readonly #driver: SqlDriver;
  readonly #slots: ConnectionSlots;

  /**
   * @param driver The connections.
   * @param slots Counts the transactions on them.
   * @param traits Properties of the client.
   */
  constructor(driver: SqlDriver, slots: ConnectionSlots, traits: ClientTraits) {
    this.statements = traits;
    this.#driver = driver;
    this.#slots = slots;
  }

  /** Creates the error of a statement. */
  get createError(): CreateStatementError {
    return this.statements.createError;
  }

  /** Runs a statement. */
  async send(statement: Statement): Promise<StatementResult> {
    const waiting = this.#slots.admit(() => describeStatement(statement));
    if (waiting !== undefined) await waiting;
    return await this.#driver.run(statement);
  }

  /** Runs a transaction. */
  transaction<T>(work: TransactionWork<T>, config?: PgTransactionConfig): Promise<T> {
    const state = new TransactionState(this.statements.rules);
    return state.run(() => {
      const modes = renderModes(state.checkSettings(config));
      return this.#slots.hold((scope) =>
        this.#driver.transaction((driver) =>
          scope.run(() => {
            const session = new TransactionSession(driver, scope.lease, this.statements, state);
            return session.start(work);
          }), modes)
      );
    });
  }
}

/** Session of a transaction or savepoint, without a class of drizzle. */
export class TransactionSession implements StatementRunner {
  /** Key of the client's prepared statements. */
  readonly statements: ClientTraits;
  /** State of the transaction. */
  readonly state: TransactionState;
  readonly #driver: TransactionDriver;
  readonly #lease: Lease;

  /**
   * @param driver The connection of the transaction.
   * @param lease The period in which it may be used.
   * @param traits Properties of the client.
   * @param state State of the transaction.
   */
  constructor(
    driver: TransactionDriver,
    lease: Lease,
    traits: ClientTraits,
    state: TransactionState,
  ) {
    this.statements = traits;
    this.state = state;
    this.#driver = driver;
    this.#lease = lease;
  }

  /** Runs the work of the transaction. */
  async start<T>(work: TransactionWork<T>): Promise<T> {
    const tx = this.statements.createTransaction(this, 0);
    return await this.state.work(() => work(tx), () => this.#runText("select 1"));
  }

  async #runText(text: string): Promise<void> {
    try {
      await this.send({ text, params: [], name: undefined });
    } catch (error) {
      throw toStatementError(this, error, text, []);
    }
  }

  /** Creates the error of a statement. */
  get createError(): CreateStatementError {
    return this.statements.createError;
  }

  /** Runs a statement. */
  send(statement: Statement): Promise<StatementResult> {
    return this.#lease.run(() => describeStatement(statement), () => this.#driver.run(statement));
  }

  /** Records the failure of a statement, after which the server may refuse the others. */
  noteFailure(error: unknown): void {
    this.state.noteFailure(error);
  }

  /**
   * Sends a statement that the caller does not wait for. Where the driver pipelines, it travels with
   * the next statement or with COMMIT; elsewhere the transaction waits for it before COMMIT.
   */
  sendAhead(statement: Statement): Promise<StatementResult> {
    return this.pipelines ? this.#driver.run(statement) : this.send(statement);
  }

  /** True if statements that are sent ahead take no round trip. */
  get pipelines(): boolean {
    return this.#driver.pipelines === true;
  }

  /** Throws if the transaction's work has ended. Call it before {@link sendAhead}. */
  assertOpen(): void {
    this.#lease.assertOpen(() => "the statement");
  }

  /** Runs a savepoint. */
  savepoint<T>(work: TransactionWork<T>, depth: number): Promise<T> {
    const { statements: traits, state } = this;
    if (!state.rules.savepoints) return Promise.reject(createSavepointError());
    return this.#lease.runInner((inner) =>
      this.#driver.savepoint((driver) =>
        inner.use(() => {
          const session = new TransactionSession(driver, inner, traits, state);
          return work(traits.createTransaction(session, depth));
        })
      )
    );
  }
}

/** Renders the modes of BEGIN; `undefined` for those of the server. */
function renderModes(config: PgTransactionConfig | undefined): string | undefined {
  const { isolationLevel, accessMode, deferrable } = config ?? {};
  const parts: string[] = [];
  if (isolationLevel) parts.push(`isolation level ${isolationLevel}`);
  if (accessMode) parts.push(accessMode);
  if (typeof deferrable === "boolean") parts.push(deferrable ? "deferrable" : "not deferrable");
  return parts.length === 0 ? undefined : parts.join(" ");
}
