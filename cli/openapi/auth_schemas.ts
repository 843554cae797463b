type Json = Readonly<Record<string, unknown>>;

/** Types of JSON Schema. */
const TYPES: readonly unknown[] = [
  "string",
  "number",
  "integer",
  "boolean",
  "array",
  "object",
  "null",
];

const REFERENCE = "#/components/schemas/";

/**
 * Returns the name of a schema of better-auth in the document: `User` is `AuthUser`, so that the
 * project may have a schema with the name.
 *
 * @param name better-auth's name.
 */
export function getAuthSchemaName(name: string): string {
  return `Auth${name}`;
}

/**
 * Converts a schema, or an object that contains schemas, of better-auth's description to JSON Schema
 * 2020-12: types that do not exist are replaced, `nullable` becomes a type, references get the
 * names of the document, and only properties that are described are required. Booleans have no `enum`, which generators of other languages
 * cannot read.
 *
 * @param value A schema or a part of an operation.
 * @param found Receives the names of schemas that it refers to, as better-auth names them.
 */
export function toJsonSchema(value: unknown, found: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((each) => toJsonSchema(each, found));
  if (typeof value !== "object" || value === null) return value;
  const given = value as Json;
  const isSchema = !("in" in given) && !("content" in given);
  const entries = Object.entries(given).filter(([key, part]) =>
    // keywords that are no part of JSON Schema
    (typeof part !== "boolean" || !(key === "nullable" || (key === "required" && isSchema))) &&
    !(key === "enum" && given.type === "boolean")
  ).flatMap(([key, part]) => convertEntry(key, part, found));
  const schema = requireDescribed(Object.fromEntries(entries));
  return given.nullable === true ? withNull(schema) : schema;
}

/** Drops names from `required` that the schema does not describe: better-auth requires some beside a reference that lacks them. */
function requireDescribed(schema: Json): Json {
  const { required, properties, $ref } = schema;
  if (!Array.isArray(required) || properties === undefined && $ref === undefined) return schema;
  const { required: _, ...rest } = schema;
  const described = required.filter((name) => Object.hasOwn(Object(properties), name));
  return described.length === 0 ? rest : { ...rest, required: described };
}

type Entry = readonly [key: string, value: unknown];

function convertEntry(key: string, value: unknown, found: Set<string>): Entry[] {
  if (key === "$ref" && typeof value === "string" && value.startsWith(REFERENCE)) {
    const name = value.slice(REFERENCE.length);
    found.add(name);
    return [[key, `${REFERENCE}${getAuthSchemaName(name)}`]];
  }
  if (key === "type" && (typeof value === "string" || Array.isArray(value))) {
    return convertType(value);
  }
  if (typeof value === "function" || value === undefined) return [];
  return [[key, toJsonSchema(value, found)]];
}

function convertType(type: string | readonly unknown[]): Entry[] {
  if (type === "date" || type === "Date") return [["type", "string"], ["format", "date-time"]];
  const types = [type].flat().filter((each) => TYPES.includes(each));
  if (types.length === 0) return [];
  // generators take a number without a format for one of 32 bits
  if (type === "number") return [["type", type], ["format", "double"]];
  return [["type", typeof type === "string" ? types[0] : types]];
}

function withNull(schema: Json): Json {
  if (schema.$ref !== undefined) {
    const { $ref, ...rest } = schema;
    return { ...rest, anyOf: [{ $ref }, { type: "null" }] };
  }
  if (schema.type === undefined) return schema;
  const types = new Set([schema.type, "null"].flat());
  return { ...schema, type: [...types] };
}
