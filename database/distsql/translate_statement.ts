import { StatementReader } from "./statement_reader.ts";
import { RecreationRequiredError } from "./errors.ts";
import { DistSqlAction } from "./incompatibility.ts";
import { getIncompatibility } from "./incompatibilities.ts";
import { findObject, getKey } from "./declared/declared_schema.ts";
import { readObject, readPart } from "./declared/read_object.ts";
import { lowerStatement } from "./lower/lower_statement.ts";
import {
  addsColumnWithNamedConstraint,
  countActions,
  translateAlterTable,
} from "./rules/alter_table.ts";
import { translateCreateIndex } from "./rules/create_index.ts";
import { translateCreateTable } from "./rules/create_table.ts";
import { unwrapDoBlock } from "./rules/do_block.ts";
import { translateExpressions } from "./rules/expressions.ts";
import {
  translateAlterFunction,
  translateAlterIndex,
  translateCreateDomain,
  translateCreateFunction,
  translateCreateSchema,
  translateCreateType,
  translateCreateView,
  translateDomainChange,
  translateDropIndex,
  translateSequence,
} from "./rules/objects.ts";
import {
  refusesSystemSchema,
  translateDropGroup,
  translateGrant,
  translateRole,
} from "./rules/permission.ts";
import { checkQuery, translateRowChange, translateTruncate } from "./rules/query.ts";
import {
  translateAnalyze,
  translateCopy,
  translatePsql,
  translateSet,
  translateTransaction,
} from "./rules/session.ts";
import { readName } from "./sql_name.ts";
import { getObject, getTable } from "./statement_table.ts";
import type { StatementTranslation } from "./translation.ts";
import { listWords } from "./list_words.ts";

type Rule = (reader: StatementReader, t: StatementTranslation) => void;

/** Keywords between CREATE and the object. */
const MODIFIERS: ReadonlySet<string> = new Set([
  "OR",
  "REPLACE",
  "UNIQUE",
  "TEMP",
  "TEMPORARY",
  "LOCAL",
  "GLOBAL",
  "UNLOGGED",
  "RECURSIVE",
  "CONSTRAINT",
  "EVENT",
]);

/** Returns the position of the object in CREATE, ALTER, DROP and COMMENT ON. */
function objectAt(reader: StatementReader): number {
  let at = reader.is(0, "COMMENT", "ON") ? 2 : 1;
  while (reader.key(0) === "CREATE" && reader.isOneOf(at, MODIFIERS)) at++;
  return at;
}

function keep(reader: StatementReader, t: StatementTranslation): void {
  t.emit(reader.tokens.map((token) => token.text).join(""));
}

/** Creates the rule for a registry entry: rejects the statement, or omits it with a warning. */
function byEntry(id: string): Rule {
  const { action } = getIncompatibility(id)!;
  return function followEntry(_reader, t): void {
    if (action === DistSqlAction.Strip) t.warn(id);
    else t.refuse(id);
  };
}

function keepQuery(reader: StatementReader, t: StatementTranslation): void {
  checkQuery(reader, t);
  keep(reader, t);
}

function translateStatistics(reader: StatementReader, t: StatementTranslation): void {
  if (t.can("statistics")) keep(reader, t);
  else t.warn("statistics");
}

function translatePolicy(reader: StatementReader, t: StatementTranslation): void {
  if (reader.key(0) === "DROP") t.apply("row-security-dropped");
  else if (t.options.dropRowSecurity) t.warn("row-security-dropped");
  else t.refuse("row-security", "a policy");
}

function translateSchemaChange(reader: StatementReader, t: StatementTranslation): void {
  if (!refusesSystemSchema(reader, t)) keep(reader, t);
}

/** Keeps CALL of the provider's procedures, and rejects others. */
function translateCallStatement(reader: StatementReader, t: StatementTranslation): void {
  if (readName(reader, 1).path.startsWith("sys.")) keep(reader, t);
  else t.refuse("procedure", "CALL of a procedure");
}

function translateDropTrigger(reader: StatementReader, t: StatementTranslation): void {
  if (reader.is(2, "IF", "EXISTS")) keep(reader, t);
  else t.warn("drop-object-unsupported");
}

function translateUser(reader: StatementReader, t: StatementTranslation): void {
  if (reader.key(2) === "MAPPING") t.refuse("create-object-unsupported", "a user mapping");
  else translateRole(reader, t);
}

const stripExtension = byEntry("extension");
function refuseObject(_reader: StatementReader, t: StatementTranslation): void {
  t.refuse("create-object-unsupported", "this kind of object");
}

const stripObject = byEntry("drop-object-unsupported");

const CREATE: Readonly<Record<string, Rule>> = {
  TABLE: translateCreateTable,
  INDEX: translateCreateIndex,
  SEQUENCE: translateSequence,
  TYPE: translateCreateType,
  DOMAIN: translateCreateDomain,
  FUNCTION: translateCreateFunction,
  VIEW(reader, t): void {
    checkQuery(reader, t);
    translateCreateView(reader, t);
  },
  SCHEMA: translateCreateSchema,
  ROLE: translateRole,
  USER: translateUser,
  GROUP: translateRole,
  EXTENSION: stripExtension,
  PROCEDURE: byEntry("procedure"),
  TRIGGER: byEntry("trigger"),
  MATERIALIZED: byEntry("materialized-view"),
  POLICY: translatePolicy,
  STATISTICS: translateStatistics,
};

const ALTER: Readonly<Record<string, Rule>> = {
  TABLE: translateAlterTable,
  INDEX: translateAlterIndex,
  SEQUENCE: translateSequence,
  TYPE: byEntry("create-type"),
  DOMAIN: translateDomainChange,
  ROLE: translateRole,
  USER: translateUser,
  EXTENSION: stripExtension,
  MATERIALIZED: byEntry("materialized-view"),
  POLICY: translatePolicy,
  STATISTICS: translateStatistics,
  SYSTEM: byEntry("system-settings"),
  DATABASE: byEntry("database-settings"),
  TRIGGER: byEntry("trigger"),
  DEFAULT: byEntry("default-privileges"),
  VIEW: keep,
  SCHEMA: translateSchemaChange,
  FUNCTION: translateAlterFunction,
  ROUTINE: translateAlterFunction,
};

/** Objects that cannot exist, so that dropping them can be omitted. */
const NEVER_THERE: readonly string[] = listWords(`
  ACCESS AGGREGATE CAST COLLATION CONVERSION DATABASE EVENT FOREIGN LANGUAGE
  MATERIALIZED OPERATOR PROCEDURAL PROCEDURE PUBLICATION RULE SERVER SUBSCRIPTION
  TABLESPACE TEXT TRANSFORM
`);

const DROP: Readonly<Record<string, Rule>> = {
  TABLE: keep,
  VIEW: keep,
  SCHEMA: translateSchemaChange,
  SEQUENCE: keep,
  FUNCTION: keep,
  ROUTINE: keep,
  ROLE: keep,
  GROUP: translateDropGroup,
  USER(reader, t): void {
    if (reader.key(2) === "MAPPING") stripObject(reader, t);
    else keep(reader, t);
  },
  OWNED: byEntry("owned-objects"),
  INDEX: translateDropIndex,
  DOMAIN: translateDomainChange,
  STATISTICS: translateStatistics,
  TYPE: byEntry("drop-type"),
  EXTENSION: stripExtension,
  TRIGGER: translateDropTrigger,
  POLICY: translatePolicy,
  ...Object.fromEntries(NEVER_THERE.map((object) => [object, stripObject])),
};

/** Objects whose comments are omitted because the objects cannot exist. */
const NO_COMMENT: ReadonlySet<string> = new Set(listWords(`
  EXTENSION TYPE TRIGGER POLICY RULE MATERIALIZED AGGREGATE OPERATOR PROCEDURE CAST
  COLLATION CONVERSION DATABASE FOREIGN SERVER LANGUAGE LARGE PUBLICATION SUBSCRIPTION
  TABLESPACE TEXT TRANSFORM EVENT ACCESS
`));

function translateComment(reader: StatementReader, t: StatementTranslation): void {
  if (reader.isOneOf(2, NO_COMMENT)) stripObject(reader, t);
  else if (reader.key(2) === "SCHEMA" && readName(reader, 3).name === "public") {
    t.apply("grant-schema-public");
  } else keep(reader, t);
}

function translateCreate(reader: StatementReader, t: StatementTranslation): void {
  (CREATE[reader.key(objectAt(reader))] ?? refuseObject)(reader, t);
}

function translateAlter(reader: StatementReader, t: StatementTranslation): void {
  (ALTER[reader.key(objectAt(reader))] ?? refuseObject)(reader, t);
}

function translateDrop(reader: StatementReader, t: StatementTranslation): void {
  (DROP[reader.key(objectAt(reader))] ?? refuseObject)(reader, t);
}

function translateDo(reader: StatementReader, t: StatementTranslation): void {
  const inner = unwrapDoBlock(reader);
  if (!inner) return t.refuse("do-block", "a DO block");
  const before = t.steps.length;
  t.apply("do-block-unwrapped");
  const statement = new StatementReader(inner.tokens);
  t.isGuarded = true;
  t.ignores = inner.ignores;
  translateStatement(statement, t);
  // in PostgreSQL one existing object rolls back all actions
  if (countActions(statement) > 1 && t.steps.length > before + 1) {
    return t.refuse("do-block", "a DO block around several actions of ALTER TABLE");
  }
  if (addsColumnWithNamedConstraint(statement) && t.steps.length > before + 1) {
    return t.refuse("do-block", "a DO block around ADD COLUMN with a named constraint");
  }
  if (t.refusals.some((refusal) => refusal instanceof RecreationRequiredError)) {
    t.refusals.length = 0;
    return t.refuse("do-block", "a DO block around a change that recreates the table");
  }
  for (let i = before; i < t.steps.length; i++) {
    t.steps[i] = { ...t.steps[i], ignores: inner.ignores };
  }
}

function translateAws(reader: StatementReader, t: StatementTranslation): void {
  t.apply("iam-grant");
  keep(reader, t);
}

function translatePrepare(reader: StatementReader, t: StatementTranslation): void {
  if (reader.key(1) === "TRANSACTION") t.refuse("two-phase-commit", "PREPARE TRANSACTION");
  else t.refuse("prepare", reader.key(0));
}

function translateDeallocate(reader: StatementReader, t: StatementTranslation): void {
  if (reader.is(reader.skip(1, "PREPARE"), "ALL")) keep(reader, t);
  else t.warn("discard");
}

const BY_FIRST_WORD: Readonly<Record<string, Rule>> = {
  CREATE: translateCreate,
  ALTER: translateAlter,
  DROP: translateDrop,
  COMMENT: translateComment,
  GRANT: translateGrant,
  REVOKE: translateGrant,
  AWS: translateAws,
  SELECT: keepQuery,
  WITH: keepQuery,
  INSERT: keepQuery,
  VALUES: keepQuery,
  EXPLAIN: keepQuery,
  "(": keepQuery,
  UPDATE(reader, t): void {
    translateRowChange(reader, t);
    keep(reader, t);
  },
  DELETE(reader, t): void {
    translateRowChange(reader, t);
    keep(reader, t);
  },
  MERGE: byEntry("merge"),
  TRUNCATE: translateTruncate,
  LOCK: byEntry("lock-table"),
  LISTEN: byEntry("notify"),
  NOTIFY: byEntry("notify"),
  UNLISTEN: byEntry("notify"),
  VACUUM: byEntry("maintenance"),
  CHECKPOINT: byEntry("maintenance"),
  ANALYZE: translateAnalyze,
  ANALYSE: translateAnalyze,
  REINDEX: byEntry("reindex"),
  CLUSTER: byEntry("reindex"),
  REFRESH: byEntry("materialized-view"),
  COPY: translateCopy,
  PREPARE: translatePrepare,
  EXECUTE: translatePrepare,
  DEALLOCATE: translateDeallocate,
  DISCARD: byEntry("discard"),
  DECLARE: byEntry("cursor"),
  FETCH: byEntry("cursor"),
  MOVE: byEntry("cursor"),
  CLOSE: byEntry("cursor"),
  LOAD: byEntry("system-settings"),
  DO: translateDo,
  BEGIN: translateTransaction,
  START: translateTransaction,
  COMMIT: translateTransaction,
  END: translateTransaction,
  ROLLBACK: translateTransaction,
  ABORT: translateTransaction,
  SAVEPOINT: translateTransaction,
  RELEASE: translateTransaction,
  SET: translateSet,
  RESET: translateSet,
  SECURITY: refuseObject,
  IMPORT: refuseObject,
  REASSIGN: byEntry("owned-objects"),
  CALL: translateCallStatement,
};

const DEFINED_WITH_EXPRESSIONS: ReadonlySet<string> = new Set(["TABLE", "INDEX", "DOMAIN", "VIEW"]);
const QUERIES: ReadonlySet<string> = new Set([
  "SELECT",
  "WITH",
  "INSERT",
  "VALUES",
  "EXPLAIN",
  "(",
  "UPDATE",
  "DELETE",
  "CALL",
]);

/**
 * Translates one statement, or its replacements if it names an enum or serial column.
 *
 * @param statement The statement, as written for PostgreSQL.
 * @param t Receives steps, warnings and refusals.
 */
export function translateStatement(statement: StatementReader, t: StatementTranslation): void {
  nameSubject(statement, t);
  const lowered = lowerStatement(statement, t);
  for (const item of lowered) {
    if (item instanceof StatementReader) translateLowered(item, t);
    else t.steps.push(item);
  }
  if (lowered.length !== 1) nameSubject(statement, t);
}

/** Translates a statement; a required table recreation becomes a step of that kind. */
function translateLowered(statement: StatementReader, t: StatementTranslation): void {
  const [steps, refusals] = [t.steps.length, t.refusals.length];
  translateByRule(statement, t);
  if (!t.refusals.slice(refusals).some((refusal) => refusal instanceof RecreationRequiredError)) {
    if (addsIdentityByRecreation(statement, t)) refuseViews(statement, t);
    return;
  }
  t.steps.length = steps;
  keep(statement, t);
  t.steps[steps] = { ...t.steps[steps], recreates: true };
  refuseViews(statement, t);
}

/** True if an identity is added to a column other than bigint, which recreates the table at run time. */
function addsIdentityByRecreation(statement: StatementReader, t: StatementTranslation): boolean {
  if (!statement.is(0, "ALTER", "TABLE")) return false;
  const at = statement.skip(statement.skip(2, "IF", "EXISTS"), "ONLY");
  const written = readObject(statement, at);
  const table = findObject(t.before.tables, written);
  return table !== undefined && statement.list(written.end, statement.size).some(([from]) => {
    const column = statement.skip(from + 1, "COLUMN");
    if (!statement.is(from, "ALTER") || !statement.is(column + 1, "ADD", "GENERATED")) return false;
    const { type } = table.columns.find(({ name }) => name === readPart(statement, column)) ?? {};
    return type !== undefined && !/^"?(?:bigint|int8)"?$/i.test(type.trim());
  });
}

/** Rejects the recreation of a table that a view reads, since the view would be lost. */
function refuseViews(statement: StatementReader, t: StatementTranslation): void {
  const { tables, views } = t.before;
  const table = findObject(
    tables,
    readObject(statement, statement.skip(statement.skip(2, "IF", "EXISTS"), "ONLY")),
  );
  if (table === undefined) return;
  for (const view of views.values()) {
    const reads = view.sources.some(({ relation }) => relation === getKey(table));
    if (reads) {
      t.refuse(
        "recreate-view",
        `a change that recreates the table, which the view ${view.name} reads`,
      );
    }
  }
}

/**
 * Translates one statement by the rule for its first words. Keeps a statement without a rule, so
 * that the provider decides.
 *
 * @param statement The statement.
 * @param t Receives steps, warnings and refusals.
 */
function translateByRule(statement: StatementReader, t: StatementTranslation): void {
  const object = nameSubject(statement, t);
  if (statement.token(0)?.kind === "psql") return translatePsql(statement.token(0)!.text, t);
  const first = statement.key(0);
  const isDefinition = (first === "CREATE" || first === "ALTER") &&
    DEFINED_WITH_EXPRESSIONS.has(object);
  const hasExpressions = isDefinition || QUERIES.has(first);
  const reader = hasExpressions
    ? translateExpressions(statement, isDefinition && object !== "VIEW", t)
    : statement;
  const rule = Object.hasOwn(BY_FIRST_WORD, first) ? BY_FIRST_WORD[first] : keep;
  rule(reader, t);
}

/**
 * Records the statement's name for messages; returns the object of CREATE, ALTER, DROP and COMMENT
 * ON.
 */
function nameSubject(statement: StatementReader, t: StatementTranslation): string {
  if (statement.token(0)?.kind === "psql") {
    t.kind = "psql";
    return "";
  }
  const first = statement.key(0);
  const isObject = first === "CREATE" || first === "ALTER" || first === "DROP" ||
    first === "COMMENT";
  const object = isObject ? statement.key(objectAt(statement)) : "";
  t.kind = `${first === "(" ? "SELECT" : first} ${object}`.trim();
  t.table = getTable(statement);
  t.object = t.table === undefined ? getObject(statement) : undefined;
  return object;
}
