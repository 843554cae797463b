#!/usr/bin/env -S deno run --allow-read --allow-write
/**
 * Writes docs/reference/distsql.md from the registry. With `--check` it writes nothing and fails if
 * the file is stale.
 *
 *   deno run -A scripts/distsql_reference.ts [--check]
 */
import {
  CAPABILITIES_AS_OF,
  DIST_SQL_CAPABILITIES,
  DIST_SQL_SOURCES,
} from "../distsql/registry/capabilities.ts";
import {
  DistSqlCategory,
  type DistSqlIncompatibility,
} from "../distsql/registry/incompatibility.ts";
import { getByCategory } from "../distsql/registry/incompatibilities.ts";
import { writeOrCheck } from "./generated_file.ts";

const TITLES: Readonly<Record<DistSqlCategory, string>> = {
  [DistSqlCategory.DDL]: "Tables, columns, constraints and other objects",
  [DistSqlCategory.Index]: "Indexes",
  [DistSqlCategory.DataType]: "Column types",
  [DistSqlCategory.Function]: "Functions, triggers, extensions",
  [DistSqlCategory.DML]: "Queries and changes of rows",
  [DistSqlCategory.Transaction]: "Transactions",
  [DistSqlCategory.Permission]: "Roles and grants",
  [DistSqlCategory.Connection]: "Sessions",
  [DistSqlCategory.SystemCatalog]: "Catalogs and jobs",
};

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function sources(keys: readonly string[]): string {
  return keys.map((key) => `[${key}](#${key.toLowerCase()})`).join(" ");
}

function answer({ sqlState, message }: DistSqlIncompatibility): string {
  return [sqlState, message && `\`${message}\``].filter(Boolean).join(" ");
}

function days({ since, until }: DistSqlIncompatibility): string {
  return [since && `from ${since}`, until && `until ${until}`].filter(Boolean).join(" ");
}

function category(name: DistSqlCategory): string[] {
  const rows = getByCategory(name).map((entry) =>
    [
      `\`${entry.id}\``,
      cell(entry.title),
      entry.action,
      cell(entry.advice),
      days(entry),
      cell(answer(entry)),
      `${entry.evidence} ${sources(entry.source)}`,
    ].join(" | ")
  );
  return [
    `## ${TITLES[name]}`,
    "",
    "| id | PostgreSQL | action | effect and advice | dates | server error | source |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
    "",
  ];
}

function render(): string {
  return [
    "# Aurora DSQL: differences from PostgreSQL",
    "",
    "Generated from the registry `DIST_SQL_INCOMPATIBILITIES` by `scripts/distsql_reference.ts`: " +
    "change the registry, not this file.",
    `The newest observation is from ${CAPABILITIES_AS_OF}. ` +
    `The provider may support more since then.`,
    "",
    "The column *action* describes what `translateForDistSql` does:",
    "",
    "- **Compatible**: kept. **Warn**: kept, with a warning. " +
    "**Rewrite**: replaced by an equivalent statement.",
    "- **Strip**: removed. `sanitizeForDistSql` returns `null` if nothing remains.",
    "- **Recreate**: the table is recreated " +
    "(`RecreationRequiredError`), or changed in the listed steps.",
    "- **Error**, **AppLayer**: rejected with the advice (`UnsupportedStatementError`).",
    "",
    "The option `asOf` selects the rules of an earlier date.",
    "",
    "## Features by date",
    "",
    "| from | feature | source |",
    "|---|---|---|",
    ...Object.values(DIST_SQL_CAPABILITIES).map(({ since, title, source }) =>
      `| ${since} | ${cell(title)} | ${sources(source)} |`
    ),
    "",
    ...Object.values(DistSqlCategory).flatMap(category),
    "## Sources",
    "",
    ...Object.entries(DIST_SQL_SOURCES).map(([key, { title, url }]) =>
      `- <a id="${key.toLowerCase()}"></a>**${key}**: ${url ? `[${title}](${url})` : title}`
    ),
    "",
  ].join("\n");
}

await writeOrCheck("docs/reference/distsql.md", render(), "distsql_reference.ts");
