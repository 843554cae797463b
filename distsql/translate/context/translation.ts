import { type DistSqlCapabilityName, hasCapability } from "../../registry/capabilities.ts";
import { RecreationRequiredError, UnsupportedStatementError } from "./errors.ts";
import type { DeclaredSchema } from "../../schema/declared_schema.ts";
import { DistSqlAction } from "../../registry/incompatibility.ts";
import { getIncompatibility } from "../../registry/incompatibilities.ts";
import type { ResolvedOptions } from "./options.ts";
import type { SqlToken } from "../../../sql/tokenize.ts";

/** Background job of a statement, with the catalog entry to check once it has ended. */
export interface DistSqlJob {
  /** `index`: check pg_index.indisvalid. `constraint`: check pg_constraint.convalidated. */
  readonly kind: "index" | "constraint";
  /** Table, as written in the statement. */
  readonly table: string;
  /** Index or constraint, as written; an unnamed index gets its name from the server. */
  readonly name?: string;
}

/** Column, for SQL. */
export interface DistSqlColumn {
  /** Table, quoted. */
  readonly table: string;
  /** Name of the column in the catalog, without quotes. */
  readonly column: string;
}

/** Action of a step on a CHECK that replaces NOT NULL. */
export interface DistSqlNotNull extends DistSqlColumn {
  /**
   * `add`: adds it unless the column already forbids NULL. `validate`: validates existing rows.
   * `drop`: drops it after the statement. Its name may differ from the statement's if the table or
   * column was renamed.
   */
  readonly does: "add" | "validate" | "drop";
  /** Name of the CHECK, without quotes; omitted for `drop`. */
  readonly name?: string;
}

/** Tables of a TRUNCATE, of which a step empties one. */
export interface DistSqlTruncation {
  /** Tables, quoted. */
  readonly tables: readonly string[];
  /** Index of the step among those of the statement, from 0. */
  readonly place: number;
}

/** Statement to run in a separate transaction. */
export interface DistSqlStep {
  /** The statement. */
  readonly sql: string;
  /** Set if the statement returns a `job_id`: the job to wait for before the next statement. */
  readonly job?: DistSqlJob;
  /** SQLSTATEs of existing objects that the source ignores (a DO block with EXCEPTION). */
  readonly ignores?: readonly string[];
  /** Set for ALTER TABLE IF EXISTS: the table, quoted. The step is skipped if it does not exist. */
  readonly ifTable?: string;
  /** Set for ADD COLUMN IF NOT EXISTS: the step is skipped if the column exists. */
  readonly ifNoColumn?: DistSqlColumn;
  /**
   * Set for TRUNCATE: foreign keys decide whether the tables can be emptied, and in which order.
   */
  readonly truncates?: DistSqlTruncation;
  /** True if the step completes the previous one, and is skipped with it. */
  readonly follows?: boolean;
  /** Set for NOT NULL, which a CHECK replaces: the catalog decides what is left to do. */
  readonly notNull?: readonly DistSqlNotNull[];
  /**
   * True if the statement, an ALTER TABLE, requires a table recreation; such a step has a refusal
   * too.
   */
  readonly recreates?: true;
}

/** Warning about a translation. */
export interface DistSqlWarning {
  /** Id of the registry entry. */
  readonly id: string;
  /** Difference in behavior, and advice. */
  readonly message: string;
  /** Table of the statement. */
  readonly table?: string;
  /** Type or enum of the statement. */
  readonly type?: string;
}

/** Translation of an SQL text for the distributed-SQL provider. */
export interface DistSqlTranslation {
  /** Statements to run in order, each in a separate transaction. */
  readonly statements: readonly DistSqlStep[];
  /** Differences in behavior. */
  readonly warnings: readonly DistSqlWarning[];
  /** Registry entries that applied, in order. */
  readonly rules: readonly string[];
  /** Errors; empty if everything is translated. If there is one, no statement may be run. */
  readonly refusals: readonly (UnsupportedStatementError | RecreationRequiredError)[];
  /**
   * Overall treatment: that of the first refusal, else `Strip`, `Rewrite`, `Warn` or `Compatible`.
   */
  readonly action: DistSqlAction;
  /** Table of the first statement that names one, without quotes. */
  readonly table?: string;
  /** Declarations after the text, for the option `declared` of later texts. */
  readonly declared: DeclaredSchema;
}

/** State across the statements of a text. */
export interface TextScope {
  readonly options: ResolvedOptions;
  /** Declarations before the current statement, like PostgreSQL's catalog. */
  declared: DeclaredSchema;
  /** Numbers of generated constraint names, to keep them distinct within a text. */
  readonly names: Map<string, number>;
  /** Constraints that a later statement of the text validates. */
  readonly validated: ReadonlySet<string>;
  /** Number of statements. */
  readonly statementCount: number;
  /** Registry entries of transaction statements that cannot be followed, by their tokens. */
  readonly transactionRefusals: ReadonlyMap<readonly SqlToken[], string>;
}

/** Result of the rules for one statement. */
export class StatementTranslation {
  readonly steps: DistSqlStep[] = [];
  readonly warnings: DistSqlWarning[] = [];
  readonly rules: Set<string> = new Set();
  readonly refusals: (UnsupportedStatementError | RecreationRequiredError)[] = [];
  readonly scope: TextScope;
  /** Kind of statement, such as ALTER TABLE. */
  kind = "";
  /** Declarations before the statement. */
  readonly before: DeclaredSchema;
  /** Table of the statement. */
  table: string | undefined;
  /** Type, view, sequence or other object that the statement defines, changes or drops. */
  object: string | undefined;
  /** True if the statement is in a DO block that ignores existing objects. */
  isGuarded = false;
  /** SQLSTATEs of existing objects that the DO block ignores. */
  ignores: readonly string[] = [];

  /**
   * @param scope State across the statements of the text.
   */
  constructor(scope: TextScope) {
    this.scope = scope;
    this.before = scope.declared;
  }

  /** Translation options. */
  get options(): ResolvedOptions {
    return this.scope.options;
  }

  /** Checks whether the provider has a capability on the selected day. */
  can(name: DistSqlCapabilityName): boolean {
    return hasCapability(name, this.scope.options.day);
  }

  /** Records that a registry entry applied. */
  apply(id: string): void {
    this.rules.add(id);
  }

  /** Records an entry with a warning; the message is its advice unless another is given. */
  warn(
    id: string,
    message: string = getIncompatibility(id)!.advice,
    type: string | undefined = undefined,
  ): void {
    this.rules.add(id);
    if (this.warnings.some((warning) => warning.id === id && warning.message === message)) return;
    const { table } = this;
    this.warnings.push({
      id,
      message,
      ...(table === undefined ? {} : { table }),
      ...(type === undefined ? {} : { type }),
    });
  }

  /**
   * Records that the statement cannot be translated: as a refusal or a table recreation, by the
   * entry's action.
   *
   * @param id Id of the registry entry.
   * @param what Unsupported feature; the entry's title if omitted.
   * @param type Type or enum of the statement.
   */
  refuse(
    id: string,
    what: string = getIncompatibility(id)!.title,
    type: string | undefined = undefined,
  ): void {
    const { action, advice } = getIncompatibility(id)!;
    this.rules.add(id);
    const { kind, table } = this;
    const isRecreation = action === DistSqlAction.Recreate;
    const reason = isRecreation
      ? `the table must be recreated for ${what}`
      : `not supported: ${what}`;
    const summary = `${this.subject}: ${reason}`;
    const message = `${summary} (${id}). ${advice}`;
    const options = { id, summary, advice, table, type, details: { id, table, type, kind } };
    this.refusals.push(
      isRecreation
        ? new RecreationRequiredError(message, options)
        : new UnsupportedStatementError(message, options),
    );
  }

  /** Kind of statement with the name of its object: `CREATE TYPE mood`. */
  get subject(): string {
    const name = this.table ?? this.object;
    return name === undefined ? this.kind : `${this.kind} ${name}`;
  }

  /** Adds a statement to run. */
  emit(sql: string, rest: Omit<DistSqlStep, "sql"> = {}): void {
    this.steps.push({ ...rest, sql });
  }
}
