import { findObject } from "../../schema/declared_schema.ts";
import { readLiteral } from "../../schema/literals.ts";
import { readObject, readPart } from "../../schema/read_object.ts";
import type { Lowering } from "./lowered.ts";

const VALUES: ReadonlySet<string> = new Set(["VALUES", "SELECT", "DEFAULT", "WITH"]);

/** Rejects an `INSERT … VALUES` with a string for an enum column that is not a label. */
export function checkInsertedLabels({ reader, before, t }: Lowering): void {
  if (!reader.is(0, "INSERT", "INTO")) return;
  const written = readObject(reader, 2);
  const table = findObject(before.tables, written);
  const values = reader.find(VALUES, written.end);
  if (table === undefined || !reader.is(values, "VALUES")) return;
  const open = reader.find("(", written.end, values);
  const names = open < 0
    ? table.columns.map((column) => column.name)
    : reader.listIn(open).map(([at]) => readPart(reader, at));
  const labels = names.map((name) => {
    const type = table.columns.find((column) => column.name === name && !column.isArray)?.enum;
    return type === undefined ? undefined : before.enums.get(type)?.labels;
  });
  for (let row = values + 1; reader.is(row, "("); row = reader.next(row) + 1) {
    const items = reader.listIn(row);
    for (const [place, [from, to]] of items.entries()) {
      const label = to === from + 1 ? readLiteral(reader.token(from)) : undefined;
      if (label === undefined || labels[place] === undefined || labels[place].includes(label)) {
        continue;
      }
      return t.refuse(
        "type-enum-label",
        `a value of column ${names[place]} that is not a label of its enum`,
      );
    }
    if (!reader.is(reader.next(row), ",")) break;
  }
}
