import { ts } from "./typescript.ts";

/** Keys of `constraints` that are answered with 400: values, checks and NOT NULL columns. */
const BAD_VALUE = /^22\d|^23(?:000|502|514)$|_check$|_not_null$/;

/**
 * Reads the statuses that a query's `constraints` are answered with, by their names: 409 for unique constraints and
 * foreign keys, 400 for the others. Both where the names cannot be told from the text.
 *
 * @param name `defineQuery` or `definePreparedQuery`, where it stands.
 * @returns The statuses; none for another name, or for a query without `constraints`.
 */
export function readConstraintStatuses(name: ts.Identifier): number[] {
  if (name.text !== "defineQuery" && name.text !== "definePreparedQuery") return [];
  const callee = ts.isPropertyAccessExpression(name.parent) ? name.parent : name;
  if (!ts.isCallExpression(callee.parent) || callee.parent.expression !== callee) return [];
  const [options] = callee.parent.arguments;
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return [];
  const property = options.properties.find((one) =>
    one.name !== undefined && getText(one.name) === "constraints"
  );
  if (property === undefined) return [];
  const answers = ts.isPropertyAssignment(property) ? property.initializer : undefined;
  if (answers === undefined || !ts.isObjectLiteralExpression(answers)) return [400, 409];
  return answers.properties.flatMap((one) => {
    const key = one.name && getText(one.name);
    return key === undefined ? [400, 409] : [BAD_VALUE.test(key) ? 400 : 409];
  });
}

function getText(name: ts.PropertyName): string | undefined {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)
    ? name.text
    : undefined;
}
