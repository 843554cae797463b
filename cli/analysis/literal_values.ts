import { DatabaseOperation } from "../../database/table_permission.ts";
import { UserStatus } from "../../core/http/user_status.ts";
import { isTrellis } from "./evaluate.ts";
import { ts } from "./typescript.ts";

/** The statically known value of an expression. */
export type Literal =
  | { readonly kind: "known"; readonly value: unknown }
  /** The node whose value is only known at run time. */
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** Enums that this package exports, with the values of their members. */
export const PACKAGE_ENUMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  DatabaseOperation,
  UserStatus,
};

/**
 * Returns the operands of an expression.
 *
 * @param node An array, a template, or an operator expression.
 * @returns The operands; `undefined` for other expressions.
 */
export function listOperands(node: ts.Expression): readonly ts.Expression[] | undefined {
  if (ts.isArrayLiteralExpression(node)) return node.elements;
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (ts.isPrefixUnaryExpression(node)) return [node.operand];
  if (ts.isBinaryExpression(node)) return [node.left, node.right];
  return undefined;
}

/**
 * Computes the value of an expression.
 *
 * @param node An expression with operands.
 * @param values The values of the operands.
 * @returns The value; unknown for operators that are not supported.
 */
export function compute(node: ts.Expression, values: readonly unknown[]): Literal {
  if (ts.isArrayLiteralExpression(node)) return { kind: "known", value: values };
  // converting an object to a string may run code
  const hasObject = values.some((each) => typeof each === "object" && each !== null);
  if (hasObject && !ts.isPrefixUnaryExpression(node)) return { kind: "unknown", node };
  if (ts.isTemplateExpression(node)) {
    const rest = node.templateSpans.map(({ literal }, index) =>
      String(values[index]) + literal.text
    );
    return { kind: "known", value: node.head.text + rest.join("") };
  }
  const value = ts.isPrefixUnaryExpression(node)
    ? unary(node.operator, values[0])
    : binary((node as ts.BinaryExpression).operatorToken.kind, values[0], values[1]);
  return value === undefined ? { kind: "unknown", node } : { kind: "known", value };
}

function unary(operator: ts.PrefixUnaryOperator, value: unknown): unknown {
  if (operator === ts.SyntaxKind.ExclamationToken) return !value;
  if (typeof value !== "number") return undefined;
  return operator === ts.SyntaxKind.MinusToken
    ? -value
    : operator === ts.SyntaxKind.PlusToken
    ? value
    : undefined;
}

function binary(operator: ts.SyntaxKind, left: unknown, right: unknown): unknown {
  if (
    operator === ts.SyntaxKind.PlusToken && (typeof left === "string" || typeof right === "string")
  ) {
    return `${left}${right}`;
  }
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

/**
 * Returns the value of a member of an enum that this package exports.
 *
 * @param module The package of the name.
 * @param name `DatabaseOperation.Select`
 * @returns The value; `undefined` for other names.
 */
export function getEnumValue(module: string, name: string): string | undefined {
  const [owner, member, ...rest] = name.split(".");
  const members = isTrellis(module) && rest.length === 0 ? PACKAGE_ENUMS[owner] : undefined;
  return members !== undefined && member !== undefined && Object.hasOwn(members, member)
    ? members[member]
    : undefined;
}
