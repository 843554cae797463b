import { ts } from "./typescript.ts";

/** Keys of `constraints` that are answered with 400: values, checks and NOT NULL columns. */
const BAD_VALUE = /^22\d|^23(?:000|502|514)$|_check$|_not_null$/;

/** Place of the options among the arguments. */
const OPTIONS: ReadonlyMap<string, number> = new Map([
  ["defineQuery", 0],
  ["definePreparedQuery", 0],
  ["defineStatement", 2],
]);

/**
 * Reads the response statuses of a query's `constraints`: 409 for unique constraints and foreign
 * keys, 400 for all others, and both if the names cannot be determined.
 *
 * @param name The identifier `defineQuery`, `definePreparedQuery` or `defineStatement`.
 * @returns The statuses; empty for another name or a query without `constraints`.
 */
export function readConstraintStatuses(name: ts.Identifier): number[] {
  const at = OPTIONS.get(name.text);
  if (at === undefined) return [];
  const callee = ts.isPropertyAccessExpression(name.parent) ? name.parent : name;
  if (!ts.isCallExpression(callee.parent) || callee.parent.expression !== callee) return [];
  const options = callee.parent.arguments[at] as ts.Expression | undefined;
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return [];
  const property = options.properties.find((one) =>
    one.name !== undefined && getPropertyName(one.name) === "constraints"
  );
  if (property === undefined) return [];
  const answers = ts.isPropertyAssignment(property) ? property.initializer : undefined;
  if (answers === undefined || !ts.isObjectLiteralExpression(answers)) return [400, 409];
  return answers.properties.flatMap((one) => {
    const key = one.name && getPropertyName(one.name);
    return key === undefined ? [400, 409] : [BAD_VALUE.test(key) ? 400 : 409];
  });
}

function getPropertyName(name: ts.PropertyName): string | undefined {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)
    ? name.text
    : undefined;
}
