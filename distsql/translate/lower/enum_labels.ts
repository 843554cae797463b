import { readLiteral } from "../../../sql/quote.ts";
import { readName } from "../../../sql/sql_name.ts";
import { type DeclaredEnum, type DeclaredTable, findObject } from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import { listAliases } from "./enum_order.ts";
import type { Lowering } from "./lowered.ts";

/** Operators between a column and a label. */
const COMPARISONS: ReadonlySet<string> = new Set(["=", "<>", "!=", "<", ">", "<=", ">="]);
const VALUES: ReadonlySet<string> = new Set(["VALUES", "SELECT", "DEFAULT", "WITH"]);

/** Rejects literals that are not labels of their enum, as PostgreSQL does. */
export function checkLabels(lowering: Lowering, table?: DeclaredTable): void {
  checkCompared(lowering, table);
  checkInserted(lowering);
}

/**
 * Rejects the comparison of an enum column with a literal that is not a label: `s = 'x'`, `s IN
 * ('x')`. Columns whose name has another type in another table are left out.
 */
function checkCompared({ reader, before, t }: Lowering, table?: DeclaredTable): void {
  const tables = table === undefined ? [...before.tables.values()] : [table];
  const columns = tables.flatMap(({ columns }) => columns);
  const aliases = new Set(table === undefined ? listAliases(reader) : []);

  function getType(nameAt: number): DeclaredEnum | undefined {
    if (!reader.isName(nameAt) || reader.is(nameAt + 1, "(")) return undefined;
    const name = readPart(reader, nameAt);
    if (aliases.has(name)) return undefined;
    const types = new Set(columns.filter((one) => one.name === name).map((one) => one.enum));
    const [key] = types;
    return types.size !== 1 || key === undefined ? undefined : before.enums.get(key);
  }

  function check(nameAt: number, literals: readonly number[]): void {
    const type = getType(nameAt);
    const labels = literals.map((at) => readLiteral(reader.token(at)));
    if (labels.every((label) => label === undefined || type?.labels.includes(label) !== false)) {
      return;
    }
    t.refuse(
      "type-enum-label",
      `a value that is not a label of the enum ${type!.name}`,
      type!.name,
    );
  }

  for (let at = 1; at < reader.size; at++) {
    if (reader.isOneOf(at, COMPARISONS)) {
      check(at - 1, reader.is(at + 2, "::") ? [] : [at + 1]);
      if (!reader.is(at - 2, "::")) check(reader.nameEnd(at + 1) - 1, [at - 1]);
    } else if (reader.is(at, "IN", "(")) {
      const items = reader.listIn(at + 1).filter(([from, to]) => to === from + 1);
      check(reader.is(at - 1, "NOT") ? at - 2 : at - 1, items.map(([from]) => from));
    }
  }
}

/** Rejects an `INSERT … VALUES` with a string for an enum column that is not a label. */
function checkInserted({ reader, before, t }: Lowering): void {
  if (!reader.is(0, "INSERT", "INTO")) return;
  const written = readName(reader, 2);
  const table = findObject(before.tables, written);
  const values = reader.find(VALUES, written.end);
  if (table === undefined || !reader.is(values, "VALUES")) return;
  const open = reader.find("(", written.end, values);
  const names = open < 0
    ? table.columns.map((column) => column.name)
    : reader.listIn(open).map(([at]) => readPart(reader, at));
  const labels = names.map((name) => {
    const type = table.columns.find((column) => column.name === name)?.enum;
    return type === undefined ? undefined : before.enums.get(type)?.labels;
  });
  for (let row = values + 1; reader.is(row, "("); row = reader.next(row) + 1) {
    const place = reader.listIn(row).findIndex(([from, to], place) => {
      const label = to === from + 1 ? readLiteral(reader.token(from)) : undefined;
      return label !== undefined && labels[place]?.includes(label) === false;
    });
    if (place >= 0) {
      const what = `a value of column ${names[place]} that is not a label of its enum`;
      return t.refuse("type-enum-label", what);
    }
    if (!reader.is(reader.next(row), ",")) break;
  }
}
