#!/usr/bin/env -S deno run --allow-read --allow-write
/**
 * Writes docs/reference/distsql.md from the registry. With `--check` it writes nothing and fails if
 * the file is stale.
 *
 *   deno run -A scripts/distsql_reference.ts [--check]
 */
import { CAPABILITIES_AS_OF } from "../distsql/registry/capabilities.ts";
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

/** SQLSTATE of a feature that is not supported, which the table leaves out. */
const NOT_SUPPORTED = "0A000";

/** Returns the server's answer without the translation, or the empty string. */
function answer({ sqlState, message }: DistSqlIncompatibility): string {
  const state = sqlState === NOT_SUPPORTED && message ? undefined : sqlState;
  const parts = [state, message && `\`${message}\``].filter(Boolean);
  return parts.length === 0 ? "" : ` (${parts.join(" ")})`;
}

/** Names an entry. An inferred one is marked. */
function title({ title, evidence }: DistSqlIncompatibility): string {
  return `${title}${evidence === "inferred" ? " \\*" : ""}`;
}

function category(name: DistSqlCategory): string[] {
  const rows = getByCategory(name).filter(({ until }) => until === undefined).map((entry) =>
    `| \`${entry.id}\` ${cell(title(entry))} | **${entry.action}**: ${cell(entry.advice)}${
      cell(answer(entry))
    } |`
  );
  return [
    `## ${TITLES[name]}`,
    "",
    "| rule, and what it is about | effect and advice (server error) |",
    "|---|---|",
    ...rows,
    "",
  ];
}

function render(): string {
  return [
    "# Aurora DSQL: differences from PostgreSQL",
    "",
    "Generated from the registry `DIST_SQL_INCOMPATIBILITIES` by `scripts/distsql_reference.ts`, with observations until " +
    `${CAPABILITIES_AS_OF}. The registry also has the rules of earlier dates, which the option \`asOf\` selects.`,
    "",
    "The word in bold is what `translateForDistSql` does:",
    "",
    "- **Compatible**: kept. **Warn**: kept, with a warning. " +
    "**Rewrite**: replaced by an equivalent statement. **Strip**: removed.",
    "- **Recreate**: the table is recreated, or changed in the listed steps.",
    "- **Error**, **AppLayer**: rejected with the advice.",
    "",
    "\\* marks entries that are inferred. A message without a SQLSTATE has 0A000. The registry has the sources of each entry (`DIST_SQL_SOURCES`).",
    "",
    ...Object.values(DistSqlCategory).flatMap(category),
    "",
  ].join("\n").trimEnd() + "\n";
}

await writeOrCheck("docs/reference/distsql.md", render(), "distsql_reference.ts");
