import { UserStatus } from "../../core/http/user_status.ts";
import { DatabaseOperation } from "../../database/table_permission.ts";
import { readTableName } from "./drizzle_tables.ts";
import { ts } from "./typescript.ts";
import { isTrellis } from "../project/resolve_module.ts";
import {
  type Evaluator,
  type Literal,
  type ScopedExpression,
  type ScopedObject,
  unknown,
  type Value,
} from "./values.ts";

/** Enums that this package exports, with the values of their members. */
export const PACKAGE_ENUMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  DatabaseOperation,
  UserStatus,
};

/**
 * Returns the constant that a value is.
 *
 * @param at The node that is unknown if the value is no constant.
 */
export function toLiteral(evaluator: Evaluator, value: Value, at: ts.Node): Literal {
  switch (value.kind) {
    case "undefined":
      return known(undefined);
    case "unknown":
      return value;
    case "package": {
      const member = getEnumValue(value.module, value.name);
      return member === undefined ? unknown(at) : known(member);
    }
    case "expression": {
      const { node, bindings } = value;
      const name = ts.isCallExpression(node)
        ? readTableName(evaluator, { node, bindings })
        : undefined;
      return name === undefined ? readLiteral(evaluator, value) : known(name);
    }
    default:
      return unknown(at);
  }
}

/** Reads an expression that refers to nothing else. */
function readLiteral(
  evaluator: Evaluator,
  { node, bindings }: ScopedExpression,
): Literal {
  if (ts.isStringLiteralLike(node)) return known(node.text);
  if (ts.isNumericLiteral(node)) return known(Number(node.text.replaceAll("_", "")));
  if (node.kind === ts.SyntaxKind.TrueKeyword) return known(true);
  if (node.kind === ts.SyntaxKind.FalseKeyword) return known(false);
  if (node.kind === ts.SyntaxKind.NullKeyword) return known(null);
  if (ts.isObjectLiteralExpression(node)) return readObject(evaluator, { node, bindings });
  const operands = listOperands(node);
  if (operands === undefined) return unknown(node);
  const values: unknown[] = [];
  for (const operand of operands) {
    const isSpread = ts.isSpreadElement(operand);
    const value = evaluator.read(isSpread ? operand.expression : operand, bindings);
    if (value.kind === "unknown") return value;
    if (!isSpread) values.push(value.value);
    else if (Array.isArray(value.value)) values.push(...value.value);
    else return unknown(operand);
  }
  return compute(node, values);
}

/** Returns the value of `DatabaseOperation.Select`; `undefined` for other names. */
function getEnumValue(module: string, name: string): string | undefined {
  const [owner, member, ...rest] = name.split(".");
  const members = isTrellis(module) && rest.length === 0 ? PACKAGE_ENUMS[owner] : undefined;
  return members !== undefined && member !== undefined && Object.hasOwn(members, member)
    ? members[member]
    : undefined;
}

function known(value: unknown): Literal {
  return { kind: "known", value };
}

function readObject(
  evaluator: Evaluator,
  { node, bindings }: ScopedObject,
): Literal {
  const result = new Map<string, unknown>();
  for (const property of node.properties) {
    if (ts.isSpreadAssignment(property)) {
      const spread = evaluator.read(property.expression, bindings);
      if (spread.kind === "unknown") return spread;
      for (const [key, value] of Object.entries(spread.value ?? {})) result.set(key, value);
      continue;
    }
    const key = evaluator.getKey(property.name, bindings);
    if (key === undefined) return unknown(property.name);
    let initializer: ts.Expression | undefined;
    if (ts.isPropertyAssignment(property)) initializer = property.initializer;
    else if (ts.isShorthandPropertyAssignment(property)) initializer = property.name;
    if (initializer === undefined) return unknown(property);
    const value = evaluator.read(initializer, bindings);
    if (value.kind === "unknown") return value;
    result.set(key, value.value);
  }
  return known(Object.fromEntries(result));
}

function listOperands(node: ts.Expression): readonly ts.Expression[] | undefined {
  if (ts.isArrayLiteralExpression(node)) return node.elements;
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (ts.isPrefixUnaryExpression(node)) return [node.operand];
  if (ts.isBinaryExpression(node)) return [node.left, node.right];
  return undefined;
}

/** Computes an expression from the values of its operands. */
function compute(node: ts.Expression, values: readonly unknown[]): Literal {
  if (ts.isArrayLiteralExpression(node)) return known(values);
  // converting an object to a string may run code
  const hasObject = values.some((each) => typeof each === "object" && each !== null);
  if (hasObject && !ts.isPrefixUnaryExpression(node)) return unknown(node);
  if (ts.isTemplateExpression(node)) {
    const rest = node.templateSpans.map(({ literal }, index) =>
      String(values[index]) + literal.text
    );
    return known(node.head.text + rest.join(""));
  }
  const value = ts.isPrefixUnaryExpression(node)
    ? computeUnary(node.operator, values[0])
    : computeBinary((node as ts.BinaryExpression).operatorToken.kind, values[0], values[1]);
  return value === undefined ? unknown(node) : known(value);
}

function computeUnary(operator: ts.PrefixUnaryOperator, value: unknown): unknown {
  if (operator === ts.SyntaxKind.ExclamationToken) return !value;
  if (typeof value !== "number") return undefined;
  if (operator === ts.SyntaxKind.MinusToken) return -value;
  return operator === ts.SyntaxKind.PlusToken ? value : undefined;
}

function computeBinary(operator: ts.SyntaxKind, left: unknown, right: unknown): unknown {
  const isText = typeof left === "string" || typeof right === "string";
  if (operator === ts.SyntaxKind.PlusToken && isText) return `${left}${right}`;
  if (typeof left !== "number" || typeof right !== "number") return undefined;
  switch (operator) {
    case ts.SyntaxKind.PlusToken:
      return left + right;
    case ts.SyntaxKind.MinusToken:
      return left - right;
    case ts.SyntaxKind.AsteriskToken:
      return left * right;
    case ts.SyntaxKind.SlashToken:
      return left / right;
    case ts.SyntaxKind.AsteriskAsteriskToken:
      return left ** right;
    default:
      return undefined;
  }
}
