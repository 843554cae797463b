import { type BackendOwner, type BackendSession, queryRows } from "./backend.ts";
import { toBackendSql } from "./backend_sql.ts";
import type { ServerContext } from "./server_context.ts";
import { SqlError } from "./sql_error.ts";
import { SqlSyntaxError, type Statement } from "./statements.ts";
import { child, children, findNodes, getText, type SyntaxNode } from "./syntax_tree.ts";
import { type Answer, type Execution, TransactionRunner } from "./transaction_runner.ts";
import {
  concatBytes,
  cString,
  frame,
  int32,
  PayloadReader,
  readyForQuery,
  textRowDescription,
  type WireMessage,
} from "./wire.ts";
import * as extended from "./wire_extended.ts";
import { quoteName } from "../../database/sql/quote.ts";

/** Prepared statement of a client. */
interface Prepared {
  /** Undefined for an empty text. */
  readonly statement: Statement | undefined;
  readonly sql: string;
  readonly types: Uint8Array;
  /** True if the server answers it without the database. */
  readonly isLocal: boolean;
}

interface Portal {
  readonly prepared: Prepared;
  readonly bind: extended.BindMessage;
  /** True while the database holds it partly read. */
  isSuspended: boolean;
}

/** Message channel of a session. */
export interface SessionChannel {
  /** Returns the next message of the client; undefined when it has disconnected. */
  next(): Promise<WireMessage | undefined>;
  write(bytes: Uint8Array): void;
}

/** Types with values over 1 MiB, which cannot be stored (LIM 2026-10), by OID. */
const LONG_TYPES = new Map([[25, "text"], [1043, "character varying"], [3802, "jsonb"], [
  114,
  "json",
], [17, "bytea"]]);
const MAX_VALUE_BYTES = 1_048_576;

function longValueError(type: string): SqlError {
  return new SqlError({
    sqlstate: "0A000",
    message: `datatype limit greater than ${MAX_VALUE_BYTES} bytes not supported for ${type}`,
  });
}

function isLocal(statement: Statement): boolean {
  return statement.isAsync || statement.iam !== undefined ||
    ["begin", "commit", "rollback"].includes(statement.kind);
}

function jobColumns(prepared: Prepared): readonly string[] {
  return prepared.statement?.isAsync ? ["job_id"] : [];
}

function toSqlError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (error instanceof SqlSyntaxError) {
    return new SqlError({
      sqlstate: error.sqlstate,
      message: error.message,
      position: error.position,
    });
  }
  throw error;
}

/** Session that handles the simple and the extended query protocol after sign-in. */
export class Session implements BackendOwner {
  readonly runner: TransactionRunner;
  readonly #server: ServerContext;
  readonly #backend: BackendSession;
  readonly #channel: SessionChannel;
  readonly #setup: string;
  readonly #prepared = new Map<string, Prepared>();
  readonly #portals = new Map<string, Portal>();
  /** Settings of the client, to restore them in a shared database. */
  readonly #settings: string[] = [];
  #isSkipping = false;
  #needsSync = false;
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
    this.#setup =
      `SET SESSION AUTHORIZATION ${
        quoteName(user)
      }; SET default_transaction_isolation = 'repeatable read'; ` +
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
    const parsed = [...this.#prepared].filter(([name, { isLocal, statement }]) =>
      name !== "" && !isLocal && statement
    );
    return [
      extended.queryMessage([this.#setup, ...this.#settings].join("; ")),
      ...parsed.map(([name, { sql, types }]) => extended.parseMessage(name, sql, types)),
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
      await this.#extended(message);
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
        this.#checkLiterals(statement);
        this.#checkCopy(statement);
        return this.#checked(
          await this.#copyIn(
            await this.#backend.exchange(extended.queryMessage(toBackendSql(statement))),
          ),
        );
      },
      firstArgument: () => constantArgument(statement),
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

  async #extended({ type, payload }: WireMessage): Promise<void> {
    switch (type) {
      case "P":
        return await this.#parse(extended.readParse(payload));
      case "B":
        return this.#bind(extended.readBind(payload));
      case "D":
        return await this.#describe(new PayloadReader(payload));
      case "E":
        return await this.#execute(new PayloadReader(payload));
      case "C":
        return await this.#close(new PayloadReader(payload));
      case "H":
        return;
      default:
        throw new SqlError({
          sqlstate: "08P01",
          message: `invalid frontend message type ${type.charCodeAt(0)}`,
        });
    }
  }

  async #parse({ name, sql, types }: extended.ParseMessage): Promise<void> {
    const statements = this.#server.parse(sql);
    if (statements.length > 1) {
      throw new SqlError({
        sqlstate: "42601",
        message: "cannot insert multiple commands into a prepared statement",
      });
    }
    if (name !== "" && this.#prepared.has(name)) {
      throw new SqlError({
        sqlstate: "42P05",
        message: `prepared statement "${name}" already exists`,
      });
    }
    const [statement] = statements;
    if (statement) this.runner.checkPreparable(statement);
    const refused = statement && this.#server.refuse(statement);
    // a rejection is reported at Execute, after faults and an aborted transaction; the database
    // does not get the statement
    const local = statement === undefined || refused !== undefined || isLocal(statement);
    const prepared = {
      statement,
      sql: statement ? toBackendSql(statement) : "",
      types,
      isLocal: local,
    };
    if (refused) throw await this.#refusal(statement);
    if (!local) {
      await this.#backend.enter();
      await this.#exchange(extended.parseMessage(name, prepared.sql, types));
    }
    this.#prepared.set(name, prepared);
    this.#channel.write(frame("1"));
  }

  /** Runs a rejected statement to get the answer for the transaction's state. */
  async #refusal(statement: Statement): Promise<SqlError> {
    try {
      await this.runner.run(statement, {
        run: () => Promise.resolve([]),
        bytes: 0,
        isBatch: false,
        firstArgument: () => undefined,
      });
    } catch (error) {
      return toSqlError(error);
    }
    return new SqlError({ sqlstate: "0A000", message: "not supported" });
  }

  #bind(bind: extended.BindMessage): void {
    const prepared = this.#prepared.get(bind.statement);
    if (!prepared) {
      throw new SqlError({
        sqlstate: "26000",
        message: `prepared statement "${bind.statement}" does not exist`,
      });
    }
    this.#portals.set(bind.portal, { prepared, bind, isSuspended: false });
    this.#channel.write(frame("2"));
  }

  async #describe(reader: PayloadReader): Promise<void> {
    const isPortal = reader.char() === "P";
    const name = reader.string();
    const portal = isPortal ? this.#portal(name) : undefined;
    const prepared = portal?.prepared ?? this.#prepared.get(name);
    if (!prepared) {
      throw new SqlError({
        sqlstate: "26000",
        message: `prepared statement "${name}" does not exist`,
      });
    }
    for (
      const { type, payload } of await this.#description(prepared, portal?.bind.statement ?? name)
    ) {
      if (type === "t" && isPortal) continue;
      this.#channel.write(
        frame(
          type,
          portal && type === "T"
            ? extended.withResultFormats(payload, portal.bind.resultFormats)
            : payload,
        ),
      );
    }
  }

  async #description(prepared: Prepared, name: string): Promise<WireMessage[]> {
    if (!prepared.isLocal) {
      await this.#backend.enter();
      if (name === "") {
        await this.#exchange(extended.parseMessage("", prepared.sql, prepared.types));
      }
      return await this.#exchange(extended.describeStatement(name));
    }
    const columns = jobColumns(prepared);
    const none = { type: "t", payload: extended.noParameters().subarray(5) };
    return [
      none,
      columns.length > 0
        ? { type: "T", payload: textRowDescription(columns).subarray(5) }
        : { type: "n", payload: new Uint8Array(0) },
    ];
  }

  async #execute(reader: PayloadReader): Promise<void> {
    const name = reader.string();
    const portal = this.#portal(name);
    const execute = frame("E", cString(name), int32(reader.int32()));
    if (portal.isSuspended) return this.#finishExecute(portal, await this.#exchange(execute));
    const { statement } = portal.prepared;
    if (!statement) return this.#channel.write(frame("I"));
    if (statement.kind === "wait") await this.#endImplicit();
    let messages: WireMessage[] = [];
    const answer = await this.runner.run(statement, {
      bytes: portal.bind.rest.length,
      isBatch: false,
      run: async () => messages = await this.#runPortal(portal, execute),
      firstArgument: () => boundArgument(statement, portal.bind) ?? constantArgument(statement),
    });
    if (statement.type === "DeallocateStmt") this.#prepared.clear();
    portal.isSuspended = messages.some((message) => message.type === "s");
    this.#write(answer);
    this.#noteSetting(statement);
  }

  #finishExecute(portal: Portal, messages: readonly WireMessage[]): void {
    portal.isSuspended = messages.some((message) => message.type === "s");
    for (const { type, payload } of messages) this.#channel.write(frame(type, payload));
  }

  /** Binds each time: the server's own statements may have closed the unnamed statement. */
  async #runPortal({ prepared, bind }: Portal, execute: Uint8Array): Promise<WireMessage[]> {
    const { sql, types } = prepared;
    if (prepared.statement) this.#checkCopy(prepared.statement);
    const isUnnamed = bind.statement === "" || this.runner.hasShadows;
    const name = isUnnamed ? "" : bind.statement;
    if (isUnnamed) await this.#exchange(extended.parseMessage("", sql, types));
    await this.#checkValues(prepared, bind, name);
    await this.#exchange(extended.bindMessage({ ...bind, statement: name }));
    const messages = await this.#exchange(execute);
    if (messages.at(-1)?.type !== "G") return messages;
    await this.#backend.exchange(concatBytes([frame("f", cString("")), frame("S")]));
    throw new SqlError({
      sqlstate: "0A000",
      message: "COPY FROM STDIN needs the simple query protocol",
    });
  }

  async #checkValues(
    { statement }: Prepared,
    bind: extended.BindMessage,
    name: string,
  ): Promise<void> {
    if (
      statement?.kind !== "write" ||
      !bind.values.some((value) => value && value.length > MAX_VALUE_BYTES)
    ) return;
    const [described] = await this.#exchange(extended.describeStatement(name));
    const types = extended.readParameterTypes(described.payload);
    bind.values.forEach((value, index) => {
      const type = LONG_TYPES.get(types[index]);
      if (value && value.length > MAX_VALUE_BYTES && type) throw longValueError(type);
    });
  }

  #checkLiterals(statement: Statement): void {
    if (statement.kind !== "write" || statement.sql.length <= MAX_VALUE_BYTES) return;
    const isLong = findNodes(statement.node, "A_Const").some((constant) =>
      new TextEncoder().encode(getText(child(constant, "sval"), "sval")).length > MAX_VALUE_BYTES
    );
    if (isLong) throw longValueError("text");
  }

  #checkCopy(statement: Statement): void {
    if (statement.type === "CopyStmt" && statement.node.is_from && !this.#server.isConcurrent) {
      throw new SqlError({
        sqlstate: "0A000",
        message: "COPY FROM STDIN needs a real PostgreSQL behind the stand-in",
      });
    }
  }

  async #close(reader: PayloadReader): Promise<void> {
    const kind = reader.char();
    const name = reader.string();
    if (kind === "S") {
      const prepared = this.#prepared.get(name);
      this.#prepared.delete(name);
      if (prepared && !prepared.isLocal) {
        await this.#backend.enter();
        await this.#exchange(frame("C", new TextEncoder().encode("S"), cString(name)));
      }
    } else {
      const portal = this.#portals.get(name);
      this.#portals.delete(name);
      if (portal?.isSuspended) {
        await this.#exchange(frame("C", new TextEncoder().encode("P"), cString(name)));
      }
    }
    this.#channel.write(frame("3"));
  }

  #portal(name: string): Portal {
    const portal = this.#portals.get(name);
    if (!portal) {
      throw new SqlError({ sqlstate: "34000", message: `portal "${name}" does not exist` });
    }
    return portal;
  }

  /**
   * Exchanges one message of the extended protocol; after an error the database skips everything
   * until Sync.
   */
  async #exchange(bytes: Uint8Array): Promise<WireMessage[]> {
    this.#needsSync = true;
    const messages = await this.#backend.exchange(bytes);
    if (messages.some((message) => message.type === "E")) {
      await this.#backend.exchange(frame("S"));
      this.#needsSync = false;
    }
    return this.#checked(messages);
  }

  #checked(messages: WireMessage[]): WireMessage[] {
    const failed = messages.find((message) => message.type === "E");
    if (failed) throw SqlError.fromBackend(failed);
    return messages;
  }

  async #sync(): Promise<void> {
    await this.#endImplicit();
    const isGood = !this.#batchFailed;
    this.#isSkipping = false;
    this.#batchFailed = false;
    await this.#endBatch(isGood);
    if (this.runner.status === "I") this.#portals.clear();
  }

  /**
   * Ends the transaction that the database began with Parse, because it keeps the snapshot of that
   * moment.
   */
  async #endImplicit(): Promise<void> {
    if (!this.#needsSync) return;
    await this.#backend.enter();
    await this.#backend.exchange(frame("S"));
    this.#needsSync = false;
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

/** Returns the first argument of a CALL; a subquery is left to the database, which rejects it. */
function callArgument(statement: Statement): SyntaxNode {
  const argument = children(child(statement.node, "funccall"), "args")[0] ?? {};
  return argument.SubLink ? {} : argument;
}

function constantArgument(statement: Statement): string | undefined {
  const constant = findNodes(callArgument(statement), "A_Const")[0];
  return constant && getText(child(constant, "sval"), "sval");
}

function boundArgument(statement: Statement, bind: extended.BindMessage): string | undefined {
  const parameter = findNodes(callArgument(statement), "ParamRef")[0];
  const value = parameter && bind.values[Number(parameter.number) - 1];
  return value ? new TextDecoder().decode(value) : undefined;
}
