import type { JsonSchema } from "./json_schema.ts";

/** A field of an object. */
export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
}

/**
 * The fields of an object's schema: of all parts of an intersection, of each alternative of a union.
 *
 * @param json The schema.
 * @returns The fields in order; `undefined` when it is no object.
 */
export function getFields(json: JsonSchema): Field[] | undefined {
  const { properties, required = [], allOf } = json as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
    allOf?: JsonSchema[];
  };
  if (properties !== undefined) {
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      schema,
      isRequired: required.includes(name),
    }));
  }
  const alternatives = (json.anyOf ?? json.oneOf) as JsonSchema[] | undefined;
  const parts = (allOf ?? alternatives)?.map(getFields);
  if (parts === undefined || parts.length === 0 || parts.some((part) => part === undefined)) {
    return undefined;
  }
  const fields = new Map<string, Field>();
  for (const [index, part] of (parts as Field[][]).entries()) {
    for (const field of part) {
      const known = fields.get(field.name);
      if (known === undefined) {
        fields.set(field.name, {
          ...field,
          isRequired: field.isRequired && (allOf !== undefined || index === 0),
        });
      } else {
        fields.set(field.name, {
          name: field.name,
          isRequired: allOf === undefined
            ? known.isRequired && field.isRequired
            : known.isRequired || field.isRequired,
          schema: join(known.schema, field.schema, allOf === undefined ? "anyOf" : "allOf"),
        });
      }
    }
    if (allOf !== undefined) continue;
    for (const [name, field] of fields) {
      if (!part.some((each) => each.name === name)) {
        fields.set(name, { ...field, isRequired: false });
      }
    }
  }
  return [...fields.values()];
}

function join(one: JsonSchema, other: JsonSchema, how: "anyOf" | "allOf"): JsonSchema {
  return JSON.stringify(one) === JSON.stringify(other) ? one : { [how]: [one, other] };
}
