import { DistSqlAction } from "../registry/incompatibility.ts";
import { getIncompatibility } from "../registry/incompatibilities.ts";
import type { DistSqlOptions } from "./context/options.ts";
import { translateForDistSql } from "./sanitize.ts";
import type { DistSqlTranslation } from "./context/translation.ts";

/** Classification of a statement for the distributed-SQL provider. */
export interface StatementClassification {
  /**
   * `compatible`: runs unchanged or rewritten. `create_index`: starts a job to wait for.
   * `needs_recreation`: the table is recreated, or changed in steps. `unsupported_strip`: omitted
   * or rejected.
   */
  readonly type: "compatible" | "create_index" | "needs_recreation" | "unsupported_strip";
  /** Reason and treatment. */
  readonly description: string;
  /** Table of the statement without quotes; with its schema if the statement names one. */
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
  if (entries.length === 0) return "Runs unchanged.";
  return entries.map((entry) => `${entry.title}: ${entry.advice}`).join(" ");
}

/**
 * Classifies a statement for the distributed-SQL provider. For several statements, returns the
 * class that needs the most work. `translateForDistSql` returns the statements to run.
 *
 * @param stmt SQL of PostgreSQL or of the provider.
 * @param options Translation options.
 * @returns The class, the reason, and the table if the statement names one.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
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
