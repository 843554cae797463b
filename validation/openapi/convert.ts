import { type $ZodType, type $ZodTypes, globalRegistry, toJSONSchema } from "zod/v4/core";
import type { JsonSchema } from "./json_schema.ts";

/** A part of a schema that JSON cannot carry. */
export interface SchemaIssue {
  /** The schema that an operation names, not the part. */
  readonly schema: $ZodType;
  /** The part as a dotted path, empty for the whole: `items.[].price`. */
  readonly path: string;
  /** Description of the error and its fix. */
  readonly message: string;
  /** The error, where one was thrown. */
  readonly cause?: unknown;
}

/** Direction of a schema's values. */
export type Direction = "input" | "output";

/** Options of {@link convertSchema}. */
export interface ConvertOptions {
  readonly direction: Direction;
  /** The name of a shared schema; `undefined` for a schema that is written where it is used. */
  getName(schema: $ZodType): string | undefined;
  /** True for bodies of `multipart/form-data`, which can have files. */
  readonly allowsFiles?: boolean;
  /** True for parameters and fields of forms, which arrive as texts. */
  readonly isText?: boolean;
  /** Hears what JSON cannot carry; the document says `{}` there. */
  readonly onIssue?: (issue: SchemaIssue) => void;
}

type Path = readonly (string | number)[];

type Override = {
  readonly zodSchema: $ZodTypes;
  readonly jsonSchema: JsonSchema;
  readonly path: Path;
};

/** Types of zod that JSON does not have, with advice. */
const NOT_JSON: Readonly<Record<string, string>> = {
  map: "JSON has no Map: use z.record()",
  set: "JSON has no Set: use z.array()",
  symbol: "JSON has no symbols: use z.literal() or z.enum()",
  function: "JSON has no functions: leave it out",
  promise: "JSON has no promises: use the schema of what it gives",
  nan: "JSON has no NaN: use z.null()",
};

/**
 * A schema as JSON Schema 2020-12 for a document about HTTP. Other than zod's own conversion, an object that drops what it
 * does not know is open in both directions, so that a schema is the same in requests and answers; a default that is computed again
 * for each request is left out; dates are texts; numbers have the format that holds them; a literal of a boolean is a boolean, with
 * `x-const`, because generators of other languages have no enums of booleans, and neither a type of `null` alone.
 *
 * @param schema The schema.
 * @param options Direction and names.
 * @returns The schema, with the named ones in `$defs`.
 */
export function convertSchema(schema: $ZodType, options: ConvertOptions): JsonSchema {
  const { direction, getName, allowsFiles = false, isText = false, onIssue } = options;
  // zod also converts the schema from which another is derived, such as z.number() of z.number().int()
  const issues = new Map<string, { path: Path; message: string }>();
  const transformed: Path[] = [];

  const metadata = {
    get(part: $ZodType): object | undefined {
      const meta = globalRegistry.get(part);
      const id = getName(part);
      return meta === undefined && id === undefined ? undefined : { ...meta, id };
    },
  } as typeof globalRegistry;

  function override({ zodSchema, jsonSchema, path }: Override): void {
    const { def } = zodSchema._zod;
    const issue = (message: string) =>
      issues.set(`${path.join()} ${message}`, { path: [...path], message });
    const problem = isText ? findTextProblem(def, path) : undefined;
    if (problem !== undefined) issue(problem);
    switch (def.type) {
      case "date":
        Object.assign(jsonSchema, { type: "string", format: "date-time" });
        if (direction === "input" && !isCoerced(def)) {
          issue(
            "a request never carries a Date: use z.coerce.date(), or z.iso.datetime() for a text",
          );
        }
        break;
      case "bigint":
        if (direction === "output") {
          issue("JSON has no bigint: use z.string(), or z.int() for numbers up to 2^53");
        } else if (isCoerced(def)) Object.assign(jsonSchema, { type: "integer", format: "int64" });
        else issue("a request never carries a bigint: use z.coerce.bigint()");
        break;
      case "number":
        // what z.int() adds says no more than "integer"
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        jsonSchema.format ??= jsonSchema.type === "integer"
          ? getIntegerFormat(jsonSchema)
          : "double";
        break;
      case "literal":
        describeLiteral(jsonSchema);
        break;
      case "null":
        // beside other types it makes them nullable
        if (!/^(?:any|one)Of$/.test(String(path.at(-2)))) {
          delete jsonSchema.type;
          jsonSchema["x-const"] = null;
        }
        break;
      case "union":
        if ("discriminator" in def) {
          jsonSchema.discriminator = { propertyName: def.discriminator };
        }
        joinLiterals(jsonSchema);
        break;
      case "file":
        if (!allowsFiles) {
          issue(
            direction === "input"
              ? "JSON has no files: set bodyParser: createMultipartParser()"
              : "JSON has no files: send a URL of the file",
          );
        }
        break;
      case "undefined":
      case "void":
        Object.assign(jsonSchema, { not: {} });
        break;
      case "object":
        if (def.catchall === undefined) delete jsonSchema.additionalProperties;
        break;
      case "default":
      case "prefault":
        if (isMadeAnew(def)) delete jsonSchema.default;
        break;
      case "pipe":
        if (def.in._zod.def.type === "transform") transformed.push([...path]);
        if (direction === "input") describeTexts(zodSchema, jsonSchema);
        break;
      default:
        if (Object.hasOwn(NOT_JSON, def.type)) issue(NOT_JSON[def.type]);
    }
  }

  // a document says its JSON Schema version once, for all
  const { $schema: _, ...json } = toJSONSchema(schema, {
    target: "draft-2020-12",
    io: direction,
    metadata,
    unrepresentable: "any",
    override: (context) => override(context as Override),
  }) as JsonSchema;
  for (const { path, message } of issues.values()) {
    // what a transform makes is never sent
    const isSent = direction === "output" ||
      !transformed.some((start) => start.every((step, at) => path[at] === step));
    if (isSent) onIssue?.({ schema, path: getField(path), message });
  }
  return json;
}

/** Returns why a field refuses each text, or reads it as something else. Alternatives may have another that takes it. */
function findTextProblem(def: $ZodTypes["_zod"]["def"], path: Path): string | undefined {
  const [name, ...rest] = path.slice(path.indexOf("properties") + 1);
  const isField = name !== undefined && path.includes("properties") &&
    rest.every((step) => step === "items");
  if (!isField || path.some((step) => step === "anyOf" || step === "oneOf")) return undefined;
  switch (def.type) {
    case "number":
      return isCoerced(def) ? undefined : "arrives as a text: use z.coerce.number()";
    case "boolean":
      return isCoerced(def)
        ? 'z.coerce.boolean() takes the text "false" for true: use z.stringbool()'
        : "arrives as a text: use z.stringbool()";
    case "object":
    case "record":
      return "arrives as a text: declare each of its fields as a parameter";
    default:
      return undefined;
  }
}

/** The bounds of a signed number of 32 bits. */
const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 } as const;

/** Returns `int32` if the bounds of a schema fit 32 bits: generators take an integer without a format for that. */
function getIntegerFormat(json: JsonSchema): "int32" | "int64" {
  const min = json.exclusiveMinimum ?? json.minimum ?? -Infinity;
  const max = json.exclusiveMaximum ?? json.maximum ?? Infinity;
  return Number(min) >= INT32.min && Number(max) <= INT32.max ? "int32" : "int64";
}

function describeLiteral(json: JsonSchema): void {
  const values = "const" in json ? [json.const] : json.enum as unknown[] ?? [];
  if (values.length > 0 && values.every((value) => typeof value === "boolean")) {
    delete json.const;
    delete json.enum;
    if (values.length === 1) json["x-const"] = values[0];
  }
  if (values.length > 0 && values.every(Number.isInteger)) json.type = "integer";
}

/** Writes a union of texts or of numbers as `enum`. */
function joinLiterals(json: JsonSchema): void {
  const parts = json.anyOf as JsonSchema[] | undefined;
  const [type] = new Set(parts?.map((part) => part.type));
  if (parts === undefined || typeof type !== "string" || type === "boolean") return;
  const isLiteral = (part: JsonSchema) =>
    part.type === type && Object.keys(part).length === 2 && ("const" in part || "enum" in part);
  if (!parts.every(isLiteral)) return;
  delete json.anyOf;
  const values = parts.flatMap((part) => "const" in part ? [part.const] : part.enum as unknown[]);
  Object.assign(json, { type, enum: [...new Set(values)] });
}

/** Writes the texts that `z.stringbool()` accepts. A schema that was derived from it does not have them itself. */
function describeTexts(schema: $ZodType, json: JsonSchema): void {
  for (let at: $ZodType | undefined = schema; at !== undefined; at = at._zod.parent) {
    const { truthy, falsy } = at._zod.bag as { truthy?: string[]; falsy?: string[] };
    if (truthy === undefined || falsy === undefined) continue;
    json.enum = [...truthy, ...falsy];
    return;
  }
}

function isCoerced(def: object): boolean {
  return (def as { coerce?: boolean }).coerce === true;
}

const NOW_MS = 60_000;

/** `.default(() => crypto.randomUUID())` and `.default(() => new Date())` say nothing that would hold tomorrow. */
function isMadeAnew(def: { readonly defaultValue: unknown }): boolean {
  const value = def.defaultValue;
  if (value instanceof Date) return Math.abs(value.getTime() - Date.now()) < NOW_MS;
  const text = toText(value);
  const time = typeof value === "number"
    ? value
    : typeof value === "string"
    ? Date.parse(value)
    : NaN;
  return Math.abs(time - Date.now()) < NOW_MS || text !== toText(def.defaultValue);
}

function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? String(inner) : inner) ??
    "";
}

/** `["properties", "items", "items"]` is `items.[]` */
function getField(path: Path): string {
  const parts: string[] = [];
  for (let at = 0; at < path.length; at++) {
    const step = path[at];
    if (step === "properties") parts.push(String(path[++at]));
    else if (step === "items" || step === "prefixItems") parts.push("[]");
    else if (step === "additionalProperties") parts.push("*");
  }
  return parts.join(".");
}
