import type { RecreationRequiredError, UnsupportedStatementError } from "./errors.ts";
import { DistSqlAction } from "./incompatibility.ts";
import { getIncompatibility } from "./incompatibilities.ts";
import { type DistSqlOptions, resolveOptions } from "./options.ts";
import { readName } from "./sql_name.ts";
import { splitStatements, type SqlStatement, STATEMENT_BREAKPOINT, terminateStatement } from "./statement.ts";
import { StatementReader } from "./statement_reader.ts";
import { translateStatement } from "./translate_statement.ts";
import {
  type DistSqlStep,
  type DistSqlTranslation,
  type DistSqlWarning,
  StatementTranslation,
  type TextScope,
} from "./translation.ts";

/** What statements elsewhere in the text decide; only what may say so is read for it. */
function lookAhead(sources: readonly SqlStatement[]): { validated: Set<string>; rollsBack: boolean } {
  const validated = new Set<string>();
  let rollsBackAnywhere = false;
  for (const { text, tokens } of sources) {
    const mayValidate = /validate/i.test(text);
    if (!mayValidate && !/rollback|abort/i.test(text)) continue;
    const reader = new StatementReader(tokens);
    rollsBackAnywhere ||= rollsBack(reader);
    if (mayValidate) collectValidated(reader, validated);
  }
  return { validated, rollsBack: rollsBackAnywhere };
}

/** The constraints that a statement validates, by name. */
function collectValidated(reader: StatementReader, names: Set<string>): void {
  if (!reader.is(0, "ALTER", "TABLE")) return;
  for (let at = 2; at < reader.size; at++) {
    if (reader.is(at, "VALIDATE", "CONSTRAINT")) names.add(readName(reader, at + 2).name);
  }
}

const TO: ReadonlySet<string> = new Set(["TO"]);

function rollsBack(reader: StatementReader): boolean {
  const isRollback = reader.is(0, "ROLLBACK") || reader.is(0, "ABORT");
  return isRollback && reader.find(TO, 1) < 0;
}

/** Whether the provider gets what was written, word for word. */
function isAsWritten(sources: readonly SqlStatement[], statements: readonly DistSqlStep[]): boolean {
  return sources.length === 1 && statements.length === 1 && statements[0].sql === sources[0].text;
}

function actionOf(
  sources: readonly SqlStatement[],
  statements: readonly DistSqlStep[],
  refusals: DistSqlTranslation["refusals"],
  hasWarnings: boolean,
): DistSqlAction {
  if (refusals.length > 0) return getIncompatibility(refusals[0].id)!.action;
  if (statements.length === 0) return DistSqlAction.Strip;
  if (!isAsWritten(sources, statements)) return DistSqlAction.Rewrite;
  return hasWarnings ? DistSqlAction.Warn : DistSqlAction.Compatible;
}

/**
 * Translates PostgreSQL's SQL for the distributed-SQL provider: one statement or a whole migration, cut at semicolons and
 * at drizzle-kit's breakpoints. What protects data (foreign keys, checks, unique constraints, predicates) is kept, in
 * steps where it takes several; what cannot be said is a refusal with advice. Translating the result again changes nothing.
 *
 * It never throws for a statement: look at `refusals` before running anything.
 *
 * @param sql SQL of PostgreSQL, or of the provider already.
 * @param options The day whose rules apply, and choices where there is more than one way.
 * @returns What to run, one statement a transaction, with the jobs to wait for, warnings, rules and refusals.
 * @throws {ConfigurationError} when an option has a value that the provider or the calendar does not know.
 *
 * @example
 * ```ts
 * import { translateForDistSql } from "@trellis/fn/database";
 *
 * const { statements } = translateForDistSql('ALTER TABLE "notes" ADD CONSTRAINT "short" CHECK (length("text") < 99);');
 * console.log(statements.map((statement) => [statement.sql, statement.job?.kind]));
 * // ALTER TABLE "notes" ADD CONSTRAINT "short" CHECK (length("text") < 99) NOT VALID;
 * // ALTER TABLE ASYNC "notes" VALIDATE CONSTRAINT "short"; (constraint)
 * ```
 */
export function translateForDistSql(sql: string, options: DistSqlOptions = {}): DistSqlTranslation {
  const resolved = resolveOptions(options);
  const sources = splitStatements(sql);
  const scope: TextScope = {
    options: resolved,
    enumLabels: new Map(Object.entries(resolved.enumLabels).map(([name, labels]) => [name, labels.map(quoteLabel)])),
    domains: new Set(resolved.domains),
    names: new Map(),
    statementCount: sources.length,
    ...lookAhead(sources),
  };
  const statements: DistSqlStep[] = [];
  const warnings = new Map<string, DistSqlWarning>(); // each once
  const refusals: (UnsupportedStatementError | RecreationRequiredError)[] = [];
  const rules = new Set<string>();
  let table: string | undefined;
  for (const { tokens } of sources) {
    const t = new StatementTranslation(scope);
    translateStatement(new StatementReader(tokens), t);
    table ??= t.table;
    if (t.refusals.length === 0) statements.push(...t.steps);
    for (const warning of t.warnings) {
      warnings.set(`${warning.id}\0${warning.table ?? ""}\0${warning.message}`, warning);
    }
    refusals.push(...t.refusals);
    for (const rule of t.rules) rules.add(rule);
  }
  if (sources.length === 0) rules.add("empty-statement");
  return {
    statements,
    warnings: [...warnings.values()],
    rules: [...rules],
    refusals,
    action: actionOf(sources, statements, refusals, warnings.size > 0),
    table,
    enumLabels: Object.fromEntries([...scope.enumLabels].map(([name, labels]) => [name, labels.map(unquoteLabel)])),
    domains: [...scope.domains],
  };
}

function quoteLabel(label: string): string {
  return `'${label.replaceAll("'", "''")}'`;
}

function unquoteLabel(literal: string): string {
  return literal.startsWith("'") ? literal.slice(1, -1).replaceAll("''", "'") : literal;
}

/**
 * Rewrites SQL of PostgreSQL for the distributed-SQL provider, as one string: several statements are joined by
 * drizzle-kit's breakpoint, because each needs a transaction of its own. See {@link translateForDistSql} for a list.
 *
 * @param stmt SQL of PostgreSQL, or of the provider already.
 * @param options The day whose rules apply, and choices where there is more than one way.
 * @returns The SQL, or `null` when all of it may be left out.
 * @throws {UnsupportedStatementError} when a statement is refused by the provider and leaving it out would lose something.
 * @throws {RecreationRequiredError} when the table has to be made again, and nothing else stands in the way.
 * @throws {ConfigurationError} when an option has a value that the provider or the calendar does not know.
 *
 * @example
 * ```ts
 * import { sanitizeForDistSql } from "@trellis/fn/database";
 *
 * console.log(sanitizeForDistSql("CREATE INDEX notes_at ON notes USING btree (at DESC)"));
 * // CREATE INDEX ASYNC notes_at ON notes (at)
 * console.log(sanitizeForDistSql("VACUUM notes")); // null
 * ```
 */
export function sanitizeForDistSql(stmt: string, options: DistSqlOptions = {}): string | null {
  const { statements, refusals } = translateForDistSql(stmt, options);
  if (refusals.length > 0) {
    throw refusals.find((refusal) => refusal.code === "UNSUPPORTED_STATEMENT") ?? refusals[0];
  }
  if (statements.length === 0) return null;
  if (statements.length === 1) return statements[0].sql;
  return statements.map((statement) => terminateStatement(statement.sql)).join(`\n${STATEMENT_BREAKPOINT}\n`);
}
