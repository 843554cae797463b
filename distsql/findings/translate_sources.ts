import { readName } from "../../sql/sql_name.ts";
import { RecreationRequiredError, UnsupportedStatementError } from "../translate/context/errors.ts";
import { getIncompatibility } from "../registry/incompatibilities.ts";
import type { DistSqlOptions } from "../translate/context/options.ts";
import type { SqlStatement } from "../../sql/statement.ts";
import { parseStatement, StatementReader } from "../../sql/statement_reader.ts";
import { isTransactionControl } from "../../sql/transaction_blocks.ts";
import { isTransactionSetting } from "../../sql/setting_statements.ts";
import { fromEntry, type Problem, SETTING_OF_NOTHING } from "./transaction_findings.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import {
  createLocator,
  findFirstWord,
  stripMark,
  type TextPosition,
} from "../../sql/text_position.ts";
import { type TranslatedStatement, translateStatements } from "../translate/translate_text.ts";
import type { DistSqlWarning } from "../translate/context/translation.ts";
import { RecreationError } from "../recreate/recreation_error.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { type DeclaredSchema, findObject } from "../schema/declared_schema.ts";
import { toTableSchema } from "../schema/to_table_schema.ts";
import { applyAlter } from "../recreate/alter.ts";
import { buildCreateTableSql } from "../recreate/create_table.ts";
import { declareTypes, generateRecreationPlan } from "../recreate/plan.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { translateForDistSql } from "../translate/sanitize.ts";

/** Named SQL text. */
export interface SqlSource {
  /** The file's name. */
  readonly name: string;
  /** The content, with or without a byte order mark. */
  readonly sql: string;
}

/** Translated statement with its position in the text. */
export type LocatedStatement = TranslatedStatement & TextPosition;

/** SQL text, translated for the distributed-SQL provider. */
export interface TranslatedSource {
  /** The file's name. */
  readonly name: string;
  /** Its statements, in order. */
  readonly statements: readonly LocatedStatement[];
  /** Errors and warnings, in the order of the statements. */
  readonly findings: readonly PlanFinding[];
}

/**
 * Translates texts for the distributed-SQL provider and collects errors and warnings. Declarations
 * in earlier texts (tables, enums, domains) are known in later ones. A table recreation is a warning,
 * because `runMigrations` performs it.
 *
 * @param sources The texts, in order.
 * @param options Translation options.
 * @returns One entry per text.
 * @throws {ConfigurationError} If an option has an unknown value or an invalid date.
 *
 * @example
 * ```ts
 * import { translateSources } from "@trellis/fn/distsql";
 *
 * const sources = [
 *   { name: "a.sql", sql: "CREATE TYPE mood AS ENUM ('sad', 'ok');" },
 *   { name: "b.sql", sql: "CREATE TABLE notes (id int PRIMARY KEY, mood mood);" },
 * ];
 * const refused = translateSources(sources, {}).flatMap(({ findings }) => findings);
 * console.log(refused.map(({ file, rule, type }) => `${file} ${rule} ${type}`));
 * // ["a.sql create-type mood", "b.sql type-user-defined mood"]
 * console.log(translateSources(sources, { enums: "check" }).flatMap(({ findings }) => findings)); // []
 * ```
 */
export function translateSources(
  sources: readonly SqlSource[],
  options: DistSqlOptions,
): TranslatedSource[] {
  let known = options;
  return sources.map(({ name, sql }) => {
    const text = stripMark(sql);
    const { statements, scope } = translateStatements(text, known);
    known = { ...known, declared: scope.declared };
    const locate = createLocator(text);
    const located = statements.map((one) => ({ ...one, ...locate(findFirstWord(one.source)) }));
    const findings = located.flatMap((one) => findInStatement(name, one, located.length));
    return { name, statements: located, findings };
  });
}

function findInStatement(file: string, located: LocatedStatement, count: number): PlanFinding[] {
  const { source, line, column, subject, table, refusals, warnings } = located;
  const problem = refusals.length > 0 ? undefined : findProblem(source, count);
  if (refusals.length === 0 && warnings.length === 0 && problem === undefined) return [];
  const statement = maskStatement(source.tokens);
  const place = { file, line, column, statement, ...(table === undefined ? {} : { table }) };
  const found: PlanFinding[] = [
    ...refusals.map((refusal) => ({ ...place, ...fromRefusal(refusal) })),
    ...(problem === undefined ? [] : [{ severity: "error" as const, ...place, ...problem }]),
    ...findBlocked(located).map((found) => ({ ...place, ...found })),
    ...warnings.map((warning) => ({ ...place, ...fromWarning(warning, subject) })),
  ];
  return found.sort((a, b) => Number(b.severity === "error") - Number(a.severity === "error"));
}

/**
 * Finds statements that the provider accepts in a session, but that make no sense in a migration
 * file.
 */
function findProblem({ tokens }: SqlStatement, count: number): Problem | undefined {
  const reader = new StatementReader(tokens);
  if (isTransactionSetting(reader)) return SETTING_OF_NOTHING;
  return count === 1 && isTransactionControl(reader)
    ? fromEntry("transaction-unpaired", reader)
    : undefined;
}

type Found = Pick<PlanFinding, "severity" | "rule" | "message" | "advice" | "type">;

function fromRefusal(refusal: UnsupportedStatementError | RecreationRequiredError): Found {
  const { id, summary, advice, type } = refusal;
  const severity = refusal instanceof RecreationRequiredError ? "warning" : "error";
  return { severity, rule: id, ...(type === undefined ? {} : { type }), message: summary, advice };
}

/** Finds the reason why a table cannot be recreated, if no other error was found. */
function findBlocked({ steps, refusals, subject, before }: LocatedStatement): Found[] {
  const isRefused = refusals.some((refusal) => !(refusal instanceof RecreationRequiredError));
  if (isRefused) return [];
  return steps.filter(({ recreates }) => recreates).flatMap(({ sql }): Found[] => {
    try {
      simulateRecreation(before, sql);
      return [];
    } catch (error) {
      if (error instanceof UnsupportedStatementError) return [fromRefusal(error)];
      if (!(error instanceof RecreationError)) throw error;
      const message = `${subject}: the table cannot be recreated: ${error.message}`;
      return [{ severity: "error", rule: "recreation-blocked", message, advice: BLOCKED }];
    }
  });
}

const BLOCKED =
  "Drop the named objects in statements before this one, and create them again after it.";

function fromWarning({ id, message, type }: DistSqlWarning, subject: string): Found {
  const { title, advice } = getIncompatibility(id)!;
  const what = message === advice ? title : message;
  const found = { severity: "warning", rule: id, message: `${subject}: ${what}`, advice } as const;
  return type === undefined ? found : { ...found, type };
}

/**
 * Plans the recreation of a table from its declaration in the files, as the run will plan it from
 * the catalog. Changes nothing. Skips tables that the files do not declare.
 *
 * @param before Declarations before the statement.
 * @param sql The ALTER TABLE statement that requires the recreation.
 * @throws {RecreationError} If the change is impossible, or would break dependent objects.
 * @throws {UnsupportedStatementError} If the provider does not support the resulting table.
 */
function simulateRecreation(before: DeclaredSchema, sql: string): void {
  const reader = parseStatement(sql);
  const written = readName(reader, reader.alteredTableAt());
  const table = findObject(before.tables, written);
  if (table === undefined || !table.isComplete) return;
  const current = toTableSchema(table, before);
  if (!canHave(current)) return;
  generateRecreationPlan(current, applyAlter(current, sql, true), 0);
}

/**
 * Checks whether the provider supports the current table; if not, its CREATE TABLE is already
 * rejected.
 */
function canHave(current: TableSchema): boolean {
  const sql = buildCreateTableSql(current.name, current);
  return translateForDistSql(sql, { declared: declareTypes(current) }).refusals.length === 0;
}
