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
  /** Hears what JSON cannot carry; the document says `{}` there. */
  readonly onIssue?: (issue: SchemaIssue) => void;
}

type Override = {
  readonly zodSchema: $ZodTypes;
  readonly jsonSchema: JsonSchema;
  readonly path: (string | number)[];
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
 * for each request is left out; dates are texts.
 *
 * @param schema The schema.
 * @param options Direction and names.
 * @returns The schema, with the named ones in `$defs`.
 */
export function convertSchema(schema: $ZodType, options: ConvertOptions): JsonSchema {
  const { direction, getName, onIssue } = options;
  const issues: { part: $ZodType; path: string; message: string }[] = [];
  const madeByTransform = new Set<$ZodType>();

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
      issues.push({ part: zodSchema, path: getField(path), message });
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
        if (def.in._zod.def.type === "transform") madeByTransform.add(def.out);
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
  for (const { part, path, message } of issues) {
    // what a transform makes is never sent
    if (direction === "output" || !madeByTransform.has(part)) onIssue?.({ schema, path, message });
  }
  return json;
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
function getField(path: readonly (string | number)[]): string {
  const parts: string[] = [];
  for (let at = 0; at < path.length; at++) {
    const step = path[at];
    if (step === "properties") parts.push(String(path[++at]));
    else if (step === "items" || step === "prefixItems") parts.push("[]");
    else if (step === "additionalProperties") parts.push("*");
  }
  return parts.join(".");
}
