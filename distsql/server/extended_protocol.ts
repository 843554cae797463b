import { type BackendSession, throwBackendError } from "./backend.ts";
import { toBackendSql } from "./backend_sql.ts";
import type { ServerContext } from "./server_context.ts";
import { SqlError, toSqlError } from "./sql_error.ts";
import { checkCopy, checkValues, hasLongValue } from "./statement_checks.ts";
import { callArgument, readConstantArgument, type Statement } from "./syntax/statements.ts";
import { findNodes } from "./syntax/syntax_tree.ts";
import type { TransactionRunner } from "./transaction_runner.ts";
import {
  concatBytes,
  cString,
  frame,
  int32,
  PayloadReader,
  textRowDescription,
  type WireMessage,
} from "./wire.ts";
import * as extended from "./wire_extended.ts";

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

function isLocal(statement: Statement): boolean {
  return statement.isAsync || statement.iam !== undefined ||
    ["begin", "commit", "rollback"].includes(statement.kind);
}

/** Describes a statement that the server answers itself. */
function describeLocal({ statement }: Prepared): WireMessage[] {
  const parameters = { type: "t", payload: extended.noParameters().subarray(5) };
  const columns = statement?.isAsync
    ? { type: "T", payload: textRowDescription(["job_id"]).subarray(5) }
    : { type: "n", payload: new Uint8Array(0) };
  return [parameters, columns];
}

/** Returns the first argument of a CALL if it is a parameter with a value. */
function readBoundArgument(statement: Statement, bind: extended.BindMessage): string | undefined {
  const parameter = findNodes(callArgument(statement), "ParamRef")[0];
  const value = parameter && bind.values[Number(parameter.number) - 1];
  return value ? new TextDecoder().decode(value) : undefined;
}

/** Parts of a session that the protocol uses. */
export interface ProtocolParts {
  readonly server: ServerContext;
  readonly backend: BackendSession;
  readonly runner: TransactionRunner;
  /** Sends bytes to the client. */
  readonly channel: { write(bytes: Uint8Array): void };
  /** Called after each executed statement. */
  readonly onExecuted: (statement: Statement) => void;
}

/** Extended query protocol of a session: prepared statements and portals. */
export class ExtendedProtocol {
  readonly #parts: ProtocolParts;
  readonly #prepared = new Map<string, Prepared>();
  readonly #portals = new Map<string, Portal>();
  #needsSync = false;

  constructor(parts: ProtocolParts) {
    this.#parts = parts;
  }

  /** Returns the messages that prepare the named statements in another database session. */
  restoreMessages(): Uint8Array[] {
    return [...this.#prepared].filter(([name, { isLocal, statement }]) =>
      name !== "" && !isLocal && statement
    ).map(([name, { sql, types }]) => extended.parseMessage(name, sql, types));
  }

  /** Removes the portals after the end of their transaction. */
  clearPortals(): void {
    this.#portals.clear();
  }

  /**
   * Answers one message.
   *
   * @throws {SqlError} The error to send to the client.
   */
  async handle({ type, payload }: WireMessage): Promise<void> {
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
        throw new SqlError("08P01", `invalid frontend message type ${type.charCodeAt(0)}`);
    }
  }

  async #parse({ name, sql, types }: extended.ParseMessage): Promise<void> {
    const statements = this.#parts.server.parse(sql);
    if (statements.length > 1) {
      throw new SqlError("42601", "cannot insert multiple commands into a prepared statement");
    }
    if (name !== "" && this.#prepared.has(name)) {
      throw new SqlError("42P05", `prepared statement "${name}" already exists`);
    }
    const [statement] = statements;
    if (statement) this.#parts.runner.checkPreparable(statement);
    const refused = statement && this.#parts.server.refuse(statement);
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
      await this.#parts.backend.enter();
      await this.#exchange(extended.parseMessage(name, prepared.sql, types));
    }
    this.#prepared.set(name, prepared);
    this.#parts.channel.write(frame("1"));
  }

  /** Runs a rejected statement to get the answer for the transaction's state. */
  async #refusal(statement: Statement): Promise<SqlError> {
    try {
      await this.#parts.runner.run(statement, {
        run: () => Promise.resolve([]),
        bytes: 0,
        isBatch: false,
        firstArgument: () => undefined,
      });
    } catch (error) {
      return toSqlError(error);
    }
    return new SqlError("0A000", "not supported");
  }

  #bind(bind: extended.BindMessage): void {
    const prepared = this.#statement(bind.statement);
    this.#portals.set(bind.portal, { prepared, bind, isSuspended: false });
    this.#parts.channel.write(frame("2"));
  }

  async #describe(reader: PayloadReader): Promise<void> {
    const isPortal = reader.char() === "P";
    const name = reader.string();
    const portal = isPortal ? this.#portal(name) : undefined;
    const prepared = portal?.prepared ?? this.#statement(name);
    for (
      const { type, payload } of await this.#description(prepared, portal?.bind.statement ?? name)
    ) {
      if (type === "t" && isPortal) continue;
      this.#parts.channel.write(
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
      await this.#parts.backend.enter();
      if (name === "") {
        await this.#exchange(extended.parseMessage("", prepared.sql, prepared.types));
      }
      return await this.#exchange(extended.describeStatement(name));
    }
    return describeLocal(prepared);
  }

  async #execute(reader: PayloadReader): Promise<void> {
    const name = reader.string();
    const portal = this.#portal(name);
    const execute = frame("E", cString(name), int32(reader.int32()));
    if (portal.isSuspended) return this.#finishExecute(portal, await this.#exchange(execute));
    const { statement } = portal.prepared;
    if (!statement) return this.#parts.channel.write(frame("I"));
    if (statement.kind === "wait") await this.endImplicit();
    let messages: WireMessage[] = [];
    const answer = await this.#parts.runner.run(statement, {
      bytes: portal.bind.rest.length,
      isBatch: false,
      run: async () => messages = await this.#runPortal(portal, execute),
      firstArgument: () =>
        readBoundArgument(statement, portal.bind) ?? readConstantArgument(statement),
    });
    if (statement.type === "DeallocateStmt") this.#prepared.clear();
    portal.isSuspended = messages.some((message) => message.type === "s");
    for (const bytes of answer.messages) this.#parts.channel.write(bytes);
    this.#parts.onExecuted(statement);
  }

  #finishExecute(portal: Portal, messages: readonly WireMessage[]): void {
    portal.isSuspended = messages.some((message) => message.type === "s");
    for (const { type, payload } of messages) this.#parts.channel.write(frame(type, payload));
  }

  /** Binds each time: the server's own statements may have closed the unnamed statement. */
  async #runPortal({ prepared, bind }: Portal, execute: Uint8Array): Promise<WireMessage[]> {
    const { sql, types } = prepared;
    if (prepared.statement) checkCopy(prepared.statement, this.#parts.server);
    const isUnnamed = bind.statement === "" || this.#parts.runner.hasShadows;
    const name = isUnnamed ? "" : bind.statement;
    if (isUnnamed) await this.#exchange(extended.parseMessage("", sql, types));
    await this.#checkValues(prepared, bind, name);
    await this.#exchange(extended.bindMessage({ ...bind, statement: name }));
    const messages = await this.#exchange(execute);
    if (messages.at(-1)?.type !== "G") return messages;
    await this.#parts.backend.exchange(concatBytes([frame("f", cString("")), frame("S")]));
    throw new SqlError("0A000", "COPY FROM STDIN needs the simple query protocol");
  }

  async #checkValues(
    { statement }: Prepared,
    bind: extended.BindMessage,
    name: string,
  ): Promise<void> {
    if (statement?.kind !== "write" || !hasLongValue(bind.values)) return;
    const [described] = await this.#exchange(extended.describeStatement(name));
    checkValues(bind.values, extended.readParameterTypes(described.payload));
  }

  async #close(reader: PayloadReader): Promise<void> {
    const kind = reader.char();
    const name = reader.string();
    if (kind === "S") {
      const prepared = this.#prepared.get(name);
      this.#prepared.delete(name);
      if (prepared && !prepared.isLocal) {
        await this.#parts.backend.enter();
        await this.#exchange(frame("C", new TextEncoder().encode("S"), cString(name)));
      }
    } else {
      const portal = this.#portals.get(name);
      this.#portals.delete(name);
      if (portal?.isSuspended) {
        await this.#exchange(frame("C", new TextEncoder().encode("P"), cString(name)));
      }
    }
    this.#parts.channel.write(frame("3"));
  }

  #statement(name: string): Prepared {
    const prepared = this.#prepared.get(name);
    if (!prepared) throw new SqlError("26000", `prepared statement "${name}" does not exist`);
    return prepared;
  }

  #portal(name: string): Portal {
    const portal = this.#portals.get(name);
    if (!portal) throw new SqlError("34000", `portal "${name}" does not exist`);
    return portal;
  }

  /**
   * Exchanges one message of the extended protocol; after an error the database skips everything
   * until Sync.
   */
  async #exchange(bytes: Uint8Array): Promise<WireMessage[]> {
    this.#needsSync = true;
    const messages = await this.#parts.backend.exchange(bytes);
    if (messages.some((message) => message.type === "E")) {
      await this.#parts.backend.exchange(frame("S"));
      this.#needsSync = false;
    }
    return throwBackendError(messages);
  }

  /**
   * Ends the transaction that the database began with Parse, because it keeps the snapshot of that
   * moment.
   */
  async endImplicit(): Promise<void> {
    if (!this.#needsSync) return;
    await this.#parts.backend.enter();
    await this.#parts.backend.exchange(frame("S"));
    this.#needsSync = false;
  }
}
