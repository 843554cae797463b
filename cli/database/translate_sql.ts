import { adaptForStandardPg } from "../../distsql/translate/adapt.ts";
import { getIncompatibility } from "../../distsql/registry/incompatibilities.ts";
import { DistSqlAction } from "../../distsql/registry/incompatibility.ts";
import type { DistSqlOptions } from "../../distsql/translate/context/options.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import {
  type LocatedStatement,
  type SqlSource,
  translateSources,
} from "../../distsql/findings/translate_sources.ts";

/** A change of a statement that preserves its meaning. */
export interface TranslationChange {
  /** `change`: the statement is rewritten. `note`: a remark without a change. */
  readonly kind: "change" | "note";
  readonly file: string;
  /** The 1-based line where the statement begins. */
  readonly line: number;
  /** The 1-based column where the statement begins. */
  readonly column: number;
  /** The id of the rule. */
  readonly rule?: string;
  readonly message: string;
}

/** A translated text. */
export interface TranslatedText {
  readonly file: string;
  /** The SQL; omitted if a statement cannot be translated. */
  readonly sql?: string;
  /** The number of statements that cannot be translated. */
  readonly refused: number;
  /** Statements that are not supported or behave differently. */
  readonly findings: readonly PlanFinding[];
  /** Statements that are rewritten. */
  readonly changes: readonly TranslationChange[];
}

/**
 * Translates texts to the SQL of a provider. Declarations in a text (labels of an enum, a domain)
 * apply to the following texts, as in a folder of migrations.
 *
 * @param sources The texts in order.
 * @param to The dialect of the result.
 * @returns One entry for each text.
 */
export function translateTexts(
  sources: readonly SqlSource[],
  to: "distsql" | "postgres",
  options: DistSqlOptions,
): TranslatedText[] {
  return translateSources(sources, options).map(({ name, statements, findings }) => {
    if (to === "postgres") return adaptText(name, statements);
    const changes = statements.flatMap((statement) => listChanges(name, statement));
    const refused = statements.filter(({ refusals }) => refusals.length > 0).length;
    if (refused > 0) return { file: name, refused, findings, changes };
    const written = statements.flatMap(({ steps }) =>
      steps.map(({ sql }) => `${sql.trim().replace(/;?$/, ";")}\n`)
    );
    return { file: name, refused, findings, changes, sql: written.join("") };
  });
}

function listChanges(file: string, statement: LocatedStatement): TranslationChange[] {
  const { source, line, column, steps, rules, refusals, warnings } = statement;
  const isUnchanged = refusals.length === 0 && steps.length === 1 && steps[0].sql === source.text;
  if (isUnchanged) return [];
  const reported = new Set([...refusals, ...warnings].map(({ id }) => id));
  return rules.filter((rule) => !reported.has(rule)).map((rule) => {
    const { title, advice, action } = getIncompatibility(rule)!;
    const isNote = action === DistSqlAction.Warn || action === DistSqlAction.Compatible;
    return {
      kind: isNote ? "note" : "change",
      file,
      line,
      column,
      rule,
      message: `${title}: ${advice}`,
    };
  });
}

function adaptText(file: string, statements: readonly LocatedStatement[]): TranslatedText {
  const changes: TranslationChange[] = [];
  const written: string[] = [];
  for (const { source: { text }, line, column } of statements) {
    const adapted = adaptForStandardPg(text);
    if (adapted !== "") written.push(adapted);
    if (adapted === text) continue;
    const message = adapted === ""
      ? "removed: PostgreSQL has no IAM mappings and no asynchronous jobs"
      : "ASYNC is removed: PostgreSQL runs the statement synchronously";
    changes.push({ kind: "change", file, line, column, message });
  }
  return {
    file,
    refused: 0,
    findings: [],
    changes,
    sql: written.map((sql) => `${sql.replace(/;?$/, ";")}\n`).join(""),
  };
}
