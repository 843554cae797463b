import {
  adaptForStandardPg,
  DistSqlAction,
  type DistSqlOptions,
  getIncompatibility,
  splitStatements,
  translateForDistSql,
} from "../../database/mod.ts";

/** A text of SQL and what to call it. */
export interface SqlSource {
  readonly name: string;
  readonly sql: string;
}

/** Something about a statement that is to be known. */
export interface TranslationFinding {
  readonly file: string;
  /** The line where the statement begins, from 1. */
  readonly line: number;
  /**
   * `note`: worth knowing. `change`: written another way, to the same end. `differs`: it behaves differently. `refused`: it
   * cannot be translated.
   */
  readonly kind: "note" | "change" | "differs" | "refused";
  /** The registry's entry. */
  readonly rule?: string;
  readonly message: string;
}

/** A text in the other dialect. */
export interface TranslatedSource {
  readonly file: string;
  /** The SQL; not given when something in it cannot be translated. */
  readonly sql?: string;
  readonly findings: readonly TranslationFinding[];
}

/**
 * Translates texts to the SQL of a provider. What an earlier text declares (an enum's labels, a domain) counts in the later
 * ones, as in a folder of migrations.
 *
 * @param sources The texts, in order.
 * @param to Whose SQL is wanted.
 * @param options Choices of the translation.
 * @returns One entry for each text.
 */
export function translateSources(
  sources: readonly SqlSource[],
  to: "distsql" | "postgres",
  options: DistSqlOptions,
): TranslatedSource[] {
  if (to === "postgres") return sources.map(adaptSource);
  let known = options;
  return sources.map((source) => {
    const translated = translateSource(source, known);
    const { enumLabels, domains } = translateForDistSql(source.sql, known);
    known = {
      ...known,
      enumLabels: { ...known.enumLabels, ...enumLabels },
      domains: [...known.domains ?? [], ...domains],
    };
    return translated;
  });
}

function lineOf(sql: string, offset: number): number {
  return sql.slice(0, offset).split("\n").length;
}

/** Where a statement's first word stands, after the comments before it. */
function startOf({ start, tokens }: ReturnType<typeof splitStatements>[number]): number {
  let at = start;
  for (const { kind, text } of tokens) {
    if (kind !== "space" && kind !== "line_comment" && kind !== "block_comment") break;
    at += text.length;
  }
  return at;
}

function translateSource({ name: file, sql }: SqlSource, options: DistSqlOptions): TranslatedSource {
  const findings: TranslationFinding[] = [];
  let known = options;
  for (const statement of splitStatements(sql)) {
    const line = lineOf(sql, startOf(statement));
    const { refusals, warnings, rules, action, enumLabels, domains } = translateForDistSql(statement.text, known);
    known = {
      ...known,
      enumLabels: { ...known.enumLabels, ...enumLabels },
      domains: [...known.domains ?? [], ...domains],
    };
    for (const { id, message } of refusals) findings.push({ file, line, kind: "refused", rule: id, message });
    for (const { id, message } of warnings) findings.push({ file, line, kind: "differs", rule: id, message });
    const told = new Set([...refusals, ...warnings].map(({ id }) => id));
    if (action === DistSqlAction.Compatible) continue;
    for (const rule of rules) {
      const entry = told.has(rule) ? undefined : getIncompatibility(rule);
      if (entry === undefined) continue;
      const isNote = entry.action === DistSqlAction.Warn || entry.action === DistSqlAction.Compatible;
      const message = `${entry.title}: ${entry.advice}`;
      findings.push({ file, line, kind: isNote ? "note" : "change", rule, message });
    }
  }
  // the text as a whole: what a later statement says about an earlier one counts
  const { statements, refusals } = translateForDistSql(sql, options);
  if (refusals.length > 0) return { file, findings };
  const written = statements.map(({ sql }) => sql.trim().replace(/;?$/, ";"));
  return { file, findings, sql: written.map((statement) => `${statement}\n`).join("") };
}

function adaptSource({ name: file, sql }: SqlSource): TranslatedSource {
  const findings: TranslationFinding[] = [];
  for (const statement of splitStatements(sql)) {
    const adapted = adaptForStandardPg(statement.text);
    if (adapted === statement.text) continue;
    const message = adapted === ""
      ? "left out: IAM mappings and the provider's jobs are not PostgreSQL's"
      : "ASYNC is taken out: PostgreSQL does it at once";
    findings.push({ file, line: lineOf(sql, startOf(statement)), kind: "change", message });
  }
  return { file, findings, sql: adaptForStandardPg(sql) };
}
