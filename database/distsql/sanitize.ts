import { DistSqlAction } from "./incompatibility.ts";
import { getIncompatibility } from "./incompatibilities.ts";
import type { DistSqlOptions } from "./options.ts";
import { type SqlStatement, STATEMENT_BREAKPOINT, terminateStatement } from "./statement.ts";
import { getDeclarations, translateStatements } from "./translate_text.ts";
import type { DistSqlStep, DistSqlTranslation, DistSqlWarning } from "./translation.ts";

/** Whether the provider gets what was written, word for word. */
function isAsWritten(
  sources: readonly SqlStatement[],
  statements: readonly DistSqlStep[],
): boolean {
  return sources.length === 1 && statements.length === 1 && statements[0].sql === sources[0].text;
}

function getAction(
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
  const { statements: translated, scope } = translateStatements(sql, options);
  const warnings = new Map<string, DistSqlWarning>(); // each once
  for (const warning of translated.flatMap((one) => one.warnings)) {
    warnings.set(`${warning.id}\0${warning.table ?? ""}\0${warning.message}`, warning);
  }
  const refusals = translated.flatMap((one) => one.refusals);
  const statements = translated.flatMap((one) => one.refusals.length === 0 ? one.steps : []);
  const rules = new Set(
    translated.length === 0 ? ["empty-statement"] : translated.flatMap((one) => one.rules),
  );
  const sources = translated.map(({ source }) => source);
  return {
    statements,
    warnings: [...warnings.values()],
    rules: [...rules],
    refusals,
    action: getAction(sources, statements, refusals, warnings.size > 0),
    table: translated.find(({ table }) => table !== undefined)?.table,
    ...getDeclarations(scope),
  };
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
  return statements.map((statement) => terminateStatement(statement.sql)).join(
    `\n${STATEMENT_BREAKPOINT}\n`,
  );
}
