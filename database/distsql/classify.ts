import { DistSqlAction } from "./incompatibility.ts";
import { getIncompatibility } from "./incompatibilities.ts";
import type { DistSqlOptions } from "./options.ts";
import { translateForDistSql } from "./sanitize.ts";
import type { DistSqlTranslation } from "./translation.ts";

/** What kind of treatment a statement needs on the distributed-SQL provider. */
export interface StatementClassification {
  /**
   * `compatible`: runs as it is or after a rewrite. `create_index`: starts a job to wait for.
   * `needs_recreation`: the table is made again, or changed in steps. `unsupported_strip`: left out, or refused.
   */
  readonly type: "compatible" | "create_index" | "needs_recreation" | "unsupported_strip";
  /** Why, and what is done. */
  readonly description: string;
  /** The table that the statement is about, without quotes; with its schema when the statement names one. */
  readonly table?: string;
}

function typeOf(translation: DistSqlTranslation): StatementClassification["type"] {
  const { statements, refusals, rules } = translation;
  if (refusals.some((refusal) => refusal.code === "UNSUPPORTED_STATEMENT")) {
    return "unsupported_strip";
  }
  if (refusals.length > 0) return "needs_recreation";
  if (statements.length === 0) return "unsupported_strip";
  if (rules.some((id) => getIncompatibility(id)!.action === DistSqlAction.Recreate)) {
    return "needs_recreation";
  }
  return statements.some((statement) => statement.job?.kind === "index")
    ? "create_index"
    : "compatible";
}

function getDescription(translation: DistSqlTranslation): string {
  const refusal = translation.refusals.find((one) => one.code === "UNSUPPORTED_STATEMENT") ??
    translation.refusals[0];
  if (refusal) return refusal.message;
  const entries = translation.rules.map((id) => getIncompatibility(id)!);
  if (entries.length === 0) return "Runs as it is.";
  return entries.map((entry) => `${entry.title}: ${entry.advice}`).join(" ");
}

/**
 * Says what a statement needs on the distributed-SQL provider. For the statements to run, see `translateForDistSql`; of
 * several statements the one that needs most decides.
 *
 * @param stmt SQL of PostgreSQL, or of the provider already.
 * @param options The day whose rules apply, and choices where there is more than one way.
 * @returns The type, the reason, and the table where the statement names one.
 * @throws {ConfigurationError} when an option has a value that the provider or the calendar does not know.
 *
 * @example
 * ```ts
 * import { classifyStatement } from "@trellis/fn/database";
 *
 * console.log(classifyStatement('CREATE INDEX "i" ON "notes" ("at")').type); // create_index
 * console.log(classifyStatement('ALTER TABLE "notes" ALTER "at" TYPE text').table); // notes
 * ```
 */
export function classifyStatement(
  stmt: string,
  options: DistSqlOptions = {},
): StatementClassification {
  const translation = translateForDistSql(stmt, options);
  const { table } = translation;
  const classification = { type: typeOf(translation), description: getDescription(translation) };
  return table === undefined ? classification : { ...classification, table };
}
