#!/usr/bin/env -S deno run --allow-read --allow-write
/**
 * Writes docs/reference/distsql.md from the registry. With `--check` it writes nothing and fails if
 * the file is stale.
 *
 *   deno run -A scripts/distsql_reference.ts [--check]
 */
import { CAPABILITIES_AS_OF } from "../distsql/registry/capabilities.ts";
import {
  DistSqlAction,
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

/** SQLSTATE of a feature that is not supported, which the table leaves out. */
const NOT_SUPPORTED = "0A000";

/** What `translateForDistSql` does, in the order of the lists. */
const EFFECTS: Readonly<Record<DistSqlAction, string>> = {
  [DistSqlAction.Rewrite]: "Rewritten",
  [DistSqlAction.Strip]: "Omitted",
  [DistSqlAction.Recreate]: "By recreation, or in steps",
  [DistSqlAction.Warn]: "Kept, with a warning",
  [DistSqlAction.Compatible]: "Kept",
  [DistSqlAction.Error]: "Rejected",
  [DistSqlAction.AppLayer]: "Rejected: do it in the application",
};

/** Beginning of an advice that says the same as the title of the list. */
const REPEATED: Readonly<Partial<Record<DistSqlAction, RegExp>>> = {
  [DistSqlAction.Strip]: /^Omitted[:;.] ?/,
  [DistSqlAction.Warn]: /^Kept(?: as written)?: /,
  [DistSqlAction.Compatible]: /^Kept[:.] ?/,
};

/** Returns the server's answer without the translation, or the empty string. */
function answer({ sqlState, message }: DistSqlIncompatibility): string {
  const state = sqlState === NOT_SUPPORTED && message ? undefined : sqlState;
  const parts = [state, message && `\`${message}\``].filter(Boolean);
  return parts.length === 0 ? "" : ` (${parts.join(" ")})`;
}

/** Returns an entry. The word that its list repeats is left out, and an inferred one is marked. */
function item(entry: DistSqlIncompatibility): string {
  const { id, title, advice, evidence } = entry;
  const effect = advice.replace(REPEATED[entry.action] ?? "", "");
  const name = `\`${id}\` ${title}${evidence === "inferred" ? " \\*" : ""}`;
  return `- ${name}${effect === "" ? "" : `: ${effect}`}${answer(entry)}`.replaceAll("\n", " ");
}

function category(name: DistSqlCategory): string[] {
  const entries = getByCategory(name).filter(({ until }) => until === undefined);
  const lists = (Object.keys(EFFECTS) as DistSqlAction[]).flatMap((action) => {
    const items = entries.filter((entry) => entry.action === action).map(item);
    return items.length === 0 ? [] : [`**${EFFECTS[action]}**`, "", ...items, ""];
  });
  return [`## ${TITLES[name]}`, "", ...lists];
}

function render(): string {
  return [
    "# Aurora DSQL: differences from PostgreSQL",
    "",
    "Generated from the registry `DIST_SQL_INCOMPATIBILITIES` by `scripts/distsql_reference.ts`, with observations until " +
    `${CAPABILITIES_AS_OF}. The registry also has the rules of earlier dates, which the option \`asOf\` selects.`,
    "",
    "An entry is a rule's name, what it is about, what `translateForDistSql` writes or what to do instead, and the server's error without that. " +
    "\\* marks what is inferred. A message without a SQLSTATE has 0A000. The registry has the sources (`DIST_SQL_SOURCES`).",
    "",
    ...Object.values(DistSqlCategory).flatMap(category),
    "",
  ].join("\n").trimEnd() + "\n";
}

await writeOrCheck("docs/reference/distsql.md", render(), "distsql_reference.ts");
