import { adaptForStandardPg } from "../../database/distsql/adapt.ts";
import { getIncompatibility } from "../../database/distsql/incompatibilities.ts";
import { DistSqlAction } from "../../database/distsql/incompatibility.ts";
import type { DistSqlOptions } from "../../database/distsql/options.ts";
import type { PlanFinding } from "../../database/migrations/plan_finding.ts";
import {
  type LocatedStatement,
  type SqlSource,
  translateSources,
} from "../../database/migrations/translate_sources.ts";

/** Something that a translation does without a loss. */
export interface TranslationChange {
  /** `change`: written another way, to the same end. `note`: worth knowing. */
  readonly kind: "change" | "note";
  readonly file: string;
  /** The line where the statement begins, from 1. */
  readonly line: number;
  /** The column where the statement begins, from 1. */
  readonly column: number;
  /** The registry's entry. */
  readonly rule?: string;
  readonly message: string;
}

/** A text in the other dialect. */
export interface TranslatedText {
  readonly file: string;
  /** The SQL; not given when something in it cannot be translated. */
  readonly sql?: string;
  /** How many statements cannot be translated. */
  readonly refused: number;
  /** What is refused or behaves differently. */
  readonly findings: readonly PlanFinding[];
  /** What is written another way. */
  readonly changes: readonly TranslationChange[];
}

/**
 * Translates texts to the SQL of a provider. What an earlier text declares (an enum's labels, a domain) counts in the
 * later ones, as in a folder of migrations.
 *
 * @param sources The texts, in order.
 * @param to Whose SQL is wanted.
 * @param options Choices of the translation.
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
  const told = new Set([...refusals, ...warnings].map(({ id }) => id));
  return rules.filter((rule) => !told.has(rule)).map((rule) => {
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
      ? "left out: IAM mappings and the provider's jobs are not PostgreSQL's"
      : "ASYNC is taken out: PostgreSQL does it at once";
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
