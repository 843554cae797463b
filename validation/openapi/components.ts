import type { JsonSchema } from "../json_schema.ts";

const PREFIX = "#/components/schemas/";

/**
 * The schemas that a document shares. zod writes references relative to the schema (`#`, `#/$defs/Note`); inside of a
 * document they would lead somewhere else, so what they lead to moves here.
 */
export class Components {
  /** Schemas by name. */
  readonly schemas: Record<string, JsonSchema> = {};

  /**
   * Makes a schema fit to stand anywhere in the document.
   *
   * @param schema A schema as zod converts it.
   * @param name A name that no other schema has, for what has none of its own.
   * @returns The schema, its references leading into {@link schemas}.
   */
  adopt(schema: JsonSchema, name: string): JsonSchema {
    const { $defs = {}, ...root } = schema as JsonSchema & { $defs?: Record<string, JsonSchema> };
    const parts = Object.entries($defs);
    const base = componentName(name);
    // what has an id of its own keeps it, unless another schema has it: the input of one may be the output of another
    const own = namesOf(parts, (key) => key.startsWith("__schema") ? `${base}${key}` : componentName(key));
    const isTaken = parts.some(([key, part]) => {
      const known = this.schemas[own.get(pointerTo(key))!];
      return known !== undefined && JSON.stringify(known) !== JSON.stringify(rewrite(part, own));
    });
    const names = isTaken ? namesOf(parts, (key) => `${base}_${componentName(key)}`) : own;
    names.set("#", base);
    for (const [key, part] of parts) this.schemas[names.get(pointerTo(key))!] = rewrite(part, names);
    const adopted = rewrite(root, names);
    if (refersTo(root, "#")) this.schemas[base] = adopted;
    return adopted;
  }

  /** What a reference leads to; a schema that is none stays as it is. */
  resolve(schema: JsonSchema): JsonSchema {
    const { $ref } = schema;
    return typeof $ref === "string" && $ref.startsWith(PREFIX) ? this.schemas[$ref.slice(PREFIX.length)] : schema;
  }
}

function namesOf(parts: readonly [string, JsonSchema][], nameOf: (key: string) => string): Map<string, string> {
  return new Map(parts.map(([key]) => [pointerTo(key), nameOf(key)]));
}

/** A JSON pointer, RFC 6901 section 3. */
function pointerTo(key: string): string {
  return `#/$defs/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What OpenAPI 3.1 allows as a component's name. */
function componentName(text: string): string {
  return text.replace(/[^\w.-]/g, "_");
}

function rewrite<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, names)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = key === "$ref" ? names.get(inner as string) : undefined;
      return [key, name === undefined ? rewrite(inner, names) : PREFIX + name];
    }),
  ) as T;
}

function refersTo(value: unknown, pointer: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => key === "$ref" ? inner === pointer : refersTo(inner, pointer));
}
