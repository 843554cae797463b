/** A JSON Schema, or a part of an OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

/** A schema with the document that its references point into. */
export interface SchemaView {
  readonly schema: Json;
  readonly document: Json;
}

/** Keywords that restrict no value. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$comment",
  "default",
  "deprecated",
  "description",
  "discriminator",
  "example",
  "examples",
  "externalDocs",
  "id",
  "readOnly",
  "title",
  "writeOnly",
  "xml",
]);

/** Checks whether a keyword restricts values. */
export function isConstraint(keyword: string): boolean {
  return !ANNOTATIONS.has(keyword) && !keyword.startsWith("x-");
}

/**
 * Converts a value to a schema: `true` accepts everything, `false` nothing.
 *
 * @param value A schema in a document.
 */
export function asSchema(value: unknown): Json {
  if (value === false) return { not: {} };
  return typeof value === "object" && value !== null ? value as Json : {};
}

/**
 * Follows the references of a schema. Keywords beside a reference are combined with it.
 *
 * @returns The resolved schema.
 * @throws {TypeError} If a reference points nowhere, or to itself.
 */
export function resolveView({ schema, document }: SchemaView): SchemaView {
  let at = schema;
  for (let steps = 0; typeof at.$ref === "string"; steps++) {
    const { $ref, ...rest } = at;
    const target = resolvePointer(document, $ref as string);
    if (target === undefined || steps > MAX_STEPS) {
      throw new TypeError(`The reference ${$ref} points nowhere`);
    }
    const isPlain = !Object.keys(rest).some(isConstraint);
    at = isPlain ? target : { allOf: [target, rest] };
  }
  return { schema: at, document };
}

const MAX_STEPS = 50;

/**
 * Resolves a reference within a document: `#/components/schemas/Note`.
 *
 * @returns What it points to; `undefined` if there is nothing.
 */
export function resolvePointer(document: Json, reference: string): Json | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = document;
  for (const part of reference.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    at = (at as Json | undefined)?.[key];
  }
  return at as Json | undefined;
}

/** All types of JSON; an integer is a number. */
const TYPES = ["string", "number", "boolean", "null", "array", "object"] as const;

/** Lists the types of the values of a schema. */
export function listTypes({ type }: Json): readonly string[] {
  if (type === undefined) return TYPES;
  return Array.isArray(type) ? type : [type as string];
}

/**
 * Lists the values of a schema with `enum` or `const`.
 *
 * @returns The values; `undefined` if it has neither.
 */
export function listValues(schema: Json): readonly unknown[] | undefined {
  // a literal of a boolean, see validation/openapi/convert.ts
  const key = ["const", "x-const"].find((each) => each in schema);
  if (key !== undefined) return [schema[key]];
  return schema.enum as readonly unknown[] | undefined;
}

/**
 * Takes the first list of variants out of a schema: that of `anyOf`, else that of `oneOf`.
 *
 * @returns The variants and the rest of the schema; `undefined` if it has none.
 */
export function splitVariants(schema: Json) {
  const keyword = (["anyOf", "oneOf"] as const).find((each) => schema[each] !== undefined);
  if (keyword === undefined) return undefined;
  const { [keyword]: variants, ...rest } = schema;
  return { variants: variants as readonly Json[], isExclusive: keyword === "oneOf", rest };
}

/** A reason why a value of one schema may not fit another. */
export interface Narrowing {
  /** The place in the value: `items.[].price`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** What clients send, or what they receive. */
export type ValueDirection = "request" | "response";

/** Compares two parts of schemas. */
export type CompareParts = (from: unknown, to: unknown, path: string) => Narrowing[];
