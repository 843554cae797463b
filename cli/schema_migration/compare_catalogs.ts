import { qualify, quoteName } from "../../sql/quote.ts";
import { type Catalog, type CatalogObject, findCreated, getLabel, quoteTable } from "./catalog.ts";
import { compareEnums } from "./enum_steps.ts";
import { describeExpand, endExpand } from "./expand_steps.ts";
import { compareTables, findForeignKeys, isOwnTable } from "./compare_tables.ts";
import type { Decisions } from "./decisions.ts";
import {
  type Comparison,
  type Difference,
  type PartialDifference,
  RISKS,
  type Step,
} from "./difference.ts";

/**
 * Compares the database of the migrations with that of the schema. Nothing that the schema does not
 * declare is dropped without a decision.
 *
 * @returns Statements in the order in which they can run.
 */
export function compareCatalogs(comparison: Comparison): Difference {
  const { have, want, created, decisions } = comparison;
  const schemas = want.schemas.filter((name) => !have.schemas.includes(name));
  const enums = compareEnums(have, want, created);
  const sequences = compareObjects("sequence", have.sequences, want.sequences, created);
  const views = compareObjects("view", have.views, want.views, created);
  const storage = compareStorage(have, want, decisions);
  const tables = compareTables(comparison);
  const drops = dropTables(comparison);
  const steps: Step[] = [
    ...schemas.map((name) => ({ sql: `CREATE SCHEMA ${quoteName(name)}` })),
    ...enums.steps,
    ...sequences.steps,
    ...tables.steps,
    ...views.steps,
    ...storage.steps,
    ...compareSecurity(comparison),
    ...drops,
    ...dropSequences(have, want, decisions),
  ];
  return {
    // the other statements are one transaction then
    steps: [...steps.filter((step) => !isLate(step)), ...steps.filter(isLate)],
    problems: [
      ...enums.problems,
      ...sequences.problems,
      ...tables.problems,
      ...views.problems,
    ],
    kept: [
      ...listUndeclared("table", have.tables, want.tables)
        .filter((text) => !isOwnTable(text.slice("table ".length)))
        .filter((text) => !decisions.drops.has(text.slice("table ".length))),
      ...tables.kept,
      ...listUndeclared("enum", have.enums, want.enums),
      ...listUndeclared("sequence", have.sequences, want.sequences)
        .filter((text) => !decisions.drops.has(text.slice("sequence ".length))),
      ...listUndeclared("view", have.views, want.views),
      ...storage.kept,
    ],
    open: (comparison.expands ?? []).map(describeExpand),
  };
}

/** Returns true for an index that nothing else needs, and that is built outside of a transaction. */
function isLate({ sql }: Step): boolean {
  return sql.startsWith("CREATE INDEX CONCURRENTLY ");
}

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
  have: readonly CatalogObject[],
  want: readonly CatalogObject[],
  created: readonly string[],
): Omit<PartialDifference, "kept"> {
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

/** Options of views whose removal shows more rows. */
const GUARDS: readonly string[] = ["security_invoker", "security_barrier", "check_option"];

/**
 * Compares the options, access methods and tablespaces of views. An option that only the migrations
 * set stays, unless a decision drops it.
 */
function compareStorage(
  have: Catalog,
  want: Catalog,
  { drops }: Decisions,
): Pick<Difference, "steps" | "kept"> {
  const present = new Map(have.views.map((view) => [getLabel(view), view]));
  const steps: Step[] = [];
  const kept: string[] = [];
  for (const view of want.views) {
    const old = present.get(getLabel(view));
    if (old === undefined || old.isMaterialized !== view.isMaterialized) continue;
    const kind = view.isMaterialized ? "MATERIALIZED VIEW" : "VIEW";
    const alter = (change: string, risk?: string): Step => ({
      sql: `ALTER ${kind} ${qualify(view.schema, view.name)} ${change}`,
      ...risk !== undefined && { risk },
    });
    for (const [option, value] of Object.entries(view.options)) {
      if (old.options[option] === value) continue;
      steps.push(alter(`SET (${option}=${value})`, describeOption(option, value)));
    }
    for (const option of Object.keys(old.options)) {
      if (Object.hasOwn(view.options, option)) continue;
      const label = `${getLabel(view)}:${option}`;
      if (drops.has(label)) steps.push(alter(`RESET (${option})`, describeOption(option, "false")));
      else kept.push(`option ${label}`);
    }
    if (old.method !== view.method) {
      steps.push(alter(`SET ACCESS METHOD ${quoteName(view.method!)}`));
    }
    if (old.tablespace !== view.tablespace) {
      steps.push(alter(`SET TABLESPACE ${quoteName(view.tablespace ?? "pg_default")}`));
    }
  }
  return { steps, kept };
}

function describeOption(option: string, value: string): string | undefined {
  if (option === "security_invoker" && value === "true") {
    return "roles that read the view need rights on its tables";
  }
  return GUARDS.includes(option) && value === "false"
    ? `removes ${option}, which protects rows of the view's tables`
    : undefined;
}

/**
 * Enables row security, and creates or replaces declared policies. What only the migrations have
 * stays.
 */
function compareSecurity({ have, want, created }: Comparison): Step[] {
  const present = new Map(have.tables.map((table) => [getLabel(table), table]));
  return want.tables.flatMap((table): Step[] => {
    const old = present.get(getLabel(table));
    const path = quoteTable(table);
    const enabled: Step[] = !table.hasRowSecurity || old?.hasRowSecurity === true ? [] : [{
      sql: `ALTER TABLE ${path} ENABLE ROW LEVEL SECURITY`,
      risk: "hides all rows that no policy shows",
    }];
    const policies = table.policies.flatMap(({ name, definition }): Step[] => {
      const known = old?.policies.find((each) => each.name === name);
      const at = `${quoteName(name)} ON ${path}`;
      // the definition has a role of this server in place of CURRENT_USER
      const sql = findCreated(created, `CREATE POLICY ${at} `);
      if (known?.definition === definition || sql === undefined) return [];
      const risk = "changes which rows are shown and can be written";
      return [...known === undefined ? [] : [{ sql: `DROP POLICY ${at}`, risk }], { sql }];
    });
    return [...enabled, ...policies];
  });
}

function dropTables({ have, want, decisions: { drops }, expands = [] }: Comparison): Step[] {
  const declared = new Set(want.tables.map(getLabel));
  const dropped = have.tables.filter((table) => {
    const label = getLabel(table);
    return drops.has(label) && !declared.has(label);
  });
  const ended = expands.filter(({ schema, table }) =>
    dropped.some((each) => each.schema === schema && each.name === table)
  );
  return [
    ...ended.flatMap(endExpand),
    ...dropped.flatMap((table) => findForeignKeys(have, table)),
    ...dropped.map((table) => ({
      sql: `DROP TABLE ${quoteTable(table)}`,
      risk: RISKS.table,
    })),
  ];
}

function dropSequences(have: Catalog, want: Catalog, { drops }: Decisions): Step[] {
  const serials = want.tables.flatMap(({ columns }) =>
    columns.flatMap(({ isSerial, ownSequence }) => isSerial && ownSequence || [])
  );
  const declared = new Set([...want.sequences, ...serials].map(getLabel));
  return have.sequences.filter((sequence) => {
    const label = getLabel(sequence);
    return drops.has(label) && !declared.has(label);
  }).map((sequence) => ({ sql: `DROP SEQUENCE ${quoteTable(sequence)}` }));
}
