import fc from "fast-check";
import * as z from "zod";
import type * as core from "zod/v4/core";

/** Everything that two results may differ in: absent keys, their order, prototypes, frozen or not. */
export function getShape(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : value;
  if (value instanceof Date) return `Date ${value.getTime()}`;
  const entries = Reflect.ownKeys(value).map((
    key,
  ) => [key, getShape((value as Record<PropertyKey, unknown>)[key])]);
  return [
    Array.isArray(value),
    Object.getPrototypeOf(value) === Object.prototype,
    Object.isFrozen(value),
    entries,
  ];
}

const text = fc.oneof(
  fc.constantFrom("", "a", " b ", "x@y.zz", "12", "😀", "__proto__"),
  fc.string({ maxLength: 5 }),
);
const keys = fc.constantFrom("a", "b", "c", "1", "toString", "constructor", "x-y");

/** Schemas of the kinds that are compiled. */
export const schemas = fc.letrec<
  { any: core.$ZodType; object: core.$ZodType; leaf: core.$ZodType }
>((
  tie,
) => ({
  leaf: fc.oneof(
    fc.tuple(fc.nat(3), fc.nat(6)).map(([min, max]) => z.string().min(min).max(max)),
    fc.constantFrom<() => core.$ZodType>(
      () => z.string(),
      () => z.string().trim(),
      () => z.email(),
      () => z.url(),
      () => z.httpUrl(),
      () => z.string().startsWith("h").endsWith("m"),
      () => z.number().multipleOf(3),
      () => z.int32(),
      () => z.undefined(),
      () => z.string().regex(/^[a-z]/),
      () => z.coerce.number(),
      () => z.coerce.string().min(1),
      () => z.coerce.boolean(),
      () => z.coerce.date(),
      () => z.int().min(0).max(9),
      () => z.number().gt(1),
      () => z.boolean(),
      () => z.null(),
      () => z.any(),
      () => z.unknown(),
      () => z.literal(["a", 1, null]),
      () => z.enum(["a", "b"]),
    ).map((make) => make()),
  ),
  object: fc.tuple(
    fc.dictionary(keys, tie("any"), { maxKeys: 4, noNullPrototype: true }),
    fc.nat(2),
  )
    .map(([shape, mode]) =>
      [z.object, z.strictObject, z.looseObject][mode](shape as z.ZodRawShape)
    ),
  any: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    tie("leaf"),
    tie("leaf").map((inner) => z.optional(inner)),
    tie("any").map((inner) => z.nullable(inner)),
    tie("leaf").map((inner) => z._default(inner as z.ZodType, "a" as never)),
    tie("any").map((inner) => z.readonly(inner)),
    fc.tuple(tie("any"), fc.nat(3)).map(([inner, max]) => z.array(inner).max(max)),
    tie("any").map((inner) => z.record(z.string(), inner)),
    fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map((options) => z.union(options)),
    tie("object"),
  ),
}));

/** Values that have a chance to fit. */
const values = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    text,
    fc.integer({ min: -1, max: 10 }),
    fc.constantFrom(true, false, null, undefined, 1.5, -0),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(keys, text), tie("any"), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

/** A value made for a schema: mostly a valid one. */
export function valueFor(schema: core.$ZodType): fc.Arbitrary<unknown> {
  const definition = schema._zod.def as {
    type: string;
    shape: Record<string, core.$ZodType>;
    element: core.$ZodType;
    innerType: core.$ZodType;
    options: core.$ZodType[];
    valueType: core.$ZodType;
  };
  const likely = ((): fc.Arbitrary<unknown> => {
    switch (definition.type) {
      case "string":
        return text;
      case "number":
        return fc.integer({ min: 0, max: 9 });
      case "boolean":
        return fc.boolean();
      case "literal":
      case "enum":
        return fc.constant("a");
      case "array":
        return fc.array(valueFor(definition.element), { maxLength: 3 });
      case "optional":
      case "nullable":
      case "default":
      case "readonly":
        return valueFor(definition.innerType);
      case "record":
        return fc.dictionary(text, valueFor(definition.valueType), {
          maxKeys: 3,
          noNullPrototype: true,
        });
      case "union":
        return fc.oneof(...definition.options.map(valueFor));
      case "object":
        return fc.record(
          Object.fromEntries(
            Object.entries(definition.shape).map(([key, field]) => [key, valueFor(field)]),
          ),
          { requiredKeys: [], noNullPrototype: true },
        );
      default:
        return values.any;
    }
  })();
  return fc.oneof({ arbitrary: likely, weight: 12 }, { arbitrary: values.any, weight: 1 });
}
