import type { $ZodType } from "zod/v4/core";

/** The parts of a definition that contain other schemas. */
interface Definition {
  type: string;
  innerType?: $ZodType;
  in?: $ZodType;
  out?: $ZodType;
  options?: readonly $ZodType[];
  left?: $ZodType;
  right?: $ZodType;
  shape?: Record<string, $ZodType>;
  getter?: () => $ZodType;
}

const LISTS: ReadonlySet<string> = new Set(["array", "set", "tuple"]);

/**
 * Returns the fields of an object schema that expect an array. A query string or a form with a single value does not
 * show whether its field is a list, so the schema decides.
 *
 * @param schema An object schema, also wrapped (optional, default, refined, piped) or intersected.
 * @returns The fields' names.
 */
export function getListKeys(schema: $ZodType | undefined): ReadonlySet<string> {
  const keys = new Set<string>();
  if (schema !== undefined) collect(schema, keys, 0);
  return keys;
}

const MAX_DEPTH = 16;

function collect(schema: $ZodType, keys: Set<string>, depth: number): void {
  if (depth > MAX_DEPTH) return;
  const definition = schema._zod.def as Definition;
  for (const [key, field] of Object.entries(definition.shape ?? {})) {
    if (asksForList(field, 0)) keys.add(key);
  }
  for (const inner of getInner(definition)) collect(inner, keys, depth + 1);
}

function asksForList(schema: $ZodType, depth: number): boolean {
  const definition = schema._zod.def as Definition;
  return LISTS.has(definition.type) ||
    depth < MAX_DEPTH && getInner(definition).some((s) => asksForList(s, depth + 1));
}

function getInner(
  { innerType, in: input, out, options, left, right, getter, type }: Definition,
): $ZodType[] {
  // z.preprocess is a pipe from a transform: its output schema decides
  const piped = type !== "pipe"
    ? undefined
    : (input?._zod.def as Definition | undefined)?.type === "transform"
    ? out
    : input;
  return [innerType, piped, ...options ?? [], left, right, type === "lazy" ? getter?.() : undefined]
    .filter((schema) => schema !== undefined);
}
