import { type BackendOwner, type BackendSession, queryRows, throwBackendError } from "./backend.ts";
import { toBackendSql } from "./backend_sql.ts";
import { ExtendedProtocol } from "./extended_protocol.ts";
import type { ServerContext } from "./server_context.ts";
import { toSqlError } from "./sql_error.ts";
import { checkCopy, checkLiterals } from "./statement_checks.ts";
import { readConstantArgument, SqlSyntaxError, type Statement } from "./syntax/statements.ts";
import type { Answer } from "./statement_answer.ts";
import { type Execution, TransactionRunner } from "./transaction_runner.ts";
import { cString, frame, PayloadReader, readyForQuery, type WireMessage } from "./wire.ts";
import { queryMessage } from "./wire_extended.ts";
import { quoteName } from "../../sql/quote.ts";

/** Message channel of a session. */
export interface SessionChannel {
  /** Returns the next message of the client; undefined when it has disconnected. */
  next(): Promise<WireMessage | undefined>;
  write(bytes: Uint8Array): void;
}

/** Session that handles the simple and the extended query protocol after sign-in. */
export class Session implements BackendOwner {
  readonly runner: TransactionRunner;
  readonly #server: ServerContext;
  readonly #backend: BackendSession;
  readonly #channel: SessionChannel;
  readonly #setup: string;
  readonly #extended: ExtendedProtocol;
  /** Settings of the client, to restore them in a shared database. */
  readonly #settings: string[] = [];
  #isSkipping = false;
  #batchFailed = false;
  /** Time when the session began to wait for its client; undefined while it answers. */
  #idleSince: number | undefined = 0;
  #surrendering: Promise<void> | undefined;

  constructor(
    server: ServerContext,
    backend: BackendSession,
    channel: SessionChannel,
    user: string,
  ) {
    this.#server = server;
    this.#channel = channel;
    this.#backend = backend;
    this.runner = new TransactionRunner(server, this.#backend, user);
    this.#extended = new ExtendedProtocol({
      server,
      backend,
      runner: this.runner,
      channel,
      onExecuted: (statement) => this.#noteSetting(statement),
    });
    this.#setup = `SET SESSION AUTHORIZATION ${quoteName(user)}; ` +
      "SET default_transaction_isolation = 'repeatable read'; " +
      "SET TimeZone = 'UTC'; " +
      // since PostgreSQL 16 the creator of a role needs this to act as it
      "SELECT set_config(name, 'set, inherit', false) FROM " +
      "pg_settings WHERE name = 'createrole_self_grant'";
  }

  /** Gives the database session the client's role. */
  async start(): Promise<void> {
    if (this.#server.isConcurrent) await queryRows(this.#backend, this.#setup);
  }

  /** Answers messages until the client disconnects. */
  async serve(): Promise<void> {
    for (;;) {
      this.#idleSince = this.#server.now();
      const message = await this.#channel.next();
      await this.#surrendering;
      this.#idleSince = undefined;
      if (message === undefined || message.type === "X") return;
      await this.#handle(message);
    }
  }

  /** Cleans up in the database. */
  async end(): Promise<void> {
    await this.runner.fail().catch(() => {});
    await this.#backend.close();
  }

  /** True while the session waits for its client, outside of a transaction. */
  get isIdle(): boolean {
    return this.#idleSince !== undefined && this.runner.status === "I";
  }

  /** True while the session answers a message. */
  get isBusy(): boolean {
    return this.#idleSince === undefined;
  }

  /** Process id for `pg_blocking_pids`. */
  get processId(): number {
    return this.#backend.processId;
  }

  /** Cancels the running statement. */
  cancel(): Promise<void> {
    return this.#backend.cancel();
  }

  idleInTransactionMs(): number {
    return this.#idleSince === undefined || !this.runner.isOpen
      ? 0
      : Math.max(1, this.#server.now() - this.#idleSince);
  }

  surrender(marker: "OC000" | "OC001" = "OC000"): Promise<void> {
    this.#surrendering ??= this.runner.surrender(marker).finally(() => {
      this.#surrendering = undefined;
    });
    return this.#surrendering;
  }

  restoreMessages(): Uint8Array[] {
    return [
      queryMessage([this.#setup, ...this.#settings].join("; ")),
      ...this.#extended.restoreMessages(),
      frame("S"),
    ];
  }

  async #handle(message: WireMessage): Promise<void> {
    if (message.type === "Q") {
      return await this.#simpleQuery(new PayloadReader(message.payload).string());
    }
    if (message.type === "S") return await this.#sync();
    // remaining data of an ended COPY is ignored, as in PostgreSQL
    if ("dcf".includes(message.type)) return;
    if (this.#isSkipping) return;
    try {
      await this.#extended.handle(message);
    } catch (error) {
      const answer = toSqlError(error);
      if (message.type === "P" || message.type === "D" || message.type === "B") {
        await this.runner.fail();
      }
      this.#channel.write(answer.bytes);
      this.#isSkipping = true;
      this.#batchFailed = true;
    }
  }

  async #simpleQuery(sql: string): Promise<void> {
    let isGood = true;
    try {
      const statements = this.#server.parse(sql);
      if (statements.length === 0) this.#channel.write(frame("I"));
      for (const statement of statements) {
        const answer = await this.runner.run(
          statement,
          this.#simpleExecution(statement, statements.length > 1),
        );
        if (answer.description) this.#channel.write(answer.description);
        this.#write(answer);
        this.#noteSetting(statement);
      }
    } catch (error) {
      isGood = false;
      const answer = toSqlError(error);
      if (error instanceof SqlSyntaxError) await this.runner.fail();
      this.#channel.write(answer.bytes);
    }
    await this.#endBatch(isGood);
  }

  #simpleExecution(statement: Statement, isBatch: boolean): Execution {
    const { length } = statement.sql;
    return {
      bytes: length,
      isBatch,
      run: async () => {
        checkLiterals(statement);
        checkCopy(statement, this.#server);
        return throwBackendError(
          await this.#copyIn(
            await this.#backend.exchange(queryMessage(toBackendSql(statement))),
          ),
        );
      },
      firstArgument: () => readConstantArgument(statement),
    };
  }

  /** Passes the client's data to the database after a CopyInResponse. */
  async #copyIn(messages: WireMessage[]): Promise<WireMessage[]> {
    const last = messages.at(-1);
    if (last?.type !== "G") return messages;
    this.#channel.write(frame("G", last.payload));
    for (;;) {
      const data = await this.#channel.next();
      const bytes = data === undefined
        ? frame("f", cString("the client has disconnected"))
        : frame(data.type, data.payload);
      if (data && !"dcfHS".includes(data.type)) continue;
      const answer = data?.type === "H" || data?.type === "S"
        ? []
        : await this.#backend.exchange(bytes);
      if (answer.length > 0) return answer;
    }
  }

  async #sync(): Promise<void> {
    await this.#extended.endImplicit();
    const isGood = !this.#batchFailed;
    this.#isSkipping = false;
    this.#batchFailed = false;
    await this.#endBatch(isGood);
    if (this.runner.status === "I") this.#extended.clearPortals();
  }

  async #endBatch(isGood: boolean): Promise<void> {
    try {
      await this.runner.endBatch(isGood);
    } catch (error) {
      this.#channel.write(toSqlError(error).bytes);
    }
    this.#channel.write(readyForQuery(this.runner.status));
  }

  #write(answer: Answer): void {
    for (const bytes of answer.messages) this.#channel.write(bytes);
  }

  #noteSetting(statement: Statement): void {
    if (statement.type === "VariableSetStmt" && !statement.node.is_local) {
      this.#settings.push(statement.sql);
    }
  }
}
