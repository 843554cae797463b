import { type DdlConnection, runDdlStatement } from "./ddl.ts";
import { type BackendSession, queryRows, throwBackendError } from "./backend.ts";
import { type ConflictContext, runWithConflicts } from "./conflicts.ts";

import type { DistSqlFault } from "./faults.ts";
import { isJobId, type Query } from "./jobs.ts";
import type { ServerContext } from "./server_context.ts";
import {
  abortedTransactionError,
  conflictError,
  type ConflictMarker,
  ConnectionCut,
  SqlError,
} from "./sql_error.ts";
import { affectedRows, type Answer, hidesRows, relay, tagged } from "./statement_answer.ts";
import type { Statement } from "./syntax/statements.ts";
import { countChangedRows, measureTransaction, measureWal } from "./transaction_size.ts";
import type { WireMessage } from "./wire.ts";
import { queryMessage } from "./wire_extended.ts";
import { quoteName } from "../../sql/quote.ts";

/** Execution of a statement on the database: with the simple or the extended protocol. */
export interface Execution {
  /** Runs the statement; can be called twice. Throws {@link SqlError}. */
  run(): Promise<WireMessage[]>;
  /** Size of the statement and its values on the wire. */
  readonly bytes: number;
  /** True if other statements belong to the same implicit transaction. */
  readonly isBatch: boolean;
  /** Returns the first argument of a CALL, if it has a value. */
  firstArgument(): string | undefined;
}

/**
 * Milliseconds that a statement of a transaction waits for a row before it counts as a conflict.
 */
const CONFLICT_WAIT_MS = 25;

/** Faults that apply at COMMIT. */
const COMMIT_FAULTS: readonly DistSqlFault[] = [
  "OC000",
  "cut-before-commit",
  "cut-after-commit",
  "unavailable-before-commit",
  "unavailable-after-commit",
];

/** Creates the error for a transaction that exceeds a limit. */
function limitError(message: string): SqlError {
  return new SqlError("54000", message);
}

/** Creates the error for DDL and DML in one transaction. */
function mixedError(): SqlError {
  return new SqlError("0A000", "ddl and dml are not supported in the same transaction");
}

/** Creates the error for a second DDL statement in a transaction. */
function repeatedDdlError(): SqlError {
  return new SqlError("0A000", "multiple ddl statements not supported in a transaction");
}

/** Creates the error of an injected fault. */
function faultError(fault: DistSqlFault | undefined): Error {
  if (fault?.startsWith("cut")) return new ConnectionCut();
  return new SqlError("XX000", "server unavailable");
}

/** Effects of the statements of the open transaction. */
interface TransactionWork {
  hasDdl: boolean;
  hasWritten: boolean;
  /** Number of changed rows. */
  rows: number;
  /** Size of the statements and their values on the wire. */
  bytes: number;
  /** The statements. */
  readonly texts: string[];
  /** Background jobs to start at COMMIT. */
  readonly jobs: string[];
  /** Names that refer to copies. */
  readonly shadowed: Set<string>;
  /** Conflict that COMMIT will report; the transaction continues until then. */
  conflict: ConflictMarker | undefined;
}

/** Creates the record of a new transaction. */
function newWork(): TransactionWork {
  return {
    hasDdl: false,
    hasWritten: false,
    rows: 0,
    bytes: 0,
    texts: [],
    jobs: [],
    shadowed: new Set(),
    conflict: undefined,
  };
}

/** Runner of a session's statements with the provider's transaction semantics. */
export class TransactionRunner {
  readonly #server: ServerContext;
  readonly #backend: BackendSession;
  readonly #user: string;
  readonly #query: Query;
  #state: "idle" | "implicit" | "explicit" | "failed" = "idle";
  #startedAt = 0;
  #walStart = "";
  #work: TransactionWork = newWork();
  /** Conflict because of which the transaction was already rolled back. */
  #lost: ConflictMarker | undefined;
  #catalogVersion: number;
  readonly #ddl: DdlConnection;

  constructor(server: ServerContext, backend: BackendSession, user: string) {
    this.#server = server;
    this.#backend = backend;
    this.#user = user;
    this.#catalogVersion = server.catalogVersion;
    this.#query = (sql) => queryRows(backend, sql);
    this.#ddl = {
      query: this.#query,
      asSuperuser: (work) => this.#asSuperuser(work),
    };
  }

  /** Transaction status for ReadyForQuery. */
  get status(): "I" | "T" | "E" {
    if (this.#state === "failed") return "E";
    return this.#state === "explicit" ? "T" : "I";
  }

  /** True while names refer to copies, so that a prepared statement must be parsed again. */
  get hasShadows(): boolean {
    return this.#work.shadowed.size > 0;
  }

  /** True while an explicit transaction holds the database. */
  get isOpen(): boolean {
    return this.#state === "explicit" && this.#lost === undefined;
  }

  /** Throws the error for a statement that is only prepared. */
  checkPreparable(statement: Statement): void {
    if (this.#state === "failed" && !["commit", "rollback"].includes(statement.kind)) {
      throw abortedTransactionError();
    }
  }

  /** Runs one statement; an error leaves the transaction in the provider's state. */
  async run(statement: Statement, execution: Execution): Promise<Answer> {
    this.#server.statistics.statements++;
    if (this.#state === "failed" || this.#lost !== undefined) return this.#runEnded(statement);
    try {
      return await this.#runOpen(statement, execution);
    } catch (error) {
      if (error instanceof SqlError) this.#server.countError(error);
      await this.fail();
      throw error;
    }
  }

  /** Ends a batch: commits its implicit transaction, or rolls it back after an error. */
  async endBatch(isGood: boolean): Promise<void> {
    try {
      if (this.#state === "implicit") {
        if (isGood) await this.#commit();
        else await this.#rollback();
      }
    } catch (error) {
      if (error instanceof SqlError) this.#server.countError(error);
      throw error;
    } finally {
      if (this.#state === "idle") this.#backend.leave();
    }
  }

  /**
   * Rolls back the open transaction after an error: an explicit one stays failed until the client
   * ends it.
   */
  async fail(): Promise<void> {
    const wasExplicit = this.#state === "explicit";
    if (this.#state === "implicit" || wasExplicit) await this.#rollback();
    if (wasExplicit) this.#state = "failed";
    this.#backend.leave();
  }

  /** Rolls back the open transaction because another session needs its locks. */
  async surrender(marker: ConflictMarker): Promise<void> {
    if (!this.isOpen) return;
    await this.#rollback();
    this.#state = "explicit";
    this.#lost = marker;
    this.#backend.leave();
  }

  #runEnded(statement: Statement): Answer {
    if (
      statement.kind === "rollback" || (statement.kind === "commit" && this.#state === "failed")
    ) {
      this.#reset();
      return tagged("ROLLBACK");
    }
    if (this.#state === "failed") throw abortedTransactionError();
    const error = conflictError(this.#lost ?? "OC000");
    this.#reset();
    if (statement.kind !== "commit") this.#state = "failed";
    this.#server.countError(error);
    throw error;
  }

  async #runOpen(statement: Statement, execution: Execution): Promise<Answer> {
    this.#work.texts.push(statement.sql);
    this.#strike(statement);
    if (
      this.#state === "explicit" &&
      this.#server.now() - this.#startedAt > this.#server.limits.transactionAgeMs
    ) {
      const seconds = Math.round(this.#server.limits.transactionAgeMs / 1000);
      throw limitError(`transaction age limit of ${seconds}s exceeded`);
    }
    const refused = this.#server.refuse(statement);
    if (refused) throw new SqlError(refused.sqlstate, refused.message);
    switch (statement.kind) {
      case "begin":
        if (this.#state === "idle") await this.#begin(statement.sql, true);
        this.#state = "explicit";
        return tagged(statement.node.kind === "TRANS_STMT_START" ? "START TRANSACTION" : "BEGIN");
      case "commit":
        await this.#commit();
        return tagged("COMMIT");
      case "rollback":
        await this.#rollback();
        return tagged("ROLLBACK");
      case "ddl":
        return await this.#runDdl(statement, execution);
      case "write":
      case "lock":
        return await this.#runWrite(statement, execution);
      case "wait":
        return await this.#runWait(execution);
      default:
        await this.#enter(execution.isBatch);
        return relay(await execution.run());
    }
  }

  /** Injects faults for this statement, and reports schema changes since the last one. */
  #strike(statement: Statement): void {
    const isStale = this.#server.reportsCatalogChanges &&
      this.#catalogVersion < this.#server.catalogVersion;
    this.#catalogVersion = this.#server.catalogVersion;
    const fault = this.#server.faults.take(["OC001", "cut-at-statement"], {
      user: this.#user,
      texts: [statement.sql],
    });
    if (fault === "cut-at-statement") throw new ConnectionCut();
    const ends = statement.kind === "commit" || statement.kind === "rollback";
    if (fault === "OC001" || (isStale && !ends)) throw conflictError("OC001");
  }

  async #enter(needsTransaction: boolean): Promise<void> {
    if (this.#state === "idle" && needsTransaction) {
      await this.#begin("BEGIN", false);
      this.#state = "implicit";
    }
    await this.#backend.enter();
  }

  async #begin(sql: string, isExplicit: boolean): Promise<void> {
    await this.#backend.enter();
    const timeout = isExplicit && this.#server.isConcurrent
      ? `SET LOCAL lock_timeout = ${CONFLICT_WAIT_MS}; `
      : "";
    const [[walStart]] = await this.#query(
      `${sql}; ${timeout}SELECT pg_current_wal_insert_lsn()`,
    );
    this.#walStart = walStart ?? "";
    this.#startedAt = this.#server.now();
  }

  async #runDdl(statement: Statement, execution: Execution): Promise<Answer> {
    if (this.#work.hasDdl) throw repeatedDdlError();
    if (this.#work.hasWritten) throw mixedError();
    await this.#enter(true);
    this.#work.hasDdl = true;
    return await runWithConflicts(
      this.#conflictContext(),
      "OC001",
      () =>
        runDdlStatement(statement, {
          connection: this.#ddl,
          user: this.#user,
          run: () => execution.run(),
          onJob: (jobId) => this.#work.jobs.push(jobId),
        }),
    );
  }

  async #runWrite(statement: Statement, execution: Execution): Promise<Answer> {
    const isWrite = statement.kind === "write";
    if (isWrite && this.#work.hasDdl) throw mixedError();
    await this.#enter(true);
    if (isWrite) this.#work.hasWritten = true;
    this.#work.bytes += execution.bytes;
    const counts = isWrite && hidesRows(statement);
    const before = counts ? await countChangedRows(this.#query) : 0;
    const messages = await runWithConflicts(
      this.#conflictContext(),
      "OC000",
      () => execution.run(),
      statement,
    );
    this.#work.rows += counts
      ? await countChangedRows(this.#query) - before
      : affectedRows(messages);
    if (isWrite && this.#work.rows > this.#server.limits.rows) {
      throw limitError("transaction row limit exceeded");
    }
    return relay(messages);
  }

  #conflictContext(): ConflictContext {
    return {
      server: this.#server,
      backend: this.#backend,
      isImplicit: this.#state === "implicit",
      shadowed: this.#work.shadowed,
      onConflict: () => this.#work.conflict = "OC000",
    };
  }

  async #runWait(execution: Execution): Promise<Answer> {
    if (this.#state !== "idle" || execution.isBatch) {
      throw new SqlError("25001", "sys.wait_for_job cannot run inside a transaction block");
    }
    const jobId = execution.firstArgument();
    if (jobId !== undefined) {
      if (!isJobId(jobId)) throw new SqlError("22P02", "Unable to convert text to UUID");
      this.#backend.leave();
      await this.#server.waitForJob(jobId, this);
    }
    await this.#backend.enter();
    return relay(await execution.run());
  }

  async #commit(): Promise<void> {
    if (this.#state === "idle") return;
    const fault = this.#work.hasWritten || this.#work.hasDdl || this.#state === "explicit"
      ? this.#server.faults.take(COMMIT_FAULTS, { user: this.#user, texts: this.#work.texts })
      : undefined;
    const conflict = fault === "OC000" ? "OC000" : this.#work.conflict;
    if (conflict || fault?.endsWith("before-commit")) {
      await this.#rollback();
      throw conflict ? conflictError(conflict) : faultError(fault);
    }
    if (this.#work.hasWritten && await this.#isTooLarge()) {
      await this.#rollback();
      throw limitError("transaction size limit 10mb exceeded");
    }
    const messages = await this.#backend.exchange(queryMessage("COMMIT"));
    const { jobs, hasDdl } = this.#work;
    this.#reset();
    throwBackendError(messages);
    this.#server.statistics.commits++;
    this.#server.scheduleJobs(jobs);
    if (hasDdl) this.#catalogVersion = this.#server.noteCatalogChange();
    if (fault) throw faultError(fault);
  }

  async #isTooLarge(): Promise<boolean> {
    const { bytes: limit } = this.#server.limits;
    const logged = await measureWal(this.#query, this.#walStart);
    if (this.#work.bytes <= limit && logged <= limit) return false;
    return await this.#asSuperuser(() => measureTransaction(this.#query)) > limit;
  }

  async #asSuperuser<T>(work: () => Promise<T>): Promise<T> {
    await this.#query(`SET SESSION AUTHORIZATION ${quoteName(this.#server.superuser)}`);
    const result = await work();
    await this.#query(`SET SESSION AUTHORIZATION ${quoteName(this.#user)}`);
    return result;
  }

  async #rollback(): Promise<void> {
    if (this.#state !== "idle") {
      await this.#backend.exchange(queryMessage("ROLLBACK"));
    }
    this.#reset();
  }

  #reset(): void {
    this.#state = "idle";
    this.#work = newWork();
    this.#lost = undefined;
  }
}
