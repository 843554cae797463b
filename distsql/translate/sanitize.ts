import { DistSqlAction } from "../registry/incompatibility.ts";
import { getIncompatibility } from "../registry/incompatibilities.ts";
import type { DistSqlOptions } from "./context/options.ts";
import {
  type SqlStatement,
  STATEMENT_BREAKPOINT,
  terminateStatement,
} from "../../sql/statement.ts";
import { translateStatements } from "./translate_text.ts";
import type { DistSqlStep, DistSqlTranslation, DistSqlWarning } from "./context/translation.ts";

/** Checks whether a statement is unchanged. */
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
 * Translates PostgreSQL's SQL for the distributed-SQL provider: one statement or a whole migration,
 * split at semicolons and drizzle-kit's breakpoints. Keeps everything that protects data (foreign
 * keys, checks, unique constraints, predicates), in several steps if necessary. Statements without
 * an equivalent are refusals with advice. The translation is idempotent.
 *
 * Never throws for a statement: check `refusals` before running anything.
 *
 * @param sql SQL of PostgreSQL or of the provider.
 * @param options Translation options.
 * @returns Statements to run, one per transaction, with jobs to wait for, warnings, rules and
 * refusals.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
 *
 * @example
 * ```ts
 * import { translateForDistSql } from "@trellis/fn/distsql";
 *
 * const { statements } = translateForDistSql('ALTER TABLE "notes" ADD CONSTRAINT "short" CHECK (length("text") < 99);');
 * console.log(statements.map((statement) => [statement.sql, statement.job?.kind]));
 * // ALTER TABLE "notes" ADD CONSTRAINT "short" CHECK (length("text") < 99) NOT VALID;
 * // ALTER TABLE ASYNC "notes" VALIDATE CONSTRAINT "short"; (constraint)
 * ```
 */
export function translateForDistSql(sql: string, options: DistSqlOptions = {}): DistSqlTranslation {
  const { statements: translated, scope } = translateStatements(sql, options);
  const warnings = new Map<string, DistSqlWarning>(); // without duplicates
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
    declared: scope.declared,
  };
}

/**
 * Translates SQL for the distributed-SQL provider to one string. Several statements are joined by
 * drizzle-kit's breakpoint, because each needs a separate transaction. {@link translateForDistSql}
 * returns a list.
 *
 * @param stmt SQL of PostgreSQL or of the provider.
 * @param options Translation options.
 * @returns The SQL, or `null` if all of it can be omitted.
 * @throws {UnsupportedStatementError} If the provider rejects a statement that cannot be omitted
 * without loss.
 * @throws {RecreationRequiredError} If the table must be recreated, and there is no other error.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
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
