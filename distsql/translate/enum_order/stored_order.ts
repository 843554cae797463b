import {
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
  type StoredOrder,
  type ViewColumn,
} from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { getEnums, hasTextOrder } from "./enum_class.ts";
import { ExpressionClass } from "./expression_class.ts";
import { RESERVED } from "./keywords.ts";
import type { Range } from "./operands.ts";
import { findOrderUses } from "./order_uses.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/**
 * Returns the enums whose order a stored expression uses.
 *
 * @param reader The statement.
 * @param state Declarations, including the table.
 * @param table Table whose columns the expression names.
 * @param from Start of the expression.
 * @param to End of the expression.
 */
export function readStoredOrder(
  reader: StatementReader,
  state: DeclaredSchema,
  table: DeclaredTable | undefined,
  from = 0,
  to: number = reader.size,
): StoredOrder[] {
  const types = new Set(
    findOrderUses(reader, state, table, from, to).uses.flatMap((use) => use.types),
  );
  return [...types].map((type) => ({ enum: getKey(type), isText: hasTextOrder(type) }));
}

const LIST_ENDS: ReadonlySet<string> = keywordSet(`
  FROM WHERE GROUP HAVING ORDER LIMIT OFFSET FETCH WINDOW FOR
`);
const SET_OPERATIONS: ReadonlySet<string> = new Set(["UNION", "INTERSECT", "EXCEPT"]);

/** Parses an output of a query into its name and its expression. */
function readOutput(reader: StatementReader, [from, to]: Range): [name: string, expression: Range] {
  if (reader.is(to - 2, "AS")) return [readPart(reader, to - 1), [from, to - 2]];
  const isName = reader.isName(to - 1) && to - 1 > from && reader.key(to - 2) !== "." &&
    reader.key(to - 2) !== "::" &&
    !reader.isOneOf(to - 1, RESERVED);
  if (isName) return [readPart(reader, to - 1), [from, to - 1]];
  const end = reader.nameEnd(from);
  return [end > from ? readPart(reader, end - 1) : "?column?", [from, to]];
}

/**
 * Returns the columns of a view with their enums; `undefined` if the statement does not show them.
 *
 * @param reader The CREATE VIEW.
 * @param state Declarations before it.
 */
export function readViewColumns(
  reader: StatementReader,
  state: DeclaredSchema,
): ViewColumn[] | undefined {
  const select = reader.find("SELECT", 1);
  if (select < 0 || reader.find(SET_OPERATIONS, select) >= 0) return undefined;
  const classes = new ExpressionClass(reader, state);
  const start = reader.skip(reader.skip(select + 1, "ALL"), "DISTINCT");
  if (reader.is(start, "ON")) return undefined;
  const end = reader.findEnd(LIST_ENDS, start);
  const columns: ViewColumn[] = [];
  for (const range of reader.list(start, end)) {
    if (reader.is(range[1] - 1, "*")) {
      const all = classes.getColumns(
        range[1] - range[0] >= 3 ? readPart(reader, range[1] - 3) : undefined,
      );
      if (all === undefined) return undefined;
      columns.push(...all);
      continue;
    }
    const [name, expression] = readOutput(reader, range);
    const type = classes.getClass(expression);
    columns.push({ name, enums: getEnums(type).map(getKey), isCertain: type.is === "enum" });
  }
  return renameOutputs(reader, select, columns);
}

/** Applies the names of `CREATE VIEW name (a, b) AS`. */
function renameOutputs(
  reader: StatementReader,
  select: number,
  columns: ViewColumn[],
): ViewColumn[] {
  const open = reader.find("(", 1, select);
  if (open < 0 || reader.find("AS", 1, open) >= 0) return columns;
  const names = reader.listIn(open).map(([at]) => readPart(reader, at));
  return columns.map((column, index) => ({ ...column, name: names[index] ?? column.name }));
}
