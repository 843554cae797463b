import fc from "fast-check";

// deno-lint-ignore no-explicit-any
type Json = any;

/** An operation of an OpenAPI document. */
export interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: Json;
}

/** Lists the operations of a document. */
export function listOperations(document: Json): DescribedOperation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method, operation }))
  );
}

const ODD_TEXT = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "grapheme", minLength: 190, maxLength: 210 }),
  fc.constantFrom("", " ", "\u0000", "a\nb", "'; --"),
);
const ODD_VALUE = fc.oneof(ODD_TEXT, fc.integer(), fc.boolean(), fc.constant(null), fc.jsonValue());

const MAX_DEPTH = 8;

/** Generates values that fit a schema of a document, or mostly fit it. */
export type ValueGenerator = (schema: Json, fits: boolean) => fc.Arbitrary<unknown>;

/**
 * Creates a generator of values.
 *
 * @param document The document.
 * @param texts Texts that fit, by `format`; those of `text` for schemas without a format.
 */
export function createValueGenerator(
  document: Json,
  texts: Readonly<Record<string, fc.Arbitrary<string>>>,
): ValueGenerator {
  function generateValue(schema: Json, fits: boolean, depth: number): fc.Arbitrary<unknown> {
    const generate = (inner: Json) => generateValue(inner, fits, depth + 1);
    if (schema.$ref) return generate(document.components.schemas[schema.$ref.split("/").at(-1)]);
    const variants = schema.anyOf ?? schema.oneOf;
    if (variants) return fc.oneof(...variants.map(generate));
    if (schema.const !== undefined) return fc.constant(schema.const);
    switch (schema.type) {
      case "object": {
        const fields = Object.entries(schema.properties ?? {}).map(([name, field]) =>
          [
            name,
            fits ? generate(field) : fc.oneof({ weight: 9, arbitrary: generate(field) }, ODD_VALUE),
          ] as const
        );
        const values = schema.additionalProperties;
        return fields.length === 0 && typeof values === "object"
          ? fc.dictionary(fc.string({ maxLength: 5 }), generate(values), { maxKeys: 2 })
          : fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] });
      }
      case "array":
        // a schema can refer to itself
        return depth > MAX_DEPTH
          ? fc.constant([])
          : fc.array(generate(schema.items ?? {}), { maxLength: 3 });
      case "integer":
        return fits ? fc.integer({ min: 1, max: 100 }) : fc.integer({ min: -2, max: 110 });
      case "number":
        return fc.double({ min: -1e6, max: 1e6, noNaN: true });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      default: {
        const fitting = schema.enum ? fc.constantFrom(...schema.enum) : texts[schema.format];
        if (fits) return fitting ?? texts.text;
        return fitting ? fc.oneof({ weight: 3, arbitrary: fitting }, ODD_TEXT) : ODD_TEXT;
      }
    }
  }

  return (schema, fits) => generateValue(schema, fits, 0);
}

/** Turns the values of bodies into texts; without `fits`, other texts too. */
export function generateBodyText(
  value: fc.Arbitrary<unknown>,
  fits: boolean,
): fc.Arbitrary<string | undefined> {
  const fitting = value.map((each) => JSON.stringify(each));
  return fits ? fitting : fc.oneof(
    { weight: 8, arbitrary: fitting },
    fc.json(),
    fc.string(),
    fc.constant(undefined),
    fc.constant(`{"title":"${"x".repeat(300_000)}"}`),
    fc.constant('{"__proto__":{"title":"a"}}'),
  );
}

/** Picks the first value if the request fits, else any of them. */
export function choose<T>(fits: boolean, good: T, ...odd: readonly T[]): fc.Arbitrary<T> {
  return fits ? fc.constant(good) : fc.oneof(
    { weight: 3, arbitrary: fc.constant(good) },
    fc.constantFrom(...odd),
  );
}

/** Generates the query string of an operation. */
export function generateQuery(
  operation: Json,
  fits: boolean,
  generateValue: ValueGenerator,
): fc.Arbitrary<URLSearchParams> {
  return generateParameters(operation, "query", fits, generateValue).map((query) =>
    new URLSearchParams(
      Object.entries(query).flatMap(([name, values]) => values.map((each) => [name, each])),
    )
  );
}

/**
 * Generates the values of an operation's parameters by name.
 *
 * @param place `query`, `header`, `cookie` or `path`.
 */
export function generateParameters(
  operation: Json,
  place: string,
  fits: boolean,
  generateValue: ValueGenerator,
): fc.Arbitrary<Record<string, string[]>> {
  const parameters: Json[] = (operation.parameters ?? []).filter((each: Json) => each.in === place);
  return fc.record(
    Object.fromEntries(
      parameters.map(({ name, schema }) => [
        name,
        generateValue(schema, fits).map((value) => [value].flat().map(String)),
      ]),
    ),
    {
      requiredKeys: fits ? parameters.filter((each) => each.required).map(({ name }) => name) : [],
    },
  );
}
