import { type DistSqlCapabilityName, hasCapability } from "./capabilities.ts";
import { RecreationRequiredError, UnsupportedStatementError } from "./errors.ts";
import type { DeclaredSchema } from "./declared/declared_schema.ts";
import { DistSqlAction } from "./incompatibility.ts";
import { getIncompatibility } from "./incompatibilities.ts";
import type { ResolvedOptions } from "./options.ts";
import type { SqlToken } from "./tokenize.ts";

/** A change of rows that may have to be run in batches below the provider's row limit. */
export interface DistSqlBatch {
  /** What is done to the rows. */
  readonly verb: "update" | "delete";
  /** The table, as written in the statement. */
  readonly table: string;
  /** The assignment of an update, as SQL. */
  readonly set?: string;
  /** Which rows; a batch is done when none is left. All rows when left out. */
  readonly where?: string;
}

/** A background job that a statement starts: what to look at in the catalog once it has ended. */
export interface DistSqlJob {
  /** `index`: look at pg_index.indisvalid. `constraint`: look at pg_constraint.convalidated. */
  readonly kind: "index" | "constraint";
  /** The table, as written in the statement. */
  readonly table: string;
  /** The index or the constraint, as written; an index without a name gets one from the server. */
  readonly name?: string;
}

/** A column, as SQL. */
export interface DistSqlColumn {
  /** The table, quoted. */
  readonly table: string;
  /** The column's name as the catalog has it, without quotes. */
  readonly column: string;
}

/** What a step does about a CHECK that stands for NOT NULL. */
export interface DistSqlNotNull extends DistSqlColumn {
  /**
   * `add`: adds it unless the column refuses NULL already. `validate`: checks the rows that are there. `drop`: drops it
   * after the statement. Its name may differ from the one in the statement, when the table or column was renamed.
   */
  readonly does: "add" | "validate" | "drop";
  /** The name of the CHECK, without quotes; not given for `drop`. */
  readonly name?: string;
}

/** The tables of a TRUNCATE, one of which a step empties. */
export interface DistSqlTruncation {
  /** The tables, quoted. */
  readonly tables: readonly string[];
  /** The step's place among those of the statement, from 0. */
  readonly place: number;
}

/** One statement to run, in a transaction of its own. */
export interface DistSqlStep {
  /** The statement. */
  readonly sql: string;
  /** Given when its answer is a `job_id`: the job to wait for before the next statement. */
  readonly job?: DistSqlJob;
  /** Given when the statement may touch more rows than a transaction can. */
  readonly batch?: DistSqlBatch;
  /** SQLSTATEs that mean "already there" and that the source ignored (a DO block with EXCEPTION). */
  readonly ignores?: readonly string[];
  /** Given for ALTER TABLE IF EXISTS: the table, quoted. The step is skipped when it does not exist. */
  readonly ifTable?: string;
  /** Given for ADD COLUMN IF NOT EXISTS: the step is skipped when the column exists before it. */
  readonly ifNoColumn?: DistSqlColumn;
  /** Given for TRUNCATE: foreign keys decide whether the tables may be emptied, and in which order. */
  readonly truncates?: DistSqlTruncation;
  /** Whether the step completes the one before it, and is skipped when that one is skipped. */
  readonly follows?: boolean;
  /** Given for NOT NULL, which a CHECK stands for: the catalog decides what is left to do. */
  readonly notNull?: readonly DistSqlNotNull[];
  /** Whether the table has to be made again for the statement, an ALTER TABLE; such a step comes with a refusal. */
  readonly recreates?: true;
}

/** Something to know about a translation. */
export interface DistSqlWarning {
  /** The registry's entry. */
  readonly id: string;
  /** What changes, and what to do. */
  readonly message: string;
  /** The table that the statement is about. */
  readonly table?: string;
  /** The type or enum that it is about. */
  readonly type?: string;
}

/** What a text of SQL becomes on the distributed-SQL provider. */
export interface DistSqlTranslation {
  /** What to run, in order, each in a transaction of its own. */
  readonly statements: readonly DistSqlStep[];
  /** What behaves differently afterwards. */
  readonly warnings: readonly DistSqlWarning[];
  /** The registry's entries that applied, in the order in which they did. */
  readonly rules: readonly string[];
  /** What stands in the way; empty when everything is translated. Nothing may be run while there is one. */
  readonly refusals: readonly (UnsupportedStatementError | RecreationRequiredError)[];
  /** What was done on the whole: the first refusal's action, else `Strip`, `Rewrite`, `Warn` or `Compatible`. */
  readonly action: DistSqlAction;
  /** The table of the first statement that names one, without quotes. */
  readonly table?: string;
  /** Labels of the enums that the text creates, for the option `enumLabels` of later texts. */
  readonly enumLabels: Readonly<Record<string, readonly string[]>>;
  /** Names of the domains that the text creates, for the option `domains` of later texts. */
  readonly domains: readonly string[];
  /** What is declared after the text, for the option `declared` of later texts. */
  readonly declared: DeclaredSchema;
}

/** What is known across the statements of a text. */
export interface TextScope {
  readonly options: ResolvedOptions;
  readonly domains: Set<string>;
  /** What is declared before the statement that is translated, as PostgreSQL's catalog would have it. */
  declared: DeclaredSchema;
  /** Sequences that a later statement of the text drops, and that no other statement names. */
  readonly droppedSequences: ReadonlySet<string>;
  /** Keys of sequences that the provider dropped with an identity before the text drops them. */
  readonly goneSequences: Set<string>;
  /** How often a name was made for a constraint, so that two of one text differ. */
  readonly names: Map<string, number>;
  /** Constraints that a later statement of the text validates. */
  readonly validated: ReadonlySet<string>;
  /** How many statements the text has. */
  readonly statementCount: number;
  /** The statements about transactions that cannot be followed, by their tokens, with the registry's entry. */
  readonly transactionRefusals: ReadonlyMap<readonly SqlToken[], string>;
}

/** What the rules write into while they translate one statement. */
export class StatementTranslation {
  readonly steps: DistSqlStep[] = [];
  readonly warnings: DistSqlWarning[] = [];
  readonly rules: Set<string> = new Set();
  readonly refusals: (UnsupportedStatementError | RecreationRequiredError)[] = [];
  readonly scope: TextScope;
  /** The kind of statement, such as ALTER TABLE. */
  kind = "";
  /** What was declared before the statement. */
  readonly before: DeclaredSchema;
  /** The table that the statement is about. */
  table: string | undefined;
  /** The type, view, sequence or other object that the statement defines, changes or drops. */
  object: string | undefined;
  /** Whether the statement is in a DO block that ignores that its object exists. */
  isGuarded = false;

  /** @param scope What is known across the statements of the text. */
  constructor(scope: TextScope) {
    this.scope = scope;
    this.before = scope.declared;
  }

  /** The options of the translation. */
  get options(): ResolvedOptions {
    return this.scope.options;
  }

  /** Whether the provider can do something on the day that applies. */
  can(name: DistSqlCapabilityName): boolean {
    return hasCapability(name, this.scope.options.day);
  }

  /** Notes that an entry of the registry applied. */
  apply(id: string): void {
    this.rules.add(id);
  }

  /** Notes an entry and tells the user; its advice is the message unless another is given. */
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
   * Notes that the statement cannot be translated: by the entry's action a refusal, or a table to make again.
   *
   * @param id The registry's entry.
   * @param what What is not supported; the entry's title when left out.
   * @param type The type or enum that it is about.
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
      ? `the table has to be made again for ${what}`
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

  /** The kind of statement with the name of what it is about: `CREATE TYPE mood`. */
  get subject(): string {
    const name = this.table ?? this.object;
    return name === undefined ? this.kind : `${this.kind} ${name}`;
  }

  /** Adds a statement to run. */
  emit(sql: string, rest: Omit<DistSqlStep, "sql"> = {}): void {
    this.steps.push({ ...rest, sql });
  }
}
