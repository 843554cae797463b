import type { IdempotencyMetadata } from "../../core/idempotency.ts";
import type { Evaluator } from "../analysis/values.ts";
import type { HandlerDefinition } from "../analysis/handler_definition.ts";
import { asObject, getProperty, readProperty } from "../analysis/object_literals.ts";
import type { ts } from "../analysis/typescript.ts";

/**
 * Reads what the OpenAPI document says of the option `idempotency`.
 *
 * @param find Reports code that cannot be resolved.
 * @returns The facts; `undefined` without the option.
 */
export function readIdempotency(
  definition: HandlerDefinition,
  evaluator: Evaluator,
  find: (node: ts.Node, message: string) => void,
): IdempotencyMetadata | undefined {
  const expression = definition.getExpression("idempotency");
  if (expression === undefined) return undefined;
  const options = asObject(evaluator.evaluate(expression));
  if (options === undefined) {
    find(expression, "idempotency cannot be determined statically: use an object literal");
    return undefined;
  }
  const required = readProperty(evaluator, options, "required");
  if (required?.kind === "unknown") {
    find(required.node, "idempotency.required cannot be determined statically: use true or false");
  }
  return {
    isHeader: getProperty(evaluator, options, "key") === undefined,
    isRequired: required?.kind !== "known" || required.value !== false,
  };
}
