import { qualify, quoteLiteral } from "../../sql/quote.ts";
import { type CatalogEnum, getLabel } from "./catalog.ts";
import type { Step } from "./step.ts";

/**
 * Compares enums. PostgreSQL can add values, but not remove or move them.
 *
 * @param have The enums of the migrations.
 * @param want The enums of the schema.
 * @param created The statements that create all of the schema.
 * @returns New enums and values, and what must be written by hand.
 */
export function compareEnums(
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
