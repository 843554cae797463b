import { qualify, quoteName } from "../../sql/quote.ts";
import { deriveName, getName } from "../../sql/sql_name.ts";
import { tokenize } from "../../sql/tokenize.ts";
import { type CatalogRule, type CatalogTable, getLabel, quoteTable } from "./catalog.ts";
import { NOT_VALID } from "./read_catalog.ts";
import { type Comparison, type OpenExpand, RISKS, type Step } from "./difference.ts";

/** The difference between the constraints and indexes of a table. */
export interface RuleDifference {
  readonly removed: readonly Step[];
  readonly added: readonly Step[];
  readonly foreignKeys: readonly Step[];
  readonly kept: readonly string[];
}

/** What the comparison of a table's rules needs. */
export interface RuleContext extends Pick<Comparison, "concurrent" | "decisions" | "expands"> {
  /** New columns in which present rows have no value. */
  readonly empty: ReadonlySet<string>;
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
  { decisions: { drops }, concurrent, empty, expands = [] }: RuleContext,
): RuleDifference {
  // those of an old column are dropped with it
  const open = expands.filter((each) => each.schema === have.schema && each.table === have.name);
  const old = new Set(open.flatMap(({ rules }) => [...rules]));
  const proven = new Set(have.rules.map((rule) => toNextKey(rule, open)));
  const keys = new Set(want.rules.map(getKey));
  const present = new Set(have.rules.map(getKey));
  // what a parent gives follows it
  const added = want.rules.filter((rule) => !rule.isInherited && !present.has(getKey(rule)));
  const others = have.rules.filter((rule) =>
    !rule.isInherited && !keys.has(getKey(rule)) &&
    (!old.has(rule.name) || drops.has(getRuleLabel(have, rule)))
  );
  const isRemoved = (rule: CatalogRule) =>
    drops.has(getRuleLabel(have, rule)) || added.some((next) => replaces(next, rule));
  const steps = added.map((rule) => {
    const isConcurrent = concurrent.has(getRuleLabel(have, rule));
    const { sql } = createRule(want, old.has(rule.name) ? withNextName(rule) : rule);
    const step: Step = isConcurrent
      ? { sql: sql.replace(INDEX_WORDS, "$& CONCURRENTLY"), runsAlone: true }
      : { sql };
    const risk = proven.has(toNextKey(rule, [])) ? {} : describeRisk(rule, empty);
    return { rule, step: { ...step, ...risk } };
  });
  const renamed = want.rules.flatMap((rule) => {
    const next = have.rules.find(({ name }) => name === getNextName(rule));
    const isFree = !have.rules.some(({ name }) => name === rule.name);
    return next !== undefined && getKey(next) === getKey(rule) && isFree
      ? [renameRule(have, next, rule.name)]
      : [];
  });
  // a rollback takes back a validation
  const opened = want.rules.filter((rule) =>
    !rule.isInherited && rule.definition.endsWith(NOT_VALID) &&
    have.rules.some((each) => each.name === rule.name && each.definition === rule.key)
  );
  return {
    removed: [
      ...others.filter(isRemoved).map((rule) => dropRule(have, rule)),
      ...renamed,
      ...opened.flatMap((rule) => [dropRule(have, rule), createRule(want, rule)]),
    ],
    added: steps.filter(({ rule }) => rule.kind !== "foreign key").map(({ step }) => step),
    foreignKeys: steps.filter(({ rule }) => rule.kind === "foreign key").map(({ step }) => step),
    kept: others.filter((rule) => !isRemoved(rule)).map((rule) =>
      `${rule.kind} ${getRuleLabel(have, rule)}`
    ),
  };
}

/** Returns the name of a rule while that of an old column has its own. */
function getNextName({ name }: CatalogRule): string {
  return deriveName(name, "", "next");
}

/** Returns what a rule says with the new names of columns, which have equal values. */
function toNextKey(rule: CatalogRule, open: readonly OpenExpand[]): string {
  return tokenize(getKey(rule)).map((token) => {
    if (token.kind !== "word" && token.kind !== "quoted") return token.text;
    const name = getName(token);
    return open.find(({ from }) => from === name)?.to ?? name;
  }).join("");
}

function withNextName(rule: CatalogRule): CatalogRule {
  const name = getNextName(rule);
  if (rule.kind !== "index") return { ...rule, name };
  const definition = rule.key.replace(" INDEX ON ", () => ` INDEX ${quoteName(name)} ON `);
  return { ...rule, name, definition };
}

function renameRule(table: CatalogTable, rule: CatalogRule, name: string): Step {
  const isIndex = rule.kind === "index" || rule.kind === "unique";
  return {
    sql: isIndex
      ? `ALTER INDEX ${quoteTable({ ...table, name: rule.name })} RENAME TO ${quoteName(name)}`
      : `ALTER TABLE ${quoteTable(table)} RENAME CONSTRAINT ${quoteName(rule.name)} ` +
        `TO ${quoteName(name)}`,
  };
}

const INDEX_WORDS = /^CREATE (UNIQUE )?INDEX/;

const RULE_RISKS: Readonly<Record<CatalogRule["kind"], string>> = {
  "check": RISKS.check,
  "exclusion": RISKS.exclusion,
  "foreign key": RISKS.foreignKey,
  "index": RISKS.unique,
  "primary key": RISKS.primaryKey,
  "unique": RISKS.unique,
};

/** Describes when a rule cannot be added to a table with rows. */
function describeRisk(rule: CatalogRule, empty: ReadonlySet<string>): Pick<Step, "risk"> {
  const { kind, key, definition } = rule;
  if (kind === "index" && !key.startsWith(UNIQUE_INDEX)) return {};
  // a key without a value equals no other one, and references nothing
  const isKey = kind === "foreign key" || kind === "unique" && !definition.includes(NULLS_EQUAL);
  const isEmpty = isKey && listColumns(definition).some((name) => empty.has(name));
  return isEmpty ? {} : { risk: RULE_RISKS[kind] };
}

const UNIQUE_INDEX = "CREATE UNIQUE ";
const NULLS_EQUAL = " NULLS NOT DISTINCT";

/** Returns the quoted and unquoted names in the first parentheses of a constraint. */
function listColumns(definition: string): string[] {
  const names = definition.slice(definition.indexOf("(") + 1, definition.indexOf(")")).split(", ");
  return names.flatMap((name) => [name, name.replace(/^"(.*)"$/, "$1")]);
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
    const risk = rule.key.startsWith(UNIQUE_INDEX)
      ? { risk: "drops an index that rejects duplicates" }
      : {};
    return { sql: `DROP INDEX ${qualify(schema, rule.name)}`, ...risk };
  }
  return {
    sql: `ALTER TABLE ${quoteTable(table)} DROP CONSTRAINT ${quoteName(rule.name)}`,
    risk: `drops the ${rule.kind} ${rule.name}`,
  };
}
