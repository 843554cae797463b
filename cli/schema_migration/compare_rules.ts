import { qualify, quoteName } from "../../sql/quote.ts";
import { type CatalogRule, type CatalogTable, getLabel, quoteTable } from "./catalog.ts";
import type { Decisions } from "./decisions.ts";
import type { Step } from "./difference.ts";

/** The difference between the constraints and indexes of a table. */
export interface RuleDifference {
  readonly removed: readonly Step[];
  readonly added: readonly Step[];
  readonly foreignKeys: readonly Step[];
  readonly kept: readonly string[];
}

/**
 * Compares constraints and indexes by their definitions: names that only differ are not changed.
 * A changed rule is replaced. A rule that the schema does not declare stays, unless a decision drops
 * it.
 *
 * @param have The table after the migrations.
 */
export function compareRules(
  have: CatalogTable,
  want: CatalogTable,
  { drops }: Decisions,
): RuleDifference {
  const keys = new Set(want.rules.map(getKey));
  const present = new Set(have.rules.map(getKey));
  const added = want.rules.filter((rule) => !present.has(getKey(rule)));
  const others = have.rules.filter((rule) => !keys.has(getKey(rule)));
  const isRemoved = (rule: CatalogRule) =>
    drops.has(getRuleLabel(have, rule)) || added.some((next) => replaces(next, rule));
  const steps = added.map((rule) => ({ rule, step: createRule(want, rule) }));
  return {
    removed: others.filter(isRemoved).map((rule) => dropRule(have, rule)),
    added: steps.filter(({ rule }) => rule.kind !== "foreign key").map(({ step }) => step),
    foreignKeys: steps.filter(({ rule }) => rule.kind === "foreign key").map(({ step }) => step),
    kept: others.filter((rule) => !isRemoved(rule)).map((rule) =>
      `${rule.kind} ${getRuleLabel(have, rule)}`
    ),
  };
}

/** Returns the name of a constraint or an index for `--drop`: `notes:notes_title_idx`. */
export function getRuleLabel(table: CatalogTable, rule: CatalogRule): string {
  return `${getLabel(table)}:${rule.name}`;
}

function getKey({ kind, key }: CatalogRule): string {
  // a unique index and a unique constraint reject the same rows
  return kind === "index" || kind === "unique" ? key : `${kind} ${key}`;
}

/** Returns true if a rule can only be added in place of another one. */
function replaces(next: CatalogRule, old: CatalogRule): boolean {
  if (next.name === old.name) return true;
  if (next.kind !== old.kind) return false;
  if (next.kind === "primary key") return true;
  return next.kind === "foreign key" && getColumns(next) === getColumns(old);
}

function getColumns({ definition }: CatalogRule): string {
  return definition.slice(0, definition.indexOf(" REFERENCES "));
}

/** Returns the statement that creates a constraint or an index. */
export function createRule(table: CatalogTable, rule: CatalogRule): Step {
  return rule.kind === "index" ? { sql: rule.definition } : {
    sql: `ALTER TABLE ${quoteTable(table)} ADD CONSTRAINT ${quoteName(rule.name)} ` +
      rule.definition,
  };
}

/** Returns the statement that drops a constraint or an index. */
export function dropRule(table: CatalogTable, rule: CatalogRule): Step {
  const schema = table.schema === "public" ? undefined : table.schema;
  if (rule.kind === "index") {
    const risk = rule.key.startsWith("CREATE UNIQUE ")
      ? { risk: "drops an index that rejects duplicates" }
      : {};
    return { sql: `DROP INDEX ${qualify(schema, rule.name)}`, ...risk };
  }
  return {
    sql: `ALTER TABLE ${quoteTable(table)} DROP CONSTRAINT ${quoteName(rule.name)}`,
    risk: `drops the ${rule.kind} ${rule.name}`,
  };
}
