import { keywordSet } from "../../../sql/list_words.ts";
import { quoteNameAt, readName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import {
  type ActionOf,
  type AlterAction,
  inRunOrder,
  readAlterActions,
} from "../../syntax/alter_action.ts";
import { asyncTableAt } from "../../syntax/statement_table.ts";
import type { DistSqlStep, StatementTranslation } from "../context/translation.ts";
import { translateAddColumn } from "./add_column.ts";
import { translateAddConstraint } from "./add_constraint.ts";
import {
  type AlterResult,
  type AlterScope,
  type AlterTarget,
  step,
  validateStep,
} from "./alter_target.ts";
import { translateType } from "./column_type.ts";
import { normalizeCache, normalizeIdentity } from "./identity.ts";
import { findTable, isInPrimaryKey, isKey, isPrimaryKey } from "./known_table.ts";
import { dropNotNull, notNullSteps } from "./not_null.ts";

/** Options of a view that protect rows: ALTER TABLE also applies to views. */
const VIEW_OPTIONS: ReadonlySet<string> = keywordSet(
  "SECURITY_BARRIER SECURITY_INVOKER CHECK_OPTION",
);

function translateSetting({ from, to }: AlterAction, { reader, t }: AlterScope): undefined {
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

function translateSwitch({ from, to }: AlterAction, { reader, t }: AlterScope): AlterResult {
  const isRemoval = reader.is(from, "DISABLE") || reader.is(from, "NO");
  for (let at = from + 1; at < from + 3; at++) {
    if (reader.is(at, "ROW", "LEVEL", "SECURITY")) return translateRowSecurity(isRemoval, t);
    const isWholeTable = reader.is(at + 1, "ALL") || reader.is(at + 1, "USER");
    if (reader.is(at, "TRIGGER") && isWholeTable) return { keep: reader.text(from, to) };
  }
  return void t.warn("table-settings");
}

const SETTING_STARTS: ReadonlySet<string> = new Set(["SET", "RESET", "CLUSTER", "REPLICA"]);
const SWITCH_STARTS: ReadonlySet<string> = new Set(["ENABLE", "DISABLE", "FORCE"]);
const FAMILY_STARTS: ReadonlySet<string> = keywordSet("INHERIT NO OF NOT ATTACH DETACH");

function translateAction(action: AlterAction, scope: AlterScope): AlterResult {
  const { reader, target, t } = scope;
  const { from, to } = action;
  const key = reader.key(from);
  switch (action.kind) {
    case "add_column":
      return translateAddColumn(action, scope);
    case "add_constraint":
      return translateAddConstraint(action, scope);
    case "alter_column":
      return translateAlterColumn(action, scope);
    case "drop_constraint":
      if (!isPrimaryKey(target.known, action.name)) break;
      return void t.refuse("primary-key-change", "DROP of a primary key");
    case "drop_column":
      if (isInPrimaryKey(target.known, action.name)) {
        const what = `DROP of column ${action.name} of the primary key`;
        return void t.refuse("primary-key-change", what);
      }
      if (!t.can("drop_column")) return void t.refuse("drop-column-recreate", "DROP COLUMN");
      t.warn("drop-column");
      break;
    case "validate":
      t.apply("validate-constraint");
      return { steps: [validateStep(target, action.constraint.text)] };
    case "other":
      if (SWITCH_STARTS.has(key) || reader.is(from, "NO", "FORCE")) {
        return translateSwitch(action, scope);
      }
      if (SETTING_STARTS.has(key)) return translateSetting(action, scope);
      if (FAMILY_STARTS.has(key)) {
        return void t.refuse("table-inheritance", "inheritance and partitions");
      }
  }
  return { keep: reader.text(from, to) };
}

type KeptAction = Extract<AlterResult, { keep: string }>;

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
  return reader.is(0, "ALTER", "TABLE") ? readAlterActions(reader).length : 0;
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
  const actions = readAlterActions(reader).map((action) => ({
    ...action,
    text: reader.text(action.from, action.to),
    result: translateAction(action, { reader, target, t }),
  }));
  const isUnchanged = actions.every(({ text, result }) =>
    result && "keep" in result && result.keep === text
  );
  if (isUnchanged) {
    const kept = actions.flatMap(({ result }) => result && "keep" in result ? result : []);
    return t.emit(reader.source, { ...guard, ...droppedNotNull(kept) });
  }
  const splits = actions.some(({ result }) => result && "steps" in result);
  const ordered = splits ? inRunOrder(actions) : actions;
  emitResults(ordered.map(({ result }) => result), target, getLead(reader), guard, t);
}

const AFTER_TYPE: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/**
 * Translates SET DEFAULT, DROP DEFAULT and DROP NOT NULL, which required a recreation before the
 * provider supported them.
 */
function keepSince(keep: string, t: StatementTranslation): AlterResult {
  if (t.can("column_defaults")) return { keep };
  return void t.refuse("alter-column-recreate", "ALTER COLUMN");
}

/**
 * Translates a change of type, which requires a recreation with a type that the provider supports.
 */
function changeType(
  { column: { name: column }, valueAt: typeAt, to }: ActionOf<"alter_column">,
  { reader, target, t }: AlterScope,
): undefined {
  const end = reader.findEnd(AFTER_TYPE, typeAt, to);
  const type = translateType(reader, typeAt, end, t, column);
  if (type.isJson && isKey(target.known, column)) {
    t.refuse("index-json-key", `column ${column} of type ${type.name} in a key`, type.name);
  }
  t.refuse("alter-column-type", `a change of column ${column}`);
}

/**
 * Translates ALTER COLUMN of an existing table.
 */
function translateAlterColumn(
  action: ActionOf<"alter_column">,
  scope: AlterScope,
): AlterResult {
  const { column, change, valueAt, from, to } = action;
  const { reader, target, t } = scope;
  const text = reader.text(from, to);
  const edits = new TokenEdits(reader);
  switch (change) {
    case "type":
      return changeType(action, scope);
    case "set_expression":
      return void t.refuse("alter-column-type", `a change of column ${column.name}`);
    case "set_not_null":
      if (!t.can("check_not_valid")) return void t.refuse("set-not-null-recreate", "SET NOT NULL");
      t.apply("set-not-null");
      return notNullSteps(column, undefined, target, t);
    case "drop_not_null":
      if (!t.can("column_defaults")) return keepSince(text, t);
      t.warn("drop-not-null");
      return dropNotNull(text, column, target);
    case "set_default":
    case "drop_default":
      return keepSince(text, t);
    case "add_identity":
      normalizeIdentity(edits, valueAt - 1, to, t);
      break;
    default: {
      const at = column.end;
      const setsStorage = reader.is(at, "SET", "STATISTICS") ||
        reader.is(at, "SET", "COMPRESSION") || reader.is(at, "SET", "(") ||
        reader.is(at, "RESET", "(");
      if (setsStorage) return void t.warn("table-settings");
      normalizeCache(edits, at, to, "identity-cache", t);
    }
  }
  return { keep: edits.isEmpty ? text : edits.apply(from, to) };
}
