import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import {
  type Catalog,
  type CatalogColumn,
  type CatalogEnum,
  type CatalogTable,
  getLabel,
  quoteTable,
} from "./catalog.ts";
import type { Step } from "./difference.ts";

/**
 * Compares enums. PostgreSQL can add values, but not remove or move them: then the enum is created
 * again.
 *
 * @param have The database of the migrations.
 * @param want The database of the schema.
 * @param created The statements that create all of the schema.
 * @returns New enums and values, and what must be written by hand.
 */
export function compareEnums(
  have: Catalog,
  want: Catalog,
  created: readonly string[],
): { steps: Step[]; problems: string[] } {
  const present = new Map(have.enums.map((each) => [getLabel(each), each]));
  const steps: Step[] = [];
  const problems: string[] = [];
  for (const each of want.enums) {
    const old = present.get(getLabel(each));
    const name = qualify(each.schema, each.name);
    if (old === undefined) {
      const sql = created.find((text) => text.startsWith(`CREATE TYPE ${name} AS ENUM`));
      steps.push({ sql: sql ?? `CREATE TYPE ${name} AS ENUM (${each.values.map(quoteLiteral)})` });
      continue;
    }
    const { values } = old;
    const rest = each.values.filter((value) => values.includes(value));
    if (rest.length === values.length && rest.every((value, index) => value === values[index])) {
      steps.push(...addValues(name, values, each.values));
    } else if (hasSameOrFewer(each, old)) steps.push(...replaceEnum(have, want, [old, each]));
    else {
      problems.push(
        `the enum ${getLabel(each)} has the values ${values.join(", ")} in the migrations and ` +
          `${each.values.join(", ")} in the schema: values are only added, or only removed and ` +
          `moved. To rename one, write ALTER TYPE ${name} RENAME VALUE by hand; otherwise add ` +
          "values in one migration, change the rows, and remove values in another one",
      );
    }
  }
  return { steps, problems };
}

/**
 * Creates an enum again with fewer values, or in another order, and converts its columns. Their defaults
 * are dropped before: those of the wanted database are set with its other changes, all others here.
 *
 * @param have The database with the enum.
 * @param want The database to which all changes lead.
 * @param enums The enum as it is, and as it is wanted.
 */
export function replaceEnum(
  have: Catalog,
  want: Catalog,
  [old, next]: readonly [CatalogEnum, CatalogEnum],
): Step[] {
  const name = qualify(old.schema, old.name);
  const created = qualify(old.schema, `${old.name}__trellis_new`);
  const gone = old.values.filter((value) => !next.values.includes(value));
  const risk = gone.length === 0 ? undefined : `fails if a row has the value ${gone.join(" or ")}`;
  const wanted = new Set(want.tables.flatMap((table) => table.columns.map(toLabel(table))));
  const conversions: Step[] = [];
  const defaults: Step[] = [];
  for (const table of have.tables) {
    for (const column of table.columns) {
      // a column of a parent is converted with it
      if (column.isInherited || column.type.replaceAll("[]", "") !== old.type) continue;
      const array = column.type.slice(old.type.length);
      const alter = `ALTER TABLE ${quoteTable(table)} ALTER COLUMN ${quoteName(column.name)}`;
      const cast = `${quoteName(column.name)}::text${array}::${created}${array}`;
      if (column.default !== null) {
        conversions.push({ sql: `${alter} DROP DEFAULT` });
        if (!wanted.has(toLabel(table)(column))) {
          defaults.push({ sql: `${alter} SET DEFAULT ${column.default}` });
        }
      }
      conversions.push({ sql: `${alter} SET DATA TYPE ${created}${array} USING ${cast}`, risk });
    }
  }
  return [
    { sql: `CREATE TYPE ${created} AS ENUM (${next.values.map(quoteLiteral).join(", ")})` },
    ...conversions,
    { sql: `DROP TYPE ${name}` },
    { sql: `ALTER TYPE ${created} RENAME TO ${quoteName(old.name)}` },
    ...defaults,
  ];
}

function toLabel(table: CatalogTable): (column: CatalogColumn) => string {
  return ({ name }) => `${getLabel(table)}.${name}`;
}

/** Returns true for an enum that has fewer values than another one, or the same in another order. */
export function hasSameOrFewer({ values }: CatalogEnum, old: CatalogEnum): boolean {
  return values.every((value) => old.values.includes(value)) &&
    (values.length < old.values.length || values.some((value, at) => value !== old.values[at]));
}

function addValues(name: string, have: readonly string[], want: readonly string[]): Step[] {
  return want.flatMap((value, index) => {
    if (have.includes(value)) return [];
    const next = want.slice(index + 1).find((each) => have.includes(each));
    const before = next === undefined ? "" : ` BEFORE ${quoteLiteral(next)}`;
    const sql = `ALTER TYPE ${name} ADD VALUE ${quoteLiteral(value)}${before}`;
    return [{ sql, runsAlone: true }];
  });
}
