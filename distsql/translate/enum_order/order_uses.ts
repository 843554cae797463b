import type { DeclaredEnum, DeclaredSchema, DeclaredTable } from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { type EnumClass, getEnums } from "./enum_class.ts";
import { ExpressionClass } from "./expression_class.ts";
import { EQUALITY, EXTREMES, ORDERING } from "./keywords.ts";
import { operandEnd, operandStart, type Range, unwrap } from "./operands.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Use of the order of an enum's labels in a statement. */
export type OrderUse =
  & {
    /** Enums whose order is used. */
    readonly types: readonly DeclaredEnum[];
    /** Range of the use. */
    readonly range: Range;
    /** Description for messages. */
    readonly what: string;
  }
  & (
    /** Cannot be written by position. */
    | { readonly kind: "other" }
    /** `a < b` */
    | {
      readonly kind: "comparison";
      readonly operator: string;
      readonly left: Range;
      readonly right: Range;
      readonly leftLabel?: string;
      readonly rightLabel?: string;
    }
    /** `a BETWEEN b AND c` */
    | {
      readonly kind: "between";
      readonly value: Range;
      readonly low: Range;
      readonly high: Range;
      readonly isNot: boolean;
      readonly isSymmetric: boolean;
      readonly lowLabel?: string;
      readonly highLabel?: string;
    }
    /** A key of ORDER BY. */
    | { readonly kind: "sort" }
    /** `min(a)`, `greatest(a, b)` with its FILTER and OVER. */
    | {
      readonly kind: "extreme";
      readonly args: readonly Range[];
      readonly name: string;
      readonly argsEnd: number;
    }
  );

/** Uses found in a statement. */
export interface OrderUses {
  readonly uses: readonly OrderUse[];
  /** Enum of each value that is compared with it and is not one of its labels. */
  readonly wrongLabels: readonly DeclaredEnum[];
}

const QUANTIFIERS: ReadonlySet<string> = new Set(["ANY", "ALL", "SOME"]);
const SORT_ENDS: ReadonlySet<string> = keywordSet(`
  LIMIT OFFSET FETCH FOR UNION INTERSECT EXCEPT RETURNING ROWS RANGE GROUPS ) ;
`);
const SORT_KEY_ENDS: ReadonlySet<string> = new Set(["ASC", "DESC", "NULLS", "USING"]);
const OUTPUT_ENDS: ReadonlySet<string> = new Set(["FROM", "WHERE", "GROUP", "UNION"]);
const SET_OPERATIONS: ReadonlySet<string> = new Set(["UNION", "INTERSECT", "EXCEPT"]);

/** Finder of the uses in one statement. */
class UseFinder {
  readonly uses: OrderUse[] = [];
  readonly wrongLabels: DeclaredEnum[] = [];
  readonly #reader: StatementReader;
  readonly #classes: ExpressionClass;

  constructor(reader: StatementReader, state: DeclaredSchema, table: DeclaredTable | undefined) {
    this.#reader = reader;
    this.#classes = new ExpressionClass(reader, state, table);
  }

  find(from: number, to: number): void {
    const reader = this.#reader;
    for (let at = from; at < to; at++) {
      const key = reader.key(at);
      if (ORDERING.has(key)) this.#findComparison(at);
      else if (EQUALITY.has(key)) this.#checkEquality(at);
      else if (key === "IN" && reader.key(at + 1) === "(") this.#checkList(at);
      else if (key === "BETWEEN") this.#findBetween(at);
      else if (reader.is(at, "ORDER", "BY")) this.#findSort(at);
      else if (EXTREMES.has(key) && reader.key(at + 1) === "(" && reader.key(at - 1) !== ".") {
        this.#findExtreme(at);
      }
    }
  }

  #getLeft(at: number): Range {
    const end = this.#reader.is(at - 1, "NOT") ? at - 1 : at;
    return [operandStart(this.#reader, end), end];
  }

  #getRight(at: number): Range {
    return [at, operandEnd(this.#reader, at)];
  }

  /** Checks for a number literal, which is never an enum. */
  #isNumber(range: Range): boolean {
    const [from, to] = unwrap(this.#reader, range);
    const start = this.#reader.skip(from, "-");
    return to === start + 1 && this.#reader.token(start)?.kind === "number";
  }

  /** Returns the enum that operands certainly have, or those that they may have. */
  #typesOf(
    operands: readonly Range[],
  ): { certain?: DeclaredEnum; types: readonly DeclaredEnum[] } {
    const classes = operands.map((operand) => this.#classes.getClass(operand));
    const certain = classes.find((one) => one.is === "enum");
    if (certain?.is === "enum") return { certain: certain.type, types: [certain.type] };
    return { types: [...new Set(classes.flatMap(getEnums))] };
  }

  /** Returns the labels of the operands that are literals, and checks them. */
  #readLabels(type: DeclaredEnum, operands: readonly Range[]): (string | undefined)[] {
    return operands.map((operand) => {
      const label = this.#classes.literalAt(operand)?.label;
      if (label !== undefined && !type.labels.includes(label)) this.wrongLabels.push(type);
      return label;
    });
  }

  #findComparison(at: number): void {
    const reader = this.#reader;
    const left = this.#getLeft(at);
    const right = this.#getRight(at + 1);
    if (this.#isNumber(left) || this.#isNumber(right)) return;
    const { certain, types } = this.#typesOf([left, right]);
    if (types.length === 0) return;
    const base = { types, range: [left[0], right[1]] as const, what: `${reader.key(at)} on` };
    if (certain === undefined || reader.isOneOf(right[0], QUANTIFIERS)) {
      return void this.uses.push({ ...base, kind: "other" });
    }
    const [leftLabel, rightLabel] = this.#readLabels(certain, [left, right]);
    const labels = { leftLabel, rightLabel };
    this.uses.push({
      ...base,
      kind: "comparison",
      operator: reader.key(at),
      left,
      right,
      ...labels,
    });
  }

  #findBetween(at: number): void {
    const reader = this.#reader;
    const isNot = reader.is(at - 1, "NOT");
    const value = this.#getLeft(at);
    const isSymmetric = reader.is(at + 1, "SYMMETRIC");
    const lowFrom = reader.skip(reader.skip(at + 1, "SYMMETRIC"), "ASYMMETRIC");
    const and = reader.find("AND", lowFrom);
    if (and < 0) return;
    const [low, high]: Range[] = [[lowFrom, and], this.#getRight(and + 1)];
    if ([value, low, high].some((range) => this.#isNumber(range))) return;
    const { certain, types } = this.#typesOf([value, low, high]);
    if (types.length === 0) return;
    const base = { types, range: [value[0], high[1]] as const, what: "BETWEEN on" };
    if (certain === undefined) return void this.uses.push({ ...base, kind: "other" });
    const [, lowLabel, highLabel] = this.#readLabels(certain, [value, low, high]);
    const labels = { lowLabel, highLabel };
    this.uses.push({ ...base, kind: "between", value, low, high, isNot, isSymmetric, ...labels });
  }

  #checkEquality(at: number): void {
    const operands = [this.#getLeft(at), this.#getRight(at + 1)];
    const { certain } = this.#typesOf(operands);
    if (certain) this.#readLabels(certain, operands);
  }

  #checkList(at: number): void {
    const type = this.#classes.getClass(this.#getLeft(at));
    if (type.is === "enum") this.#readLabels(type.type, this.#reader.listIn(at + 1));
  }

  /**
   * Returns the start of a position's nesting level: after its parenthesis, or the start of the
   * statement.
   */
  #getLevel(at: number): [open: number, end: number] {
    const reader = this.#reader;
    let [from, to] = [-1, reader.size];
    for (let open = 0; open < at; open++) {
      if (reader.key(open) !== "(") continue;
      const close = reader.closing(open);
      if (close > at) [from, to] = [open, close];
    }
    return [from, to];
  }

  #findSort(at: number): void {
    const reader = this.#reader;
    const [open, levelEnd] = this.#getLevel(at);
    const end = reader.findEnd(SORT_ENDS, at + 2, levelEnd);
    for (const [from, to] of reader.list(at + 2, end)) {
      const range: Range = [from, reader.findEnd(SORT_KEY_ENDS, from, to)];
      const type = reader.token(from)?.kind === "number" && range[1] === from + 1
        ? this.#classOfOutput(open, at, Number(reader.token(from)!.text))
        : this.#classes.getClass(range);
      if (type.is === "none") continue;
      const base = { types: getEnums(type), range, what: "ORDER BY" };
      const isPlain = type.is === "enum" && reader.token(from)?.kind !== "number" &&
        reader.key(range[1]) !== "USING" &&
        this.#takesExpressions(open, at);
      this.uses.push({ ...base, kind: isPlain ? "sort" : "other" });
    }
  }

  /** Returns the class of a column number in ORDER BY. */
  #classOfOutput(open: number, at: number, place: number): EnumClass {
    const reader = this.#reader;
    const select = reader.find("SELECT", open + 1, at);
    if (select < 0) return { is: "none" };
    const start = reader.skip(reader.skip(select + 1, "ALL"), "DISTINCT");
    const item = reader.list(start, reader.findEnd(OUTPUT_ENDS, start, at))[place - 1];
    if (item === undefined) return { is: "none" };
    return this.#classes.getClass([item[0], reader.findEnd("AS", item[0], item[1])]);
  }

  /**
   * Checks whether an ORDER BY may name an expression that is not selected, and does not return its
   * sort keys.
   */
  #takesExpressions(open: number, at: number): boolean {
    const reader = this.#reader;
    if (reader.is(open - 2, "WITHIN", "GROUP")) return false;
    for (let i = open + 1; i < at; i = reader.next(i)) {
      if (reader.is(i, "DISTINCT") && !reader.is(i - 1, "IS") && !reader.is(i - 2, "IS", "NOT")) {
        return false;
      }
      if (reader.isOneOf(i, SET_OPERATIONS)) return false;
    }
    return true;
  }

  #findExtreme(at: number): void {
    const reader = this.#reader;
    const close = reader.closing(at + 1);
    const first = reader.skip(reader.skip(at + 2, "DISTINCT"), "ALL");
    const args = reader.list(first, close);
    const { certain, types } = this.#typesOf(args);
    if (types.length === 0) return;
    let end = close + 1;
    if (reader.is(end, "FILTER", "(")) end = reader.next(end + 1);
    if (reader.is(end, "OVER")) end = reader.key(end + 1) === "(" ? reader.next(end + 1) : end + 2;
    const base = { types, range: [at, end] as const, what: `${reader.key(at).toLowerCase()}() of` };
    if (certain === undefined) return void this.uses.push({ ...base, kind: "other" });
    this.#readLabels(certain, args);
    this.uses.push({ ...base, kind: "extreme", args, name: readPart(reader, at), argsEnd: close });
  }
}

/**
 * Finds uses of the order of an enum's labels: `<` and similar operators, BETWEEN, ORDER BY,
 * `min()` and `greatest()`. Also finds values that are compared with an enum and are not one of its
 * labels.
 *
 * @param reader The statement.
 * @param state Declarations before it.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 * @param from Start position.
 * @param to End position.
 */
export function findOrderUses(
  reader: StatementReader,
  state: DeclaredSchema,
  table: DeclaredTable | undefined,
  from = 0,
  to: number = reader.size,
): OrderUses {
  if (state.enums.size === 0) return { uses: [], wrongLabels: [] };
  const finder = new UseFinder(reader, state, table);
  finder.find(from, to);
  return { uses: finder.uses, wrongLabels: finder.wrongLabels };
}
