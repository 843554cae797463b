import {
  type CompareParts,
  type Json,
  listTypes,
  type Narrowing,
  type ValueDirection,
} from "./schema_view.ts";

/**
 * Compares the properties of objects. A property that `from` does not declare is never sent, unless
 * `additionalProperties` describes it, or a request accepts any.
 *
 * @param from The schema that values fit.
 * @param to The schema that they must fit.
 * @param path The place of the object.
 * @param compare Compares the schemas of properties.
 * @param direction Where the objects are.
 */
export function findObjectNarrowing(
  from: Json,
  to: Json,
  path: string,
  compare: CompareParts,
  direction: ValueDirection,
): Narrowing[] {
  if (!listTypes(from).includes("object")) return [];
  const at = (name: string) => path === "" ? name : `${path}.${name}`;
  const given = (from.properties ?? {}) as Json;
  const wanted = (to.properties ?? {}) as Json;
  const isSent = new Set((from.required ?? []) as string[]);
  const missing = ((to.required ?? []) as string[]).filter((name) => !isSent.has(name))
    .map((name) => ({ path: at(name), message: "may be missing" }));
  const declared = Object.entries(given).flatMap(([name, schema]) => {
    if (Object.hasOwn(wanted, name)) return compare(schema, wanted[name], at(name));
    return compareAdditional(schema, to, at(name), compare);
  });
  const { additionalProperties: others = true } = from;
  if (others === true && direction === "request") {
    return [...missing, ...declared, ...compareAdditional({}, to, at("*"), compare)];
  }
  const isDescribed = from.additionalProperties === true || typeof others === "object";
  if (!isDescribed || others === null) return [...missing, ...declared];
  const other = others === true ? {} : others;
  return [
    ...missing,
    ...declared,
    ...Object.keys(wanted).filter((name) => !Object.hasOwn(given, name))
      .flatMap((name) => compare(other, wanted[name], at(name))),
    ...compareAdditional(other, to, at("*"), compare),
  ];
}

function compareAdditional(
  schema: unknown,
  { additionalProperties = true }: Json,
  path: string,
  compare: CompareParts,
): Narrowing[] {
  if (additionalProperties === true) return [];
  if (additionalProperties === false) {
    return compare(schema, false, path).map(() => ({
      path,
      message: "may be sent, and is not allowed",
    }));
  }
  return compare(schema, additionalProperties, path);
}
