import { readPart } from "../../schema/read_object.ts";
import { quoteNameAt, readName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { asyncTableAt } from "../../syntax/statement_table.ts";
import type { DistSqlStep, StatementTranslation } from "../context/translation.ts";
import { translateAddColumn } from "./add_column.ts";
import { translateAddConstraint } from "./add_constraint.ts";
import { translateAlterColumn } from "./alter_column.ts";
import { alterPass } from "../../syntax/alter_pass.ts";
import {
  type AlterAction,
  type AlterResult,
  type AlterTarget,
  step,
  validateStep,
} from "./alter_target.ts";
import { findTable, isInPrimaryKey, isPrimaryKey } from "./known_table.ts";
import { isTableConstraint } from "../../syntax/table_constraint.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Options of a view that protect rows: ALTER TABLE also applies to views. */
const VIEW_OPTIONS: ReadonlySet<string> = keywordSet(
  "SECURITY_BARRIER SECURITY_INVOKER CHECK_OPTION",
);

function translateSetting({ reader, from, to, t }: AlterAction): undefined {
  for (let at = from; at < to; at++) {
    if (reader.isOneOf(at, VIEW_OPTIONS)) {
      return void t.refuse("row-security", `${reader.key(from)} of a view's options`);
    }
  }
  return void t.warn("table-settings");
}

function translateRowSecurity(isRemoval: boolean, t: StatementTranslation): undefined {
  if (isRemoval) t.apply("row-security-dropped");
  else if (t.options.dropRowSecurity) t.warn("row-security-dropped");
  else t.refuse("row-security", "ROW LEVEL SECURITY");
}

function translateSwitch({ reader, from, to, t }: AlterAction): AlterResult {
  const isRemoval = reader.is(from, "DISABLE") || reader.is(from, "NO");
  for (let at = from + 1; at < from + 3; at++) {
    if (reader.is(at, "ROW", "LEVEL", "SECURITY")) return translateRowSecurity(isRemoval, t);
    const isWholeTable = reader.is(at + 1, "ALL") || reader.is(at + 1, "USER");
    if (reader.is(at, "TRIGGER") && isWholeTable) return { keep: reader.text(from, to) };
  }
  return void t.warn("table-settings");
}

function translateDrop({ reader, from, to, target: { known }, t }: AlterAction): AlterResult {
  const keep = { keep: reader.text(from, to) };
  if (reader.key(from + 1) === "CONSTRAINT") {
    const name = readPart(reader, reader.skip(from + 2, "IF", "EXISTS"));
    if (!isPrimaryKey(known, name)) return keep;
    return void t.refuse("primary-key-change", "DROP of a primary key");
  }
  const column = readPart(reader, reader.skip(reader.skip(from + 1, "COLUMN"), "IF", "EXISTS"));
  if (isInPrimaryKey(known, column)) {
    return void t.refuse("primary-key-change", `DROP of column ${column} of the primary key`);
  }
  t.warn("drop-column");
  return keep;
}

function translateValidate({ reader, from, target, t }: AlterAction): AlterResult {
  t.apply("validate-constraint");
  return { steps: [validateStep(target, readName(reader, from + 2).text)] };
}

const SETTING_STARTS: ReadonlySet<string> = new Set(["SET", "RESET", "CLUSTER", "REPLICA"]);
const SWITCH_STARTS: ReadonlySet<string> = new Set(["ENABLE", "DISABLE", "FORCE"]);
const FAMILY_STARTS: ReadonlySet<string> = keywordSet("INHERIT NO OF NOT ATTACH DETACH");

function translateAction(action: AlterAction): AlterResult {
  const { reader, from, to, t } = action;
  const key = reader.key(from);
  const second = reader.key(from + 1);
  if (key === "ADD") {
    const isConstraint = isTableConstraint(reader, from + 1);
    return isConstraint ? translateAddConstraint(action) : translateAddColumn(action);
  }
  if (key === "ALTER" && second !== "CONSTRAINT") return translateAlterColumn(action);
  if (key === "DROP") return translateDrop(action);
  if (key === "VALIDATE") return translateValidate(action);
  if (SWITCH_STARTS.has(key) || reader.is(from, "NO", "FORCE")) return translateSwitch(action);
  if (SETTING_STARTS.has(key) && second !== "SCHEMA") return translateSetting(action);
  if (!FAMILY_STARTS.has(key)) return { keep: reader.text(from, to) };
  return void t.refuse("table-inheritance", "inheritance and partitions");
}

type KeptAction = Extract<AlterResult, { keep: string }>;

interface Action {
  readonly from: number;
  readonly text: string;
  readonly result: AlterResult;
}

/** Combines consecutive kept actions into one statement. */
function keptStep(kept: readonly KeptAction[], target: AlterTarget): DistSqlStep {
  return {
    ...step(`${target.head} ${kept.map(({ keep }) => keep).join(", ")};`),
    ...droppedNotNull(kept),
  };
}

function droppedNotNull(kept: readonly KeptAction[]): Pick<DistSqlStep, "notNull"> {
  const notNull = kept.flatMap((action) => action.notNull ?? []);
  return notNull.length === 0 ? {} : { notNull };
}

/** Emits the translated actions; consecutive kept ones as one statement. */
function emitResults(
  results: readonly AlterResult[],
  target: AlterTarget,
  lead: string,
  guard: Guard,
  t: StatementTranslation,
): void {
  const steps: DistSqlStep[] = [];
  let kept: KeptAction[] = [];
  const flush = (): void => {
    if (kept.length > 0) steps.push(keptStep(kept, target));
    kept = [];
  };
  for (const result of results) {
    if (result === undefined) continue;
    if ("keep" in result) kept.push(result);
    else {
      flush();
      steps.push(...result.steps);
    }
  }
  flush();
  steps.forEach(({ sql, ...rest }, index) =>
    t.emit(index === 0 ? lead + sql : sql, { ...rest, ...guard })
  );
}

/** Returns the comments before a statement's first word. */
function getLead(reader: StatementReader): string {
  return reader.tokens.slice(0, reader.places[0]).map((token) => token.text).join("");
}

type Guard = Pick<DistSqlStep, "ifTable">;

/**
 * Returns the condition of IF EXISTS, which applies to every step, including those that are not
 * ALTER TABLE.
 */
function getGuard(reader: StatementReader, at: number, nameAt: number): Guard {
  return reader.is(at, "IF", "EXISTS") ? { ifTable: quoteNameAt(reader, nameAt) } : {};
}

/** Counts the actions of an ALTER TABLE; 0 for another statement. */
export function countActions(reader: StatementReader): number {
  return reader.is(0, "ALTER", "TABLE") ? reader.alterActions().length : 0;
}

/**
 * Checks for an ALTER TABLE that adds one column together with a named constraint. PostgreSQL
 * chooses free names for the others.
 */
export function addsColumnWithNamedConstraint(reader: StatementReader): boolean {
  if (countActions(reader) !== 1) return false;
  const add = reader.find("ADD", 2);
  return add >= 0 && !reader.is(add + 1, "CONSTRAINT") &&
    reader.find("CONSTRAINT", add + 1) >= 0;
}

/**
 * Translates ALTER TABLE: each action is kept, split into steps, omitted or rejected. Constraints
 * are kept and validated in the background.
 *
 * @param reader The statement.
 * @param t Receives the result.
 */
export function translateAlterTable(reader: StatementReader, t: StatementTranslation): void {
  const asyncAt = asyncTableAt(reader);
  if (asyncAt >= 0) {
    const table = readName(reader, asyncAt);
    t.apply("validate-constraint");
    const { text: name } = readName(reader, table.end + 2);
    const job = { kind: "constraint", table: table.text, name } as const;
    return t.emit(reader.source, { job, ...getGuard(reader, 3, asyncAt) });
  }
  if (reader.is(2, "ALL", "IN", "TABLESPACE")) return void t.warn("table-settings");
  const afterExists = reader.skip(2, "IF", "EXISTS");
  const nameAt = reader.skip(afterExists, "ONLY");
  const table = readName(reader, nameAt);
  const ifExists = afterExists > 2 ? "IF EXISTS " : "";
  const target: AlterTarget = {
    table,
    head: `ALTER TABLE ${ifExists}${nameAt > afterExists ? "ONLY " : ""}${table.text}`,
    asyncHead: `ALTER TABLE ASYNC ${ifExists}${table.text}`,
    quoted: quoteNameAt(reader, nameAt),
    known: findTable(reader, nameAt, t),
  };
  const guard = getGuard(reader, 2, nameAt);
  const actions: Action[] = reader.alterActions().map(([from, to]) => ({
    from,
    text: reader.text(from, to),
    result: translateAction({ reader, from, to, target, t }),
  }));
  const isUnchanged = actions.every(({ text, result }) =>
    result && "keep" in result && result.keep === text
  );
  if (isUnchanged) {
    const kept = actions.flatMap(({ result }) => result && "keep" in result ? result : []);
    return t.emit(reader.source, { ...guard, ...droppedNotNull(kept) });
  }
  const splits = actions.some(({ result }) => result && "steps" in result);
  const ordered = splits
    ? actions.toSorted((a, b) => alterPass(reader, a.from) - alterPass(reader, b.from))
    : actions;
  emitResults(ordered.map(({ result }) => result), target, getLead(reader), guard, t);
}
