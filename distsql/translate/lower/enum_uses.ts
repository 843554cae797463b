import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
} from "../../schema/declared_schema.ts";
import { readLiteral } from "../../schema/literals.ts";
import { readObject, readPart } from "../../schema/read_object.ts";
import { keywordSet } from "../../../sql/list_words.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";

/** Use of the order of an enum's labels in a statement. */
export interface OrderUse {
  /** Enums whose order may be used. */
  readonly types: readonly DeclaredEnum[];
  /** Description for messages: `ORDER BY s`. */
  readonly what: string;
}

type Range = readonly [from: number, to: number];

const ORDERING: ReadonlySet<string> = new Set(["<", ">", "<=", ">="]);
const EQUALITY: ReadonlySet<string> = new Set(["=", "<>", "!="]);
/** Functions that select by the order of their arguments. */
const EXTREMES: ReadonlySet<string> = new Set(["MIN", "MAX", "GREATEST", "LEAST"]);
/** Functions that return an argument, and so its enum. */
const TRANSPARENT: ReadonlySet<string> = keywordSet(`
  COALESCE NULLIF GREATEST LEAST MIN MAX FIRST_VALUE LAST_VALUE NTH_VALUE LAG LEAD ANY_VALUE MODE
  UNNEST ARRAY_AGG ARRAY_APPEND ARRAY_PREPEND ARRAY_CAT ROW ARRAY ANY ALL SOME PERCENTILE_DISC
`);
/** Keywords that end an operand, or that cannot be an alias or column without quotes. */
const RESERVED: ReadonlySet<string> = keywordSet(`
  ALL ANALYSE ANALYZE AND ANY AS ASC BETWEEN BY CASE CHECK COLLATE CONSTRAINT CREATE
  CROSS DEFAULT DELETE DESC DISTINCT DO ELSE END EXCEPT EXISTS FETCH FILTER FOR
  FOREIGN FROM FULL GENERATED GROUP HAVING ILIKE IN INCLUDE INNER INSERT INTERSECT
  INTO IS ISNULL JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NOTNULL NULLS OFFSET ON ONLY
  OR ORDER OUTER OVER OVERLAPS PARTITION PRIMARY RANGE REFERENCES RETURNING RIGHT ROWS
  SELECT SET SIMILAR SOME SYMMETRIC TABLE THEN TO UNION UNIQUE UPDATE USING VALUES
  VIEW WHEN WHERE WINDOW WITH WITHIN
`);
/** Reserved words that may be part of an operand. */
const OPERAND_TAILS: ReadonlySet<string> = new Set(["END", "COLLATE", "FILTER", "OVER"]);
const CONSTANTS: ReadonlySet<string> = keywordSet(`
  NULL TRUE FALSE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP CURRENT_USER
`);
const SORT_ENDS: ReadonlySet<string> = keywordSet(`
  LIMIT OFFSET FETCH FOR UNION INTERSECT EXCEPT RETURNING ROWS RANGE GROUPS ) ;
`);
const SORT_KEY_ENDS: ReadonlySet<string> = new Set(["ASC", "DESC", "NULLS", "USING"]);

const encoder = new TextEncoder();

/** Compares texts by their bytes, like the collation C. */
function compareBytes(a: string, b: string): number {
  const [first, second] = [encoder.encode(a), encoder.encode(b)];
  for (let at = 0; at < Math.min(first.length, second.length); at++) {
    if (first[at] !== second[at]) return first[at] - second[at];
  }
  return first.length - second.length;
}

/** Checks whether the labels of an enum are in text order, so that text compares like the enum. */
export function hasTextOrder({ labels }: DeclaredEnum): boolean {
  return labels.every((label, index) => index === 0 || compareBytes(labels[index - 1], label) < 0);
}

/** Names of a statement, and which of them may refer to an enum. */
interface Names {
  /** Enums of the columns of each name. */
  readonly enums: ReadonlyMap<string, ReadonlySet<DeclaredEnum>>;
  /** Names of columns of other types. */
  readonly others: ReadonlySet<string>;
  /** Output names of the statement, and of views with enums that it reads. */
  readonly aliases: ReadonlySet<string>;
  /** Enums that a value of an unknown type may have. */
  readonly possible: ReadonlySet<DeclaredEnum>;
}

/**
 * Reads the names of a statement.
 *
 * @param only Table whose columns a definition names.
 * @param read Further tables that it reads.
 */
function readNames(
  reader: StatementReader,
  state: DeclaredSchema,
  only?: DeclaredTable,
  read: readonly DeclaredTable[] = [],
): Names {
  const enums = new Map<string, Set<DeclaredEnum>>();
  const others = new Set<string>();
  const byTable = new Map<string, Set<DeclaredEnum>>();
  for (const table of only === undefined ? state.tables.values() : [only]) {
    for (const column of table.columns) {
      const type = column.enum === undefined ? undefined : state.enums.get(column.enum);
      if (type === undefined) others.add(column.name);
      else {
        addTo(enums, column.name, [type]);
        addTo(byTable, table.name, [type]);
      }
    }
  }
  for (const type of state.enums.values()) addTo(byTable, type.name, [type]);
  const aliases = new Set<string>();
  if (only === undefined) readAliases(reader, aliases);
  const named = listNames(reader);
  for (const view of state.views.values()) {
    const query = parseStatement(view.text);
    const types = findIn(listNames(query), byTable);
    addTo(byTable, view.name, types);
    if (types.length > 0 && named.has(view.name)) readAliases(query, aliases);
  }
  const possible = new Set([
    ...findIn(named, byTable),
    ...findIn(new Set(read.map(({ name }) => name)), byTable),
    ...only === undefined ? [] : [...enums.values()].flatMap((types) => [...types]),
  ]);
  return { enums, others, aliases, possible };
}

function addTo<T>(map: Map<string, Set<T>>, name: string, values: readonly T[]): void {
  if (values.length === 0) return;
  map.set(name, new Set([...map.get(name) ?? [], ...values]));
}

function findIn<T>(names: ReadonlySet<string>, map: ReadonlyMap<string, ReadonlySet<T>>): T[] {
  return [...names].flatMap((name) => [...map.get(name) ?? []]);
}

function listNames(reader: StatementReader): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at = 0; at < reader.size; at++) if (reader.isName(at)) names.add(readPart(reader, at));
  return names;
}

function isKeyword(reader: StatementReader, at: number): boolean {
  return reader.token(at)?.kind === "word" && reader.isOneOf(at, RESERVED);
}

/** Adds the names that a statement gives: after AS, after an expression, and in lists of them. */
function readAliases(reader: StatementReader, aliases: Set<string>): void {
  for (let at = 1; at < reader.size; at++) {
    if (!reader.isName(at) || isKeyword(reader, at)) continue;
    const kind = reader.token(at - 1)?.kind;
    const followsValue = kind === "string" || kind === "number" || reader.is(at - 1, "END") ||
      reader.is(at - 1, ")") || reader.is(at - 1, "]") ||
      (reader.isName(at - 1) && !isKeyword(reader, at - 1));
    const isAlias = reader.is(at - 1, "AS") || followsValue || reader.is(at - 1, "WITH") ||
      reader.is(at - 1, "RECURSIVE") || reader.is(at - 1, "VIEW");
    if (!isAlias) continue;
    aliases.add(readPart(reader, at));
    if (!reader.is(at + 1, "(")) continue;
    for (const [from] of reader.listIn(at + 1)) aliases.add(readPart(reader, from));
  }
}

function endsOperand(key: string): boolean {
  return key === "," || key === ";" || ORDERING.has(key) || EQUALITY.has(key) || key === ":=" ||
    key === "=>" || (RESERVED.has(key) && !OPERAND_TAILS.has(key));
}

/** Returns the operand that ends before a position. */
function operandBefore(reader: StatementReader, end: number): Range {
  let at = end;
  for (let depth = 0, cases = 0; at > 0; at--) {
    const key = reader.key(at - 1);
    if (key === ")" || key === "]") depth++;
    else if ((key === "(" || key === "[") && depth-- === 0) break;
    else if (depth > 0) continue;
    else if (key === "END") cases++;
    else if (key === "CASE" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key)) break;
  }
  return [at, end];
}

/** Returns the operand that starts at a position. */
function operandAfter(reader: StatementReader, from: number): Range {
  let at = from;
  for (let cases = 0; at < reader.size; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === ")" || key === "]") break;
    if (key === "CASE") cases++;
    else if (key === "END" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key) && !(at === from && TRANSPARENT.has(key))) break;
  }
  return [from, Math.min(at, reader.size)];
}

/** Removes the parentheses around an expression. */
function unwrap(reader: StatementReader, [from, to]: Range): Range {
  let [start, end] = [from, to];
  while (reader.key(start) === "(" && reader.next(start) === end) {
    start++;
    end--;
  }
  return [start, end];
}

/** Finder of the uses of order in one statement. */
class UseFinder {
  readonly uses: OrderUse[] = [];
  readonly #reader: StatementReader;
  readonly #state: DeclaredSchema;
  readonly #names: Names;

  constructor(reader: StatementReader, state: DeclaredSchema, names: Names) {
    this.#reader = reader;
    this.#state = state;
    this.#names = names;
  }

  find(): void {
    const reader = this.#reader;
    for (let at = 0; at < reader.size; at++) {
      const key = reader.key(at);
      if (ORDERING.has(key)) {
        this.#compare(key, [operandBefore(reader, at), operandAfter(reader, at + 1)]);
      } else if (key === "BETWEEN") this.#findBetween(at);
      else if (reader.is(at, "ORDER", "BY")) this.#findSort(at);
      else if (EXTREMES.has(key) && reader.key(at + 1) === "(" && reader.key(at - 1) !== ".") {
        this.#compare(`${key.toLowerCase()}() of`, reader.listIn(at + 1));
      }
    }
  }

  #compare(what: string, operands: readonly Range[]): void {
    if (operands.some((operand) => this.#numberAt(operand))) return;
    const types = new Set(operands.flatMap((operand) => this.#enumsOf(operand)));
    if (types.size === 0) return;
    const [from, to] = operands.find((operand) => this.#enumsOf(operand).length > 0)!;
    this.uses.push({ types: [...types], what: `${what} ${this.#reader.text(from, to)}` });
  }

  #findBetween(at: number): void {
    const reader = this.#reader;
    const value = operandBefore(reader, reader.is(at - 1, "NOT") ? at - 1 : at);
    const low = reader.skip(reader.skip(at + 1, "SYMMETRIC"), "ASYMMETRIC");
    const and = reader.find("AND", low);
    if (and >= 0) this.#compare("BETWEEN on", [value, [low, and], operandAfter(reader, and + 1)]);
  }

  #findSort(at: number): void {
    const reader = this.#reader;
    let end = reader.size;
    for (let open = 0; open < at; open++) {
      if (reader.key(open) === "(" && reader.closing(open) > at) end = reader.closing(open);
    }
    for (const [from, to] of reader.list(at + 2, reader.findEnd(SORT_ENDS, at + 2, end))) {
      const range: Range = [from, reader.findEnd(SORT_KEY_ENDS, from, to)];
      // a number is the place of an output, which may be an enum
      const types = this.#numberAt(range)
        ? [...this.#names.possible].filter((type) => this.#selects(type))
        : this.#enumsOf(range);
      if (types.length > 0) this.uses.push({ types, what: `ORDER BY ${reader.text(...range)}` });
    }
  }

  /** Checks whether the statement names a column of an enum, or selects all columns. */
  #selects(type: DeclaredEnum): boolean {
    const reader = this.#reader;
    for (let at = 0; at < reader.size; at++) {
      if (reader.is(at, "*") && !reader.is(at - 1, "(")) return true;
      if (reader.isName(at) && this.#names.enums.get(readPart(reader, at))?.has(type)) return true;
    }
    return false;
  }

  /** Checks for a number literal, which is never an enum. */
  #numberAt(range: Range): boolean {
    const [from, to] = unwrap(this.#reader, range);
    const start = this.#reader.skip(from, "-");
    return to === start + 1 && this.#reader.token(start)?.kind === "number";
  }

  /** Returns the enums that an expression may have; none if it certainly has another type. */
  #enumsOf(whole: Range): DeclaredEnum[] {
    const reader = this.#reader;
    const [from, to] = unwrap(reader, whole);
    if (from >= to) return [];
    const items = reader.list(from, to);
    if (items.length > 1) return items.flatMap((item) => this.#enumsOf(item));
    if (reader.is(from, "SELECT")) {
      return this.#enumsOf([from + 1, reader.findEnd("FROM", from, to)]);
    }
    if (reader.is(from, "CASE")) return this.#enumsOfCase(from, to);
    const cast = this.#findCast(from, to);
    if (cast !== undefined) return cast;
    const end = reader.nameEnd(from);
    if (end > from && reader.is(end, "(")) {
      if (!reader.isOneOf(end - 1, TRANSPARENT)) return [];
      return reader.listIn(end).flatMap((item) => this.#enumsOf(item));
    }
    // an enum has no operators but comparisons
    if (reader.find(OPERATORS, from, to) >= 0) return [];
    if (end === from) return [];
    if (reader.token(end)?.kind === "string") return this.#typeAt(from);
    return reader.isOneOf(from, CONSTANTS) && end === from + 1 ? [] : this.#enumsNamed(end - 1);
  }

  #enumsNamed(at: number): DeclaredEnum[] {
    const { enums, others, aliases, possible } = this.#names;
    const name = readPart(this.#reader, at);
    const found = enums.get(name);
    if (aliases.has(name) || (found === undefined && !others.has(name))) return [...possible];
    return [...found ?? []].filter((type) => possible.has(type));
  }

  #enumsOfCase(from: number, to: number): DeclaredEnum[] {
    const reader = this.#reader;
    const found: DeclaredEnum[] = [];
    for (let at = from + 1, depth = 0; at < to; at = reader.next(at)) {
      if (reader.is(at, "CASE")) depth++;
      else if (reader.is(at, "END") && depth-- === 0) break;
      if (depth > 0 || (!reader.is(at, "THEN") && !reader.is(at, "ELSE"))) continue;
      found.push(...this.#enumsOf([at + 1, reader.findEnd(CASE_ENDS, at + 1, to)]));
    }
    return found;
  }

  /** Returns the enum of `value::type` and `CAST (value AS type)`; `undefined` without a cast. */
  #findCast(from: number, to: number): DeclaredEnum[] | undefined {
    const reader = this.#reader;
    let typeAt = -1;
    for (let at = from; at < to; at = reader.next(at)) if (reader.is(at, "::")) typeAt = at + 1;
    if (reader.is(from, "CAST", "(")) {
      typeAt = reader.find("AS", from + 2, reader.closing(from + 1)) + 1;
    }
    return typeAt <= 0 ? undefined : this.#typeAt(typeAt);
  }

  #typeAt(at: number): DeclaredEnum[] {
    return [findObject(this.#state.enums, readObject(this.#reader, at)) ?? []].flat();
  }
}

const CASE_ENDS: ReadonlySet<string> = new Set(["WHEN", "ELSE", "END"]);
const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%", "^", "||", "->", "->>"]);

/** Returns the declarations whose enums cannot be compared as text. */
function withoutTextOrder(state: DeclaredSchema): DeclaredSchema {
  return {
    ...state,
    enums: new Map([...state.enums].filter(([, type]) => !hasTextOrder(type))),
  };
}

/**
 * Finds what may use the order of an enum's labels: `<` and similar operators, BETWEEN, ORDER BY,
 * `min()` and `greatest()`, on a value that is an enum or of unknown type in a statement that reads
 * one. Enums whose labels are in text order compare as text, and are not found.
 *
 * @param reader The statement.
 * @param state Declarations before it.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 * @param read Tables that a stored statement reads, which may have other names by now.
 */
export function findOrderUses(
  reader: StatementReader,
  state: DeclaredSchema,
  table?: DeclaredTable,
  read: readonly DeclaredTable[] = [],
): readonly OrderUse[] {
  const ordered = withoutTextOrder(state);
  if (ordered.enums.size === 0) return [];
  const names = readNames(reader, ordered, table, read);
  if (names.possible.size === 0) return [];
  const finder = new UseFinder(reader, ordered, names);
  finder.find();
  return finder.uses;
}

/**
 * Finds enums whose columns are compared with a literal that is not one of their labels: `s = 'x'`,
 * `s IN ('x')`. Columns whose name has another type in another table are left out.
 *
 * @param reader The statement.
 * @param state Declarations before it.
 * @param table As for {@link findOrderUses}.
 */
export function findWrongLabels(
  reader: StatementReader,
  state: DeclaredSchema,
  table?: DeclaredTable,
): readonly DeclaredEnum[] {
  if (state.enums.size === 0) return [];
  const { enums, others, aliases } = readNames(reader, state, table);
  const wrong: DeclaredEnum[] = [];

  function check(nameAt: number, literals: readonly number[]): void {
    if (!reader.isName(nameAt) || reader.is(nameAt + 1, "(")) return;
    const name = readPart(reader, nameAt);
    const types = [...enums.get(name) ?? []];
    if (types.length !== 1 || others.has(name) || aliases.has(name)) return;
    const isWrong = literals.map((at) => readLiteral(reader.token(at)))
      .some((label) => label !== undefined && !types[0].labels.includes(label));
    if (isWrong) wrong.push(types[0]);
  }

  for (let at = 1; at < reader.size; at++) {
    if (EQUALITY.has(reader.key(at)) || ORDERING.has(reader.key(at))) {
      check(at - 1, reader.is(at + 2, "::") ? [] : [at + 1]);
      if (reader.is(at - 2, "::")) continue;
      check(reader.nameEnd(at + 1) - 1, [at - 1]);
    } else if (reader.is(at, "IN", "(")) {
      const items = reader.listIn(at + 1).filter(([from, to]) => to === from + 1);
      check(reader.is(at - 1, "NOT") ? at - 2 : at - 1, items.map(([from]) => from));
    }
  }
  return wrong;
}
