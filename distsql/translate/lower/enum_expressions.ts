import { readLiteral } from "../../../sql/quote.ts";
import { readName } from "../../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import { type DeclaredEnum, type DeclaredTable, findObject } from "../../schema/declared_schema.ts";
import { readNameLiteral, readPart } from "../../schema/read_object.ts";
import { castTypeAt } from "../rules/expressions.ts";
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

const ENUM_FUNCTIONS: ReadonlySet<string> = new Set(["ENUM_RANGE", "ENUM_FIRST", "ENUM_LAST"]);

/** Returns the enum named at a position. */
function enumAt({ reader, before }: Lowering, at: number): DeclaredEnum | undefined {
  return reader.isName(at) ? findObject(before.enums, readName(reader, at)) : undefined;
}

/** Rejects a literal that is cast to an enum but is not a label of it. */
function checkLabel({ reader, t }: Lowering, at: number, type: DeclaredEnum): void {
  const label = readLiteral(reader.token(at));
  if (label !== undefined && !type.labels.includes(label)) {
    t.refuse("type-enum-label", `a value that is not a label of the enum ${type.name}`, type.name);
  }
}

/** Context for translating casts. */
interface Casts extends Lowering {
  readonly edits: TokenEdits;
}

/** Translates `value::type`. */
function lowerColons(casts: Casts, at: number): void {
  const { reader, before, edits, t } = casts;
  const type = enumAt(casts, at + 1);
  if (type !== undefined) {
    const end = reader.nameEnd(at + 1);
    edits.replace(at + 1, end, "text");
    if (reader.key(end) !== "[") checkLabel(casts, at - 1, type);
  } else if (readName(reader, at + 1).name === "regtype") {
    const name = readNameLiteral(reader, at - 1);
    const named = name && findObject(before.enums, name);
    if (named) t.refuse("type-enum-use", `the enum ${named.name} as a regtype`, named.name);
  }
}

/** Translates `CAST (value AS type)`. */
function lowerCast(casts: Casts, open: number): void {
  const { reader, edits } = casts;
  const typeAt = castTypeAt(reader, open);
  const type = typeAt < 0 ? undefined : enumAt(casts, typeAt);
  if (type === undefined) return;
  const end = reader.nameEnd(typeAt);
  edits.replace(typeAt, end, "text");
  if (open + 3 === typeAt && reader.key(end) !== "[") checkLabel(casts, open + 1, type);
}

/** Translates `type 'label'` and `type('label')`. */
function lowerPrefix(casts: Casts, at: number): void {
  const { reader, edits } = casts;
  const end = reader.nameEnd(at);
  const isLiteral = reader.token(end)?.kind === "string";
  const isCall = reader.key(end) === "(" && reader.closing(end) === end + 2 &&
    reader.token(end + 1)?.kind === "string";
  const type = isLiteral || isCall ? enumAt(casts, at) : undefined;
  if (type === undefined) return;
  checkLabel(casts, isCall ? end + 1 : end, type);
  if (isLiteral) edits.replace(at, end, "text");
  else {
    edits.replace(at, end + 1, "(");
    edits.insertAfter(end + 2, "::text");
  }
}

/**
 * Replaces casts to an enum by casts to text: `'a'::mood`, `CAST(x AS mood)`, `mood 'a'`, also for
 * arrays. Rejects a literal that is not a label, and expressions that need the type:
 * `enum_range()`, `'mood'::regtype`.
 *
 * @param lowering The statement; receives refusals.
 * @returns The statement itself, or the changed one.
 */
export function lowerCasts(lowering: Lowering): StatementReader {
  const { reader, t } = lowering;
  const casts: Casts = { ...lowering, edits: new TokenEdits(reader) };
  for (let at = 0; at < reader.size;) {
    if (reader.key(at) === "::") lowerColons(casts, at);
    const isStart = reader.isName(at) && reader.key(at - 1) !== "." && reader.key(at - 1) !== "::";
    const end = isStart ? reader.nameEnd(at) : at;
    if (end > at && reader.key(end) === "(") {
      if (reader.key(end - 1) === "CAST") lowerCast(casts, end);
      if (reader.isOneOf(end - 1, ENUM_FUNCTIONS)) {
        t.refuse("type-enum-use", `${reader.key(end - 1).toLowerCase()}()`);
      }
    }
    if (end > at) lowerPrefix(casts, at);
    at = Math.max(end, at + 1);
  }
  return casts.edits.isEmpty ? reader : parseStatement(casts.edits.apply());
}
