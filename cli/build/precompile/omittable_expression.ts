import { ts, unwrap } from "../../analysis/typescript.ts";
import { DENIED } from "./pure_expression.ts";

/** Functions of zod that keep a function, and call it only for values. */
const KEEP_FUNCTIONS: ReadonlySet<string> = new Set(
  "refine superRefine transform preprocess overwrite default prefault catch custom lazy".split(" "),
);

/**
 * Checks that the creation of a schema has no effect, so that it can be omitted if it is not used.
 * Unlike a pure expression it may contain functions and other values.
 */
export function isOmittable(
  node: ts.Expression,
  isZodName: (name: ts.Identifier) => boolean,
): boolean {
  return isChain(unwrap(node));

  /** Checks `z.string().min(1)`: calls that start at zod. */
  function isChain(value: ts.Expression): boolean {
    if (ts.isIdentifier(value)) return isZodName(value);
    if (ts.isPropertyAccessExpression(value)) {
      const { text } = value.name;
      return (!DENIED.has(text) || KEEP_FUNCTIONS.has(text)) && isChain(unwrap(value.expression));
    }
    if (!ts.isCallExpression(value)) return false;
    const callee = unwrap(value.expression);
    if (!ts.isPropertyAccessExpression(callee) || !isChain(callee)) return false;
    const keepsFunctions = KEEP_FUNCTIONS.has(callee.name.text);
    return value.arguments.every((each) =>
      isArgument(unwrap(each)) || keepsFunctions && isFunction(each)
    );
  }

  function isArgument(value: ts.Expression): boolean {
    if (ts.isArrayLiteralExpression(value)) {
      return value.elements.every((each) => isArgument(unwrap(each)));
    }
    if (ts.isObjectLiteralExpression(value)) {
      return value.properties.every((each) =>
        ts.isShorthandPropertyAssignment(each) ||
        ts.isPropertyAssignment(each) && !ts.isComputedPropertyName(each.name) &&
          isArgument(unwrap(each.initializer))
      );
    }
    return ts.isIdentifier(value) || ts.isStringLiteralLike(value) || ts.isNumericLiteral(value) ||
      ts.isRegularExpressionLiteral(value) || value.kind === ts.SyntaxKind.TrueKeyword ||
      value.kind === ts.SyntaxKind.FalseKeyword || value.kind === ts.SyntaxKind.NullKeyword ||
      isChain(value);
  }
}

function isFunction(node: ts.Node): boolean {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isIdentifier(node);
}
