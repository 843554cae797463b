import { readName } from "../../sql/sql_name.ts";
import { findObject, getKey } from "../schema/declared_schema.ts";
import { readAlterActions } from "../syntax/alter_action.ts";
import { RecreationRequiredError } from "./context/errors.ts";
import { lowerStatement } from "./lower/lower_statement.ts";
import { addsColumnWithNamedConstraint, countActions } from "./rules/alter_table.ts";
import { unwrapDoBlock } from "../syntax/do_block.ts";
import { translateExpressions } from "./rules/expressions.ts";
import { translatePsql } from "./rules/session.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { findRule, keep } from "./statement_rules.ts";
import { getObject, getTable, objectAt } from "../syntax/statement_table.ts";
import type { StatementTranslation } from "./context/translation.ts";
import { keywordSet } from "../../sql/list_words.ts";

const DEFINED_WITH_EXPRESSIONS: ReadonlySet<string> = new Set(["TABLE", "INDEX", "DOMAIN", "VIEW"]);
const QUERIES: ReadonlySet<string> = keywordSet(
  "SELECT WITH INSERT VALUES EXPLAIN ( UPDATE DELETE CALL",
);

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
  const written = readName(statement, statement.alteredTableAt());
  const table = findObject(t.before.tables, written);
  return table !== undefined && readAlterActions(statement).some((action) => {
    if (action.kind !== "alter_column" || action.change !== "add_identity") return false;
    const { type } = table.columns.find(({ name }) => name === action.column.name) ?? {};
    return type !== undefined && !/^"?(?:bigint|int8)"?$/i.test(type.trim());
  });
}

/** Rejects the recreation of a table that a view reads, since the view would be lost. */
function refuseViews(statement: StatementReader, t: StatementTranslation): void {
  const { tables, views } = t.before;
  const table = findObject(
    tables,
    readName(statement, statement.alteredTableAt()),
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
  if (first === "DO") translateDo(reader, t);
  else (findRule(reader) ?? keep)(reader, t);
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
