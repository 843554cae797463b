import { ts } from "./typescript.ts";
import {
  type Evaluator,
  type Literal,
  type ScopedExpression,
  type ScopedObject,
  unknown,
  type Value,
} from "./values.ts";

/** A property of an object; `unknown` if a spread, a method or a computed name may define it. */
export type Property = ScopedExpression | { readonly unknown: ts.Node } | undefined;

/** The property names of an object, or the node that makes them unknown. */
export type Names = { readonly names: readonly string[] } | { readonly unknown: ts.Node };

/**
 * Returns a value as an object literal.
 *
 * @returns The object; `undefined` for other values.
 */
export function asObject(value: Value): ScopedObject | undefined {
  return value.kind === "expression" && ts.isObjectLiteralExpression(value.node)
    ? { node: value.node, bindings: value.bindings }
    : undefined;
}

/**
 * Returns a property of an object literal, including spread objects.
 *
 * @param name The property's name.
 */
export function getProperty(
  evaluator: Evaluator,
  { node, bindings }: ScopedObject,
  name: string,
): Property {
  for (const element of [...node.properties].reverse()) {
    if (ts.isSpreadAssignment(element)) {
      const spread = evaluator.evaluate(element.expression, bindings);
      if (spread.kind === "undefined") continue;
      const object = asObject(spread);
      if (object === undefined) {
        return { unknown: spread.kind === "unknown" ? spread.node : element };
      }
      const found = getProperty(evaluator, object, name);
      if (found !== undefined) return found;
      continue;
    }
    const key = evaluator.getKey(element.name, bindings);
    if (key === undefined) return { unknown: element };
    if (key !== name) continue;
    if (ts.isPropertyAssignment(element)) return { node: element.initializer, bindings };
    return ts.isShorthandPropertyAssignment(element)
      ? { node: element.name, bindings }
      : { unknown: element };
  }
  return undefined;
}

/** Returns the expression of a property; `undefined` if it is omitted or cannot be determined. */
export function findProperty(
  evaluator: Evaluator,
  object: ScopedObject,
  name: string,
): ScopedExpression | undefined {
  const property = getProperty(evaluator, object, name);
  return property === undefined || "unknown" in property ? undefined : property;
}

/** Returns the constant value of a property; `undefined` if it is omitted. */
export function readProperty(
  evaluator: Evaluator,
  object: ScopedObject,
  name: string,
): Literal | undefined {
  const property = getProperty(evaluator, object, name);
  if (property === undefined) return undefined;
  return "unknown" in property
    ? unknown(property.unknown)
    : evaluator.read(property.node, property.bindings);
}

/** Returns the property names of an object, including spread objects. */
export function getNames(evaluator: Evaluator, { node, bindings }: ScopedExpression): Names {
  const value = evaluator.evaluate(node, bindings);
  if (value.kind === "undefined") return { names: [] };
  const object = asObject(value);
  if (object === undefined) return { unknown: value.kind === "unknown" ? value.node : node };
  const names = new Set<string>();
  for (const element of object.node.properties) {
    if (ts.isSpreadAssignment(element)) {
      const spread = getNames(evaluator, { node: element.expression, bindings: object.bindings });
      if ("unknown" in spread) return spread;
      for (const name of spread.names) names.add(name);
      continue;
    }
    const name = evaluator.getKey(element.name, object.bindings);
    if (name === undefined) return { unknown: element };
    names.add(name);
  }
  return { names: [...names] };
}
