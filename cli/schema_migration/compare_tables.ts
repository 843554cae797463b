import { quoteName } from "../../sql/quote.ts";
import {
  type Catalog,
  type CatalogColumn,
  type CatalogTable,
  findCreated,
  getLabel,
  quoteTable,
} from "./catalog.ts";
import { addColumn, alterColumn, dropColumn } from "./column_steps.ts";
import { describeExpand, endExpand, findExpand } from "./expand_steps.ts";
import { compareRules, createRule, dropRule } from "./compare_rules.ts";
import type { Comparison, PartialDifference, Step } from "./difference.ts";

/** Statements by the order in which they run. */
interface Stages {
  readonly created: Step[];
  readonly removed: Step[];
  readonly columns: Step[];
  readonly rules: Step[];
  readonly foreignKeys: Step[];
}

/**
 * Compares the tables of two databases.
 *
 * @returns Statements for new and changed tables. Tables that the schema does not declare are left
 * out.
 */
export function compareTables(comparison: Comparison): PartialDifference {
  const { have, want, created, decisions, concurrent, expands = [] } = comparison;
  const present = new Map(have.tables.map((table) => [getLabel(table), table]));
  const stages: Stages = { created: [], removed: [], columns: [], rules: [], foreignKeys: [] };
  const problems: string[] = [];
  const kept: string[] = [];
  for (const table of want.tables) {
    const old = present.get(getLabel(table));
    if (old === undefined) {
      createTable(table, created, stages, problems);
      continue;
    }
    const columns = compareColumns(old, table, comparison);
    const names = new Set(old.columns.map(({ name }) => name));
    const empty = new Set(
      table.columns.filter((column) => !names.has(column.name) && isEmpty(column)).map((each) =>
        each.name
      ),
    );
    const rules = compareRules(old, table, { decisions, concurrent, empty, expands });
    stages.removed.push(...rules.removed);
    stages.columns.push(...columns.steps);
    stages.rules.push(...rules.added);
    stages.foreignKeys.push(...rules.foreignKeys);
    problems.push(...columns.problems);
    kept.push(...columns.kept, ...rules.kept);
  }
  const { removed, columns, rules, foreignKeys } = stages;
  problems.push(...askAboutTables(comparison));
  return {
    steps: [...stages.created, ...removed, ...columns, ...rules, ...foreignKeys],
    problems,
    kept,
  };
}

/**
 * Asks whether a new table is one that the schema no longer declares: they have the same name in
 * different schemas, or at least half of their columns have the same names.
 */
function askAboutTables({ have, want, decisions, isPartial }: Comparison): string[] {
  if (isPartial) return [];
  const present = new Set(have.tables.map(getLabel));
  const declared = new Set(want.tables.map(getLabel));
  const { drops, keeps } = decisions;
  const gone = have.tables.filter((table) => {
    const label = getLabel(table);
    return !declared.has(label) && !drops.has(label) && !keeps.has(label) && !isOwnTable(label);
  });
  return want.tables.filter((table) => !present.has(getLabel(table))).flatMap((table) => {
    const old = gone.find((each) => isSimilar(each, table));
    if (old === undefined) return [];
    const label = getLabel(old);
    return `the schema has the new table ${getLabel(table)}, and no longer declares the table ` +
      `${label}, which resembles it. Say what it is: --rename ${label}=${getLabel(table)}, ` +
      `--drop ${label} or --keep ${label}`;
  });
}

function isSimilar(old: CatalogTable, table: CatalogTable): boolean {
  if (old.name === table.name) return true;
  const names = new Set(table.columns.map(({ name }) => name));
  const shared = old.columns.filter(({ name }) => names.has(name)).length;
  return shared * 2 >= Math.min(old.columns.length, names.size);
}

/** Tables of this package that a schema need not declare: the migrations of `trellis db tables`. */
const OWN_TABLES: ReadonlySet<string> = new Set([
  "idempotency_records",
  "rate_limits",
  "trellis_change_parts",
  "trellis_change_positions",
  "trellis_jobs",
  "trellis_workflow_entries",
  "trellis_workflows",
  "websocket_subscriptions",
]);

/** Returns true for a table of this package that a schema need not declare. */
export function isOwnTable(label: string): boolean {
  return OWN_TABLES.has(label);
}

/** Returns true if present rows have no value in a new column. */
function isEmpty(column: CatalogColumn): boolean {
  return column.default === null && column.identity === null && column.generated === null &&
    !column.isSerial;
}

function createTable(
  table: CatalogTable,
  created: readonly string[],
  stages: Stages,
  problems: string[],
): void {
  const name = quoteTable(table);
  const sql = findCreated(created, `CREATE TABLE ${name} (`);
  if (sql === undefined) {
    problems.push(`the table ${getLabel(table)} cannot be created: write its migration by hand`);
    return;
  }
  stages.created.push({ sql });
  for (const rule of table.rules) {
    if (rule.kind === "foreign key") stages.foreignKeys.push(createRule(table, rule));
    if (rule.kind === "index") stages.rules.push(createRule(table, rule));
  }
}

function compareColumns(
  have: CatalogTable,
  want: CatalogTable,
  { decisions, expands = [], have: catalog }: Comparison,
): PartialDifference {
  const table = quoteTable(want);
  const label = (column: CatalogColumn) => `${getLabel(want)}.${column.name}`;
  const present = new Map(have.columns.map((column) => [column.name, column]));
  const declared = new Set(want.columns.map(({ name }) => name));
  // what a parent gives follows it
  const added = want.columns.filter(({ name, isInherited }) => !isInherited && !present.has(name));
  const undeclared = have.columns.filter(({ name, isInherited }) =>
    !isInherited && !declared.has(name)
  );
  const dropped = undeclared.filter((column) => decisions.drops.has(label(column)));
  const ended = new Set(dropped.flatMap(({ name }) => findExpand(expands, have, name) ?? []));
  const findOpen = (name: string) => {
    const found = findExpand(expands, have, name);
    return found === undefined || ended.has(found) ? undefined : found;
  };
  const rest = undeclared.filter((column) =>
    !dropped.includes(column) && findOpen(column.name) === undefined
  );
  const steps: Step[] = [];
  const problems: string[] = [];
  steps.push(...[...ended].flatMap(endExpand));
  for (const column of dropped) {
    steps.push(...findForeignKeys(catalog, have, column.name), dropColumn(table, column.name));
  }
  for (const column of want.columns) {
    const old = present.get(column.name);
    if (old === undefined || old.isInherited && column.isInherited) continue;
    const changes = alterColumn(table, old, column, catalog.sequences.map(getLabel));
    if (typeof changes === "string") problems.push(`${label(column)} ${changes}`);
    else if (changes.length > 0) {
      const open = findOpen(column.name);
      if (open === undefined) steps.push(...changes);
      else if (!column.isRequired || !isSame({ ...old, isRequired: true }, column)) {
        problems.push(`${label(column)} cannot be changed: ${describeExpand(open)}`);
      } else {
        const other = present.get(open.from === column.name ? open.to : open.from);
        const [{ sql, risk }] = changes;
        steps.push(other?.isRequired === true ? { sql } : { sql, risk });
      }
    }
  }
  steps.push(...added.map((column) => addColumn(table, column)));
  const open = rest.filter((column) =>
    column.generated === null && !decisions.keeps.has(label(column))
  );
  if (added.length > 0 && open.length > 0) {
    const [first] = open;
    problems.push(
      `${getLabel(want)} has the new ${list(added)}, and the schema no longer declares ` +
        `${list(open)}. Say what it is: --rename ${label(first)}=${added[0].name}, ` +
        `--drop ${label(first)} or --keep ${label(first)}`,
    );
  }
  return { steps, problems, kept: rest.map((column) => `column ${label(column)}`) };
}

function isSame(old: CatalogColumn, column: CatalogColumn): boolean {
  return alterColumn("", old, column).length === 0;
}

function list(columns: readonly CatalogColumn[]): string {
  const names = columns.map(({ name }) => name).join(", ");
  return `${columns.length === 1 ? "column" : "columns"} ${names}`;
}

/**
 * Drops the foreign keys of other tables that reference a table that is dropped, or one of its
 * columns.
 *
 * @param catalog The database.
 * @param table The referenced table.
 * @param column The referenced column; all if omitted.
 */
export function findForeignKeys(catalog: Catalog, table: CatalogTable, column?: string): Step[] {
  const label = getLabel(table);
  return catalog.tables.filter((other) => other !== table).flatMap((other) =>
    other.rules.filter(({ references, definition }) =>
      references === label && (column === undefined || refersTo(definition, column))
    ).map((rule) => dropRule(other, rule))
  );
}

function refersTo(definition: string, column: string): boolean {
  const target = definition.slice(definition.indexOf(" REFERENCES "));
  const names = target.slice(target.indexOf("(") + 1, target.indexOf(")")).split(", ");
  return names.includes(column) || names.includes(quoteName(column));
}
