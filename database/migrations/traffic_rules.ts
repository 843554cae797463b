import {
  type ActionOf,
  type AlterAction,
  isNotValid,
  readAlterActions,
  SERIAL,
  STABLE_FUNCTIONS,
  SYNTAX_WORDS,
  TIME_FUNCTIONS,
} from "../../distsql/engine.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { createLocator, findFirstWord } from "../../sql/text_position.ts";
import type { MigrationFile } from "./files.ts";
import { findMade, toOnline } from "./online.ts";
import { readStrongLocks } from "./statement_locks.ts";
import { isBackfill, type PostgresFile, readPostgresFile, toPostgresStep } from "./steps.ts";

/** Statement that stops the traffic on a filled table, or breaks the code that runs. */
export interface TrafficRisk {
  /** The warning. */
  readonly finding: PlanFinding;
  /** The relation as written. */
  readonly relation: string;
  /** True if only a large table makes it a problem. */
  readonly needsRows: boolean;
}

interface Rule {
  readonly message: string;
  readonly advice: string;
  readonly needsRows: boolean;
}

/** Rules by name. Each message follows the name of the relation. */
const RULES = {
  "traffic-rewrite": {
    message: "is rewritten while nobody can read it",
    advice: "Add a column without a default, SET DEFAULT for new rows, and fill it in batches. " +
      "For another type, write both columns until the release reads the new one.",
    needsRows: true,
  },
  "traffic-index": {
    message: "cannot be written, or not even read, until this has read all rows",
    advice: "Give a new index a name, and leave out BEGIN and COMMIT: the runner then builds it " +
      "concurrently. Write CONCURRENTLY after REINDEX, REFRESH MATERIALIZED VIEW and DETACH " +
      "PARTITION. VACUUM FULL and CLUSTER need a time without traffic, or pg_repack.",
    needsRows: true,
  },
  "traffic-constraint": {
    message: "is checked or indexed for a constraint while others wait",
    advice: "Write it as ADD CONSTRAINT with a name in a statement of its own, without BEGIN and " +
      "COMMIT: the runner then validates it without a lock. For PRIMARY KEY and EXCLUDE build the " +
      "index concurrently first, and write PRIMARY KEY USING INDEX.",
    needsRows: true,
  },
  "traffic-not-null": {
    message: "is read while nobody can use it, to check for NULL",
    advice: "Leave out BEGIN and COMMIT: the runner then checks the rows before it takes the lock.",
    needsRows: true,
  },
  "traffic-update": {
    message: "has rows changed that stay locked to the end of the transaction",
    advice:
      "Write the line -- trellis: backfill before the statement: the runner then changes the rows " +
      "in batches by key.",
    needsRows: true,
  },
  "traffic-locks": {
    message: "is locked while the transaction still holds the lock of another table",
    advice:
      "Change one table in a file, so that a wait for the second one does not block the first.",
    needsRows: false,
  },
  "release-rename": {
    message: "gets another name or place, which the running release does not know",
    advice: "Rename a column with trellis generate migration --expand, which keeps both names " +
      "until a later release. For a table, a view with the old name keeps the release working.",
    needsRows: false,
  },
  "release-drop": {
    message: "loses something that the running release may use",
    advice: "Deploy a release that does not use it first, and drop it in a later migration.",
    needsRows: false,
  },
  "release-required": {
    message: "gets a required column, for which the running release has no value",
    advice: "Add a default, or add the column without NOT NULL and set it in a later release.",
    needsRows: false,
  },
} as const satisfies Record<string, Rule>;

type RuleName = keyof typeof RULES;

/** Relation and rule that a statement breaks. */
type Broken = readonly [rule: RuleName, relation: string];

/**
 * Finds the statements of a migration for PostgreSQL that stop reads or writes while they run, or
 * break the release that runs. What the runner does online is not reported.
 *
 * @param file The file.
 * @returns The risks in the order of the statements, as if all tables of earlier files were filled.
 */
export function findTrafficRisks(file: Pick<MigrationFile, "path" | "sql">): TrafficRisk[] {
  const read = readPostgresFile(file);
  const { statements, text } = read;
  const made = findMade(statements.map(({ reader }) => reader));
  const locate = createLocator(text);
  const isNew = (relation: string): boolean => made.has(readName(parseStatement(relation), 0).name);
  const inTransaction = trackLocks(read, isNew);
  return statements.flatMap(({ source, reader }, place): TrafficRisk[] => {
    const isOnline = !read.isWhole && findBlock(read, place) < 0 &&
      hasOnlineForm(reader, made);
    const broken = [...findBroken(reader, isOnline), ...inTransaction(place, isOnline)];
    return broken.filter(([, relation]) => !isNew(relation)).map(([rule, relation]) => ({
      finding: {
        severity: "warning",
        rule,
        file: read.file,
        ...locate(findFirstWord(source)),
        statement: maskStatement(source.tokens),
        table: relation,
        message: `${relation} ${RULES[rule].message}`,
        advice: RULES[rule].advice,
      },
      relation,
      needsRows: RULES[rule].needsRows,
    }));
  });
}

function hasOnlineForm(reader: StatementReader, made: ReadonlySet<string>): boolean {
  const [step] = toPostgresStep(reader.text(0, reader.size), 1);
  return step !== undefined && toOnline(step, made) !== undefined;
}

function findBlock({ control }: PostgresFile, place: number): number {
  return control.blocks.findIndex(({ from, to }) => from < place && place < to);
}

/** Returns a function that finds what a statement does under the locks of its transaction. */
function trackLocks(
  file: PostgresFile,
  isNew: (relation: string) => boolean,
): (place: number, isOnline: boolean) => Broken[] {
  let held: string | undefined;
  let transaction = -1;
  return function findUnderLocks(place: number, isOnline: boolean): Broken[] {
    const block = findBlock(file, place);
    const current = block < 0 && file.isStepwise ? -2 - place : block;
    if (current !== transaction || isOnline) held = undefined;
    transaction = current;
    if (isOnline) return [];
    const { reader } = file.statements[place];
    const changed = readChanged(reader);
    if (changed !== undefined) return held === undefined ? [] : [["traffic-update", changed]];
    const own = readStrongLocks(reader).find(({ relation }) => !isNew(relation))?.relation;
    const isSecond = own !== undefined && held !== undefined && own !== held;
    held ??= own;
    return isSecond ? [["traffic-locks", own]] : [];
  };
}

/**
 * Returns the table of UPDATE, DELETE and VACUUM, as written.
 *
 * @param sql A statement.
 */
export function readChangedTable(sql: string): string | undefined {
  if (!/^\s*(?:update|delete|vacuum)\b/i.test(sql)) return undefined;
  const reader = parseStatement(sql);
  return readChanged(reader) ?? readWholeTable(reader)[0];
}

function readChanged(reader: StatementReader): string | undefined {
  const at = reader.is(0, "UPDATE") ? 1 : reader.is(0, "DELETE", "FROM") ? 2 : undefined;
  return at === undefined ? undefined : readName(reader, reader.skip(at, "ONLY")).text;
}

const WHOLE_TABLE: ReadonlySet<string> = keywordSet("CLUSTER VACUUM REINDEX REFRESH");
const VIEWS: ReadonlySet<string> = keywordSet("TABLE VIEW MATERIALIZED");

/** Finds the rules that a statement breaks by itself. */
function findBroken(reader: StatementReader, isOnline: boolean): Broken[] {
  const first = reader.key(0);
  const relations = (): string[] => readStrongLocks(reader).map(({ relation }) => relation);
  if (reader.isOneOf(0, WHOLE_TABLE)) {
    return readWholeTable(reader).map((relation) => ["traffic-index", relation]);
  }
  switch (first) {
    case "UPDATE":
    case "DELETE": {
      if (isBackfill(reader)) return [];
      const table = readChanged(reader);
      const hasAll = table !== undefined && reader.find("WHERE", 1) < 0;
      return hasAll ? [["traffic-update", table]] : [];
    }
    case "TRUNCATE":
      return relations().map((relation) => ["release-drop", relation]);
    case "DROP":
      if (!reader.isOneOf(1, VIEWS)) return [];
      return relations().map((relation) => ["release-drop", relation]);
    case "CREATE": {
      const isIndex = reader.is(reader.skip(1, "UNIQUE"), "INDEX");
      return isIndex && !isOnline ? relations().map((table) => ["traffic-index", table]) : [];
    }
    case "ALTER":
      if (reader.is(1, "TABLE")) return findBrokenByAlter(reader, isOnline);
      if (!reader.isOneOf(1, VIEWS) || reader.find("RENAME", 2) < 0) return [];
      return relations().map((relation) => ["release-rename", relation]);
    default:
      return [];
  }
}

/** Returns the tables that a maintenance statement locks while it reads them. */
function readWholeTable(reader: StatementReader): string[] {
  if (reader.is(0, "VACUUM")) {
    const isFull = /^VACUUM\s*(?:\([^)]*)?\bFULL\b(?!\s*(?:FALSE|OFF|0))/i.test(
      reader.text(0, reader.size),
    );
    if (!isFull) return [];
    const at = reader.skip(reader.is(1, "(") ? reader.next(1) : 2, "ANALYZE");
    return reader.list(at, reader.size).map(([from]) => readName(reader, from).text);
  }
  if (/\bCONCURRENTLY\b/i.test(reader.text(1, 5))) return [];
  return readStrongLocks(reader).map(({ relation }) => relation);
}

function findBrokenByAlter(reader: StatementReader, isOnline: boolean): Broken[] {
  const table = readName(reader, reader.alteredTableAt()).text;
  return readAlterActions(reader).flatMap((action) =>
    findBrokenByAction(reader, action, isOnline).map((rule): Broken => [rule, table])
  );
}

function findBrokenByAction(
  reader: StatementReader,
  action: AlterAction,
  isOnline: boolean,
): RuleName[] {
  switch (action.kind) {
    case "add_column":
      return findBrokenByColumn(reader, action);
    case "add_constraint": {
      const { kind, name, usesIndex } = action.constraint;
      if (usesIndex || isNotValid(reader, action.constraint)) return [];
      const hasForm = kind === "foreign_key" || kind === "unique" ||
        (kind === "check" && name !== undefined);
      return isOnline && hasForm ? [] : ["traffic-constraint"];
    }
    case "alter_column":
      if (action.change === "set_not_null") return isOnline ? [] : ["traffic-not-null"];
      return action.change === "type" || action.change === "set_expression"
        ? ["traffic-rewrite"]
        : [];
    case "drop_column":
      return ["release-drop"];
    case "rename_column":
    case "rename_table":
    case "set_schema":
      return ["release-rename"];
    case "other":
      if (REWRITES.some((words) => reader.is(action.from, "SET", ...words))) {
        return ["traffic-rewrite"];
      }
      return reader.is(action.from, "DETACH") && action.to - action.from < 4
        ? ["traffic-index"]
        : [];
    default:
      return [];
  }
}

const REWRITES: readonly (readonly string[])[] = [
  ["LOGGED"],
  ["UNLOGGED"],
  ["TABLESPACE"],
  ["ACCESS", "METHOD"],
];

function findBrokenByColumn(
  reader: StatementReader,
  { column: { clauses, typeFrom } }: ActionOf<"add_column">,
): RuleName[] {
  const find = (...kinds: string[]) => clauses.find(({ kind }) => kinds.includes(kind));
  const value = find("default");
  const generated = find("generated");
  const isNumbered = SERIAL.has(reader.key(typeFrom).toLowerCase()) ||
    find("identity") !== undefined;
  const isStored = generated !== undefined && !reader.is(generated.to - 1, "VIRTUAL");
  const isVolatile = value !== undefined && !isStable(reader, value.bodyFrom + 1, value.to);
  const isChecked = find("check", "unique", "primary_key") !== undefined ||
    (find("references") !== undefined && value !== undefined);
  const isRequired = find("not_null", "primary_key") !== undefined && value === undefined &&
    generated === undefined && !isNumbered;
  return [
    ...isNumbered || isStored || isVolatile ? ["traffic-rewrite" as const] : [],
    ...isChecked ? ["traffic-constraint" as const] : [],
    ...isRequired ? ["release-required" as const] : [],
  ];
}

/** Checks that an expression has one value for all rows of a statement. */
function isStable(reader: StatementReader, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (!reader.isName(at) || !reader.is(at + 1, "(")) continue;
    const name = getName(reader.token(at)!);
    const isKnown = STABLE_FUNCTIONS.has(name) || TIME_FUNCTIONS.has(name) ||
      reader.isOneOf(at, SYNTAX_WORDS);
    if (!isKnown) return false;
  }
  return true;
}
