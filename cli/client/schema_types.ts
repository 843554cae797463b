import { ConfigurationError } from "../../errors/http_errors.ts";
import type { JsonSchema } from "../../validation/openapi/json_schema.ts";
import {
  arrayOf,
  intersection,
  literal,
  type Member,
  NEVER,
  NULL,
  objectType,
  simple,
  tuple,
  type TypeText,
  union,
  UNKNOWN,
} from "./type_text.ts";

type Json = Record<string, unknown>;

const PRIMITIVES: Readonly<Record<string, TypeText>> = {
  string: simple("string"),
  number: simple("number"),
  integer: simple("number"),
  boolean: simple("boolean"),
  null: NULL,
};

/** Parts of `components` that types can name. */
export const COMPONENT_PARTS = [
  "schemas",
  "responses",
  "parameters",
  "requestBodies",
  "headers",
] as const;
const COMPONENT = new RegExp(`^#/components/(${COMPONENT_PARTS.join("|")})/([^/]+)$`);

/** Resolves references of a document. */
export class References {
  readonly #document: object;
  readonly #open = new Set<string>();

  constructor(document: object) {
    this.#document = document;
  }

  /** Returns the target of a reference; any other value unchanged. */
  follow(value: unknown): Json {
    const seen = new Set<unknown>();
    let found = value as Json;
    while (typeof found?.$ref === "string") {
      if (seen.has(found)) throw refuse(found.$ref, "refers to itself");
      seen.add(found);
      found = this.#find(found.$ref);
    }
    return found;
  }

  /** Names the component that a reference points to, or renders its target in place. */
  render($ref: string, render: (target: Json) => TypeText): TypeText {
    const [, part, name] = COMPONENT.exec($ref) ?? [];
    const target = this.#find($ref);
    if (part !== undefined) {
      return simple(`components[${JSON.stringify(part)}][${JSON.stringify(unescape(name))}]`);
    }
    if (this.#open.has($ref)) {
      throw refuse($ref, "refers to itself. Move the schema to components.schemas");
    }
    this.#open.add($ref);
    try {
      return render(target);
    } finally {
      this.#open.delete($ref);
    }
  }

  #find($ref: string): Json {
    if (!$ref.startsWith("#/")) {
      throw refuse($ref, "is not in the document. Bundle the documents into one first");
    }
    let found: unknown = this.#document;
    for (const step of $ref.slice(2).split("/").map(unescape)) {
      found = typeof found === "object" && found !== null && Object.hasOwn(found, step)
        ? (found as Json)[step]
        : undefined;
    }
    if (typeof found !== "object" || found === null) throw refuse($ref, "points to nothing");
    return found as Json;
  }
}

function refuse($ref: string, problem: string): ConfigurationError {
  return new ConfigurationError(`The reference ${$ref} of the document ${problem}`);
}

function unescape(step: string): string {
  return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Renders a schema as a type of TypeScript.
 *
 * @throws {ConfigurationError} If a reference cannot be followed.
 */
export function schemaType(schema: unknown, references: References): TypeText {
  if (schema === false) return NEVER;
  if (typeof schema !== "object" || schema === null) return UNKNOWN;
  const given = schema as JsonSchema & Json;
  const render = (each: unknown) => schemaType(each, references);
  if (typeof given.$ref === "string") return references.render(given.$ref, render);
  // a literal of a boolean, see validation/openapi/convert.ts
  const key = ["const", "x-const"].find((each) => Object.hasOwn(given, each));
  const type = key !== undefined ? literal(given[key]) : Array.isArray(given.enum)
    // a nullable enum of OpenAPI 3.0 need not list null
    ? union([
      ...given.enum.map(literal),
      ...list(given.type).includes("null") ? [NULL] : [],
    ])
    : composedType(given, references);
  // OpenAPI 3.0
  return given.nullable === true ? union([type, NULL]) : type;
}

/** A schema's own type and those of `allOf`, `anyOf` and `oneOf`: a value fits all of them. */
function composedType(schema: Json, references: References): TypeText {
  const render = (each: unknown) => schemaType(each, references);
  const parts = [
    ownType(schema, references),
    ...list(schema.allOf).map((each) => requireKeys(each, schema.required, references)),
    ...[schema.anyOf, schema.oneOf].map(list).filter((all) => all.length > 0).map((all) =>
      union(all.map(render))
    ),
  ].filter((part) => part !== undefined);
  if (parts.length > 0) return intersection(parts);
  return "type" in schema ? simple("Record<string, never>") : UNKNOWN;
}

/** Members of `allOf` have the keys that the schema around them requires. */
function requireKeys(part: unknown, required: unknown, references: References): TypeText {
  const type = schemaType(part, references);
  const { properties = {}, required: own } = references.follow(part);
  const keys = list(required).filter((key) =>
    Object.hasOwn(properties as object, key as string) && !list(own).includes(key)
  );
  if (keys.length === 0) return type;
  return intersection([
    type,
    simple(`Required<Pick<${type.text}, ${union(keys.map(literal)).text}>>`),
  ]);
}

function ownType(schema: Json, references: References): TypeText | undefined {
  const { type } = schema;
  if (Array.isArray(type)) {
    const others = { ...schema, allOf: undefined, anyOf: undefined, oneOf: undefined };
    return union(type.map((each) => schemaType({ ...others, type: each }, references)));
  }
  if (typeof type === "string" && Object.hasOwn(PRIMITIVES, type)) return PRIMITIVES[type];
  if (type === "array") return arrayType(schema, references);
  return objectSchema(schema, references);
}

function arrayType({ prefixItems, items }: Json, references: References): TypeText {
  const render = (each: unknown) => schemaType(each, references);
  if (Array.isArray(prefixItems)) {
    const rest = items === undefined || items === false ? undefined : render(items);
    return tuple(prefixItems.map(render), rest);
  }
  return arrayOf(render(items));
}

function objectSchema(schema: Json, references: References): TypeText | undefined {
  const render = (each: unknown) => schemaType(each, references);
  const required = list(schema.required);
  const members = Object.entries((schema.properties ?? {}) as Json).map(([name, each]): Member => ({
    name,
    type: render(each),
    isOptional: !required.includes(name),
    isReadonly: (each as Json | undefined)?.readOnly === true,
    about: each,
  }));
  const { additionalProperties: others } = schema;
  const indexed = [
    ...others === undefined || others === false ? [] : [render(others)],
    ...Object.values((schema.patternProperties ?? {}) as Json).map(render),
  ];
  const parts = [
    ...members.length === 0 ? [] : [objectType(members)],
    ...indexed.length === 0
      ? []
      : [simple(`{\n    [key: string]: ${union(indexed).text.replaceAll("\n", "\n    ")};\n}`)],
  ];
  return parts.length === 0 ? undefined : intersection(parts);
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
