import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
} from "../../schema/declared_schema.ts";
import { writeLiteral } from "../../schema/literals.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import { hasTextOrder } from "./enum_class.ts";
import type { Range } from "./operands.ts";
import { findOrderUses, type OrderUse } from "./order_uses.ts";

/** Statement whose enum comparisons are written by position. */
export interface OrderedStatement {
  readonly reader: StatementReader;
  /** Uses that still compare text. */
  readonly unproven: readonly OrderUse[];
  readonly wrongLabels: readonly DeclaredEnum[];
}

const MAX_REWRITES = 200;

/** Writes the position of a value among the labels, from 1; NULL for NULL. */
function writePosition(value: string, { labels }: DeclaredEnum): string {
  const branches = labels.map((label, index) => ` WHEN ${writeLiteral(label)} THEN ${index + 1}`);
  return `CASE ${value}${branches.join("")} END`;
}

/** Writes a check whether a value is one of some labels; NULL for NULL. */
function writeMembership(value: string, labels: readonly string[], isNot: boolean): string {
  // without labels: false, or NULL for NULL
  if (labels.length === 0) return isNot ? `(${value} = ${value})` : `(${value} <> ${value})`;
  return `(${value}${isNot ? " NOT" : ""} IN (${labels.map(writeLiteral).join(", ")}))`;
}

const FLIPPED: Readonly<Record<string, string>> = { "<": ">", ">": "<", "<=": ">=", ">=": "<=" };

/** Returns the labels for which a comparison with one label is true. */
function labelsBy({ labels }: DeclaredEnum, operator: string, label: string): string[] {
  const place = labels.indexOf(label);
  switch (operator) {
    case "<":
      return labels.slice(0, Math.max(0, place));
    case "<=":
      return labels.slice(0, place + 1);
    case ">":
      return labels.slice(place + 1);
    default:
      return labels.slice(Math.max(0, place));
  }
}

function rewriteComparison(
  use: OrderUse & { kind: "comparison" },
  text: (range: Range) => string,
): string {
  const [type] = use.types;
  const { operator, left, right, leftLabel, rightLabel } = use;
  if (rightLabel !== undefined && leftLabel === undefined) {
    return writeMembership(text(left), labelsBy(type, operator, rightLabel), false);
  }
  if (leftLabel !== undefined && rightLabel === undefined) {
    return writeMembership(text(right), labelsBy(type, FLIPPED[operator], leftLabel), false);
  }
  return `(${writePosition(text(left), type)} ${operator} ${writePosition(text(right), type)})`;
}

function rewriteBetween(
  use: OrderUse & { kind: "between" },
  text: (range: Range) => string,
): string {
  const [type] = use.types;
  const { value, low, high, isNot, isSymmetric, lowLabel, highLabel } = use;
  if (lowLabel !== undefined && highLabel !== undefined && !isSymmetric) {
    const upper = new Set(labelsBy(type, "<=", highLabel));
    const between = labelsBy(type, ">=", lowLabel).filter((label) => upper.has(label));
    return writeMembership(text(value), between, isNot);
  }
  const words = `${isNot ? "NOT " : ""}BETWEEN ${isSymmetric ? "SYMMETRIC " : ""}`;
  const [a, b, c] = [value, low, high].map((range) => writePosition(text(range), type));
  return `(${a} ${words}${b} AND ${c})`;
}

/** Replacement text for a range. */
interface Replacement {
  readonly text: string;
  readonly to: number;
}

/**
 * Writes `max(a)` as the label at the largest position, cast to the enum so that the surrounding
 * expression is classified correctly.
 */
function rewriteExtreme(
  reader: StatementReader,
  use: OrderUse & { kind: "extreme" },
  text: (range: Range) => string,
): Replacement {
  const [type] = use.types;
  const { args, argsEnd, range: [from, to], name } = use;
  const positions = args.map((range) => writePosition(text(range), type)).join(", ");
  const tail = reader.text(argsEnd + 1, to);
  const call = `${reader.text(from, from + 1)}(${positions})${tail === "" ? "" : ` ${tail}`}`;
  const branches = type.labels.map((label, index) =>
    ` WHEN ${index + 1} THEN ${writeLiteral(label)}`
  );
  const castsTo = castsEnd(reader, to);
  const casts = reader.text(to, castsTo);
  const value = `(CASE ${call}${branches.join("")} END)::${getKey(type)}${casts}`;
  return {
    text: isWholeOutput(reader, from, castsTo) ? `${value} AS ${name}` : value,
    to: castsTo,
  };
}

/** Returns the end of the casts after a value. */
function castsEnd(reader: StatementReader, at: number): number {
  while (reader.is(at, "::") && reader.isName(at + 1)) {
    at = reader.nameEnd(at + 1);
    if (reader.is(at, "[")) at = reader.next(at);
  }
  return at;
}

const AFTER_OUTPUT: ReadonlySet<string> = new Set([
  "",
  ",",
  ")",
  ";",
  "FROM",
  "WHERE",
  "GROUP",
  "HAVING",
  "ORDER",
  "LIMIT",
  "OFFSET",
  "FETCH",
  "FOR",
  "WINDOW",
  "UNION",
  "INTERSECT",
  "EXCEPT",
]);

/** Checks whether a call is an unnamed output column, which would lose its name. */
function isWholeOutput(reader: StatementReader, from: number, to: number): boolean {
  const starts = reader.is(from - 1, "SELECT") || reader.is(from - 1, ",") ||
    reader.is(from - 1, "RETURNING");
  return starts && isSelectItem(reader, from) && AFTER_OUTPUT.has(reader.key(to)) &&
    !(to < reader.size && reader.key(to) === "");
}

/** Checks whether a position is directly in a SELECT list, not in a call or GROUP BY. */
function isSelectItem(reader: StatementReader, from: number): boolean {
  let depth = 0;
  for (let at = from - 1; at >= 0; at--) {
    const key = reader.key(at);
    if (key === ")") depth++;
    else if (key === "(") {
      if (depth === 0) return false;
      depth--;
    } else if (depth === 0 && (key === "SELECT" || key === "RETURNING")) return true;
    else if (depth === 0 && ["FROM", "WHERE", "BY", "VALUES", "SET", "ON"].includes(key)) {
      return false;
    }
  }
  return false;
}

function rewrite(reader: StatementReader, use: OrderUse): Replacement | undefined {
  const text = ([from, to]: Range): string => reader.text(from, to);
  const { kind, range: [, to], types: [type] } = use;
  switch (kind) {
    case "comparison":
      return { text: rewriteComparison(use, text), to };
    case "between":
      return { text: rewriteBetween(use, text), to };
    case "sort":
      return { text: writePosition(text(use.range), type), to };
    case "extreme":
      return rewriteExtreme(reader, use, text);
    default:
      return undefined;
  }
}

/** Returns the innermost use that can be written by position. */
function findInnermost(uses: readonly OrderUse[]): OrderUse | undefined {
  const open = uses.filter((use) => use.kind !== "other");
  return open.find((use) =>
    !open.some((other) =>
      other !== use && other.range[0] >= use.range[0] && other.range[1] <= use.range[1]
    )
  );
}

/**
 * Rewrites comparisons, sort keys and extremes of enums to the positions of their labels, where the
 * enum is certain. Enums whose labels are in text order are not changed.
 *
 * @param statement The statement, with its casts to enums.
 * @param state Declarations before it.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 * @returns The statement, and the uses that still compare text.
 */
export function rewriteOrder(
  statement: StatementReader,
  state: DeclaredSchema,
  table?: DeclaredTable,
): OrderedStatement {
  let reader = statement;
  const first = findOrderUses(reader, state, table);
  let uses = first.uses;
  for (let count = 0; count < MAX_REWRITES; count++) {
    uses = uses.filter((use) => !use.types.every(hasTextOrder));
    const use = findInnermost(uses);
    const replacement = use && rewrite(reader, use);
    if (use === undefined || replacement === undefined) break;
    const edits = new TokenEdits(reader);
    edits.replace(use.range[0], replacement.to, replacement.text);
    reader = parseStatement(edits.apply());
    uses = findOrderUses(reader, state, table).uses;
  }
  return {
    reader,
    unproven: uses.filter((use) => !use.types.every(hasTextOrder)),
    wrongLabels: first.wrongLabels,
  };
}
