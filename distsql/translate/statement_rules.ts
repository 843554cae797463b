import { getIncompatibility } from "../registry/incompatibilities.ts";
import { DistSqlAction } from "../registry/incompatibility.ts";
import { keywordSet, listWords } from "../../sql/list_words.ts";
import { translateAlterTable } from "./rules/alter_table.ts";
import { translateCreateIndex } from "./rules/create_index.ts";
import { translateCreateTable } from "./rules/create_table.ts";
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
  translateSet,
  translateTransaction,
} from "./rules/session.ts";
import { readName } from "../../sql/sql_name.ts";
import { objectAt } from "../syntax/statement_table.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import type { StatementTranslation } from "./context/translation.ts";

/** Translation of the statements that begin with certain words. */
export type Rule = (reader: StatementReader, t: StatementTranslation) => void;

/** Keeps a statement as written. */
export function keep(reader: StatementReader, t: StatementTranslation): void {
  t.emit(reader.source);
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
const NO_COMMENT: ReadonlySet<string> = keywordSet(`
  EXTENSION TYPE TRIGGER POLICY RULE MATERIALIZED AGGREGATE OPERATOR PROCEDURE CAST
  COLLATION CONVERSION DATABASE FOREIGN SERVER LANGUAGE LARGE PUBLICATION SUBSCRIPTION
  TABLESPACE TEXT TRANSFORM EVENT ACCESS
`);

function translateComment(reader: StatementReader, t: StatementTranslation): void {
  if (reader.isOneOf(2, NO_COMMENT)) stripObject(reader, t);
  else if (reader.key(2) === "SCHEMA" && readName(reader, 3).name === "public") {
    t.apply("grant-schema-public");
  } else keep(reader, t);
}

/** Creates the rule that chooses another one by the kind of object. */
function byObject(rules: Readonly<Record<string, Rule>>): Rule {
  return function translateObject(reader, t): void {
    (rules[reader.key(objectAt(reader))] ?? refuseObject)(reader, t);
  };
}

function changeRows(reader: StatementReader, t: StatementTranslation): void {
  translateRowChange(reader, t);
  keep(reader, t);
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
  CREATE: byObject(CREATE),
  ALTER: byObject(ALTER),
  DROP: byObject(DROP),
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
  UPDATE: changeRows,
  DELETE: changeRows,
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

/**
 * Finds the rule for a statement by its first words. A DO block has none.
 *
 * @param reader The statement.
 */
export function findRule(reader: StatementReader): Rule | undefined {
  const first = reader.key(0);
  return Object.hasOwn(BY_FIRST_WORD, first) ? BY_FIRST_WORD[first] : undefined;
}
