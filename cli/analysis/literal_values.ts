import { DatabaseOperation } from "../../database/table_permission.ts";
import { UserStatus } from "../../core/http/user_status.ts";
import { isTrellis } from "./evaluate.ts";
import { ts } from "./typescript.ts";

/** What an expression's text says it is. */
export type Literal =
  | { readonly kind: "known"; readonly value: unknown }
  /** The part that only a run can tell. */
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** Enums of the package, whose members have values. */
export const PACKAGE_ENUMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  DatabaseOperation,
  UserStatus,
};

/**
 * The expressions that an expression's value is worked out of.
 *
 * @param node A list, a template, or an operator with what it takes.
 * @returns The parts; `undefined` for what is not worked out.
 */
export function getParts(node: ts.Expression): readonly ts.Expression[] | undefined {
  if (ts.isArrayLiteralExpression(node)) return node.elements;
  if (ts.isTemplateExpression(node)) return node.templateSpans.map(({ expression }) => expression);
  if (ts.isPrefixUnaryExpression(node)) return [node.operand];
  if (ts.isBinaryExpression(node)) return [node.left, node.right];
  return undefined;
}

/**
 * Works out the value of an expression.
 *
 * @param node An expression that has parts.
 * @param values The parts' values.
 * @returns The value; unknown for operators that are not worked out.
 */
export function compute(node: ts.Expression, values: readonly unknown[]): Literal {
  if (ts.isArrayLiteralExpression(node)) return { kind: "known", value: values };
  // what an object is as a text, only a run can tell
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
 * The value of a member of one of the package's enums.
 *
 * @param module The package that the name is of.
 * @param name `DatabaseOperation.Select`
 * @returns The value; `undefined` for all else.
 */
export function enumValue(module: string, name: string): string | undefined {
  const [owner, member, ...rest] = name.split(".");
  const members = isTrellis(module) && rest.length === 0 ? PACKAGE_ENUMS[owner] : undefined;
  return members !== undefined && member !== undefined && Object.hasOwn(members, member)
    ? members[member]
    : undefined;
}
