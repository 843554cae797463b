import type { IdempotencyMetadata } from "../../core/idempotency.ts";
import type { Evaluator } from "../analysis/values.ts";
import type { HandlerDefinition } from "../analysis/handler_definition.ts";
import { asObject, getProperty } from "../analysis/object_literals.ts";
import type { ts } from "../analysis/typescript.ts";

/**
 * Reads what the OpenAPI document says of the option `idempotency`.
 *
 * @param definition The handler.
 * @param evaluator Evaluates constants.
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
  const required = getProperty(evaluator, options, "required");
  const literal = required === undefined
    ? undefined
    : "unknown" in required
    ? { kind: "unknown", node: required.unknown } as const
    : evaluator.read(required.node, required.bindings);
  if (literal?.kind === "unknown") {
    find(literal.node, "idempotency.required cannot be determined statically: use true or false");
  }
  return {
    isHeader: getProperty(evaluator, options, "key") === undefined,
    isRequired: literal?.kind !== "known" || literal.value !== false,
  };
}
