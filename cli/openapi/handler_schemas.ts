import type { HandlerDefinition } from "../analysis/handler_definition.ts";
import { asObject, findProperty, getNames } from "../analysis/object_literals.ts";
import type { SuccessResponse } from "../analysis/reachable_responses.ts";
import { findDeclaration } from "../analysis/scopes.ts";
import { ts } from "../analysis/typescript.ts";
import type { Evaluator } from "../analysis/values.ts";

/**
 * Returns the expression of a schema option: as written in the options, so that calls of factories
 * keep their arguments; for a parameter of a wrapper, the argument.
 */
export function getSchema(
  { options, getExpression }: HandlerDefinition,
  evaluator: Evaluator,
  option: string,
): ts.Expression | undefined {
  const property = options && findProperty(evaluator, { node: options }, option);
  if (property === undefined) return getExpression(option);
  let holder: ts.Node | undefined = ts.isIdentifier(property.node)
    ? findDeclaration(property.node)
    : undefined;
  while (holder !== undefined && ts.isBindingElement(holder)) holder = holder.parent.parent;
  return holder !== undefined && ts.isParameter(holder) ? getExpression(option) : property.node;
}

/**
 * Reads the option `responses`: schemas by status.
 *
 * @param find Reports code that cannot be resolved.
 * @returns The responses; `undefined` without the option.
 */
export function readDeclaredResponses(
  { getExpression }: HandlerDefinition,
  evaluator: Evaluator,
  find: (node: ts.Node, message: string) => void,
): SuccessResponse[] | undefined {
  const expression = getExpression("responses");
  if (expression === undefined) return undefined;
  const statuses = getNames(evaluator, { node: expression });
  if ("unknown" in statuses) {
    find(statuses.unknown, "responses cannot be determined statically: use an object literal");
    return undefined;
  }
  const object = asObject(evaluator.evaluate(expression));
  return object === undefined ? [] : statuses.names.flatMap((status) => {
    const property = findProperty(evaluator, object, status);
    return property === undefined
      ? []
      : [{ status: Number(status), hasBody: true, schema: property.node }];
  });
}
