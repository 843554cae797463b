import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { type Catalog, type CatalogEnum, findCreated, getLabel, quoteTable } from "./catalog.ts";
import { compareTables, findForeignKeys } from "./compare_tables.ts";
import type { Decisions } from "./decisions.ts";
import { type Comparison, type Difference, RISKS, type Step } from "./difference.ts";

/**
 * Compares the database of the migrations with that of the schema. Nothing that the schema does not
 * declare is dropped without a decision.
 *
 * @returns Statements in the order in which they can run.
 */
export function compareCatalogs({ have, want, created, decisions }: Comparison): Difference {
  const schemas = want.schemas.filter((name) => !have.schemas.includes(name));
  const enums = compareEnums(have.enums, want.enums, created);
  const sequences = compareObjects("sequence", have.sequences, want.sequences, created);
  const views = compareObjects("view", have.views, want.views, created);
  const tables = compareTables({ have, want, created, decisions });
  const drops = dropTables(have, want, decisions);
  return {
    steps: [
      ...schemas.map((name) => ({ sql: `CREATE SCHEMA ${quoteName(name)}` })),
      ...enums.steps,
      ...sequences.steps,
      ...tables.steps,
      ...views.steps,
      ...compareSecurity(have, want),
      ...drops,
    ],
    problems: [
      ...enums.problems,
      ...sequences.problems,
      ...tables.problems,
      ...views.problems,
    ],
    kept: [
      ...listUndeclared("table", have.tables, want.tables)
        .filter((text) => !decisions.drops.has(text.slice("table ".length)))
        .filter((text) => !OWN_TABLES.includes(text)),
      ...tables.kept,
      ...listUndeclared("enum", have.enums, want.enums),
      ...listUndeclared("sequence", have.sequences, want.sequences),
      ...listUndeclared("view", have.views, want.views),
    ],
  };
}

/** Tables of this package that a schema need not declare: the migrations of `trellis db tables`. */
const OWN_TABLES: readonly string[] = [
  "table idempotency_records",
  "table rate_limits",
  "table trellis_change_parts",
  "table trellis_change_positions",
  "table trellis_jobs",
  "table trellis_workflow_entries",
  "table trellis_workflows",
  "table websocket_subscriptions",
];

interface Named {
  readonly schema: string;
  readonly name: string;
}

function listUndeclared(what: string, have: readonly Named[], want: readonly Named[]): string[] {
  const declared = new Set(want.map(getLabel));
  return have.map(getLabel).filter((label) => !declared.has(label)).map((label) =>
    `${what} ${label}`
  );
}

function compareObjects(
  what: "sequence" | "view",
  have: Catalog["views"],
  want: Catalog["views"],
  created: readonly string[],
): Omit<Difference, "kept"> {
  const present = new Map(have.map((each) => [getLabel(each), each.definition]));
  const steps: Step[] = [];
  const problems: string[] = [];
  for (const each of want) {
    const definition = present.get(getLabel(each));
    if (definition === each.definition) continue;
    const word = what.toUpperCase();
    const name = qualify(each.schema, each.name);
    const sql = findCreated(
      created,
      `CREATE ${word} ${name} `,
      `CREATE MATERIALIZED ${word} ${name} `,
    );
    if (definition !== undefined || sql === undefined) {
      problems.push(`the ${what} ${getLabel(each)} differs: write its migration by hand`);
    } else steps.push({ sql });
  }
  return { steps, problems };
}

/** Enables row security. Where only the migrations enable it, it stays. */
function compareSecurity(have: Catalog, want: Catalog): Step[] {
  const secured = new Set(have.tables.filter((each) => each.hasRowSecurity).map(getLabel));
  return want.tables.filter((table) => table.hasRowSecurity && !secured.has(getLabel(table)))
    .map((table) => ({
      sql: `ALTER TABLE ${quoteTable(table)} ENABLE ROW LEVEL SECURITY`,
      risk: "hides all rows that no policy shows",
    }));
}

function dropTables(have: Catalog, want: Catalog, { drops }: Decisions): Step[] {
  const declared = new Set(want.tables.map(getLabel));
  const dropped = have.tables.filter((table) => {
    const label = getLabel(table);
    return drops.has(label) && !declared.has(label);
  });
  return [
    ...dropped.flatMap((table) => findForeignKeys(have, table)),
    ...dropped.map((table) => ({
      sql: `DROP TABLE ${quoteTable(table)}`,
      risk: RISKS.table,
    })),
  ];
}

/**
 * Compares enums. PostgreSQL can add values, but not remove or move them.
 *
 * @param have The enums of the migrations.
 * @param want The enums of the schema.
 * @param created The statements that create all of the schema.
 * @returns New enums and values, and what must be written by hand.
 */
function compareEnums(
  have: readonly CatalogEnum[],
  want: readonly CatalogEnum[],
  created: readonly string[],
): { steps: Step[]; problems: string[] } {
  const present = new Map(have.map((each) => [getLabel(each), each.values]));
  const steps: Step[] = [];
  const problems: string[] = [];
  for (const each of want) {
    const values = present.get(getLabel(each));
    const name = qualify(each.schema, each.name);
    if (values === undefined) {
      const sql = created.find((text) => text.startsWith(`CREATE TYPE ${name} AS ENUM`));
      steps.push({ sql: sql ?? `CREATE TYPE ${name} AS ENUM (${each.values.map(quoteLiteral)})` });
      continue;
    }
    const rest = each.values.filter((value) => values.includes(value));
    if (rest.length !== values.length || rest.some((value, index) => value !== values[index])) {
      problems.push(
        `the enum ${getLabel(each)} has the values ${values.join(", ")} in the migrations and ` +
          `${each.values.join(", ")} in the schema: values can only be added. Create another ` +
          "enum and change the type of the column by hand",
      );
      continue;
    }
    steps.push(...addValues(name, values, each.values));
  }
  return { steps, problems };
}

function addValues(name: string, have: readonly string[], want: readonly string[]): Step[] {
  return want.flatMap((value, index) => {
    if (have.includes(value)) return [];
    const next = want.slice(index + 1).find((each) => have.includes(each));
    const before = next === undefined ? "" : ` BEFORE ${quoteLiteral(next)}`;
    return [{ sql: `ALTER TYPE ${name} ADD VALUE ${quoteLiteral(value)}${before}` }];
  });
}
