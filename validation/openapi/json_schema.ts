import { type $ZodType, toJSONSchema } from "zod/v4/core";

/** A JSON Schema, as far as a type can say. */
export type JsonSchema = Record<string, unknown>;

/** Options of {@link toJsonSchema}. */
export interface ToJsonSchemaOptions {
  /** Becomes the schema's `title`. */
  name?: string;
  /**
   * The JSON Schema version.
   * @default "draft-2020-12"
   */
  target?: "draft-2020-12" | "draft-07" | "draft-04";
  /**
   * Side that the schema describes: the input, or the result of parsing (after defaults and transforms).
   * @default "output"
   */
  io?: "input" | "output";
}

const TARGETS = {
  "draft-2020-12": "draft-2020-12",
  "draft-07": "draft-7",
  "draft-04": "draft-4",
} as const;

/**
 * A schema as JSON Schema, by zod's own conversion. What JSON cannot hold becomes `{}`; a `Date` becomes a string in
 * the format `date-time`, which is what `JSON.stringify` makes of it.
 *
 * @param schema A schema of zod or zod/mini.
 * @param options Name, version, direction.
 * @returns A JSON Schema object.
 * @throws {RangeError} When the target is none of the three.
 *
 * @example
 * ```ts
 * import { toJsonSchema } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * console.log(toJsonSchema(z.object({ id: z.uuid() }), { name: "Note", target: "draft-07" }).title); // Note
 * ```
 */
export function toJsonSchema(schema: $ZodType, options: ToJsonSchemaOptions = {}): JsonSchema {
  const { name, target = "draft-2020-12", io = "output" } = options;
  if (!Object.hasOwn(TARGETS, target)) {
    throw new RangeError(`target is ${target}: it must be ${Object.keys(TARGETS).join(", ")}`);
  }
  const { "~standard": _, ...converted } = toJSONSchema(schema, {
    target: TARGETS[target],
    io,
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }): void {
      if (zodSchema._zod.def.type === "date") {
        Object.assign(jsonSchema, { type: "string", format: "date-time" });
      }
    },
  }) as JsonSchema;
  if (name === undefined) return converted;
  const { $schema, ...rest } = converted;
  return { $schema, title: name, ...rest };
}
