import { ts, unwrap } from "./typescript.ts";

/**
 * Returns the columns of a drizzle table whose values come from a sequence. Inserting needs a grant
 * on the sequence too.
 *
 * @returns Column names in the database.
 */
export function getSerialColumns(definition: ts.CallExpression): string[] {
  let columns: ts.Expression | undefined = definition.arguments[1] &&
    unwrap(definition.arguments[1]);
  if (columns !== undefined && ts.isArrowFunction(columns) && !ts.isBlock(columns.body)) {
    columns = unwrap(columns.body);
  }
  if (columns === undefined || !ts.isObjectLiteralExpression(columns)) return [];
  return columns.properties.flatMap((property) => {
    if (!ts.isPropertyAssignment(property) || ts.isComputedPropertyName(property.name)) return [];
    const first = getFirstCall(property.initializer);
    if (first === undefined || !/(?:^|\.)(?:small|big)?serial$/.test(first.expression.getText())) {
      return [];
    }
    const [name] = first.arguments;
    return [name !== undefined && ts.isStringLiteralLike(name) ? name.text : property.name.text];
  });
}

/** Returns the first call of a chain: `serial("id")` of `serial("id").primaryKey()`. */
export function getFirstCall(expression: ts.Expression): ts.CallExpression | undefined {
  let first: ts.CallExpression | undefined;
  for (let at: ts.Expression = expression;;) {
    if (ts.isCallExpression(at)) {
      first = at;
      at = at.expression;
    } else if (ts.isPropertyAccessExpression(at) && ts.isCallExpression(at.expression)) {
      at = at.expression;
    } else return first;
  }
}
