import { isDeepStrictEqual } from "node:util";
import { isConstraint, type Json, listTypes, type Narrowing } from "./schema_view.ts";

/** Keywords that limit a size, with the types that they apply to. */
const LIMITS: readonly (readonly [keyword: string, type: string, sign: 1 | -1])[] = [
  ["minLength", "string", -1],
  ["maxLength", "string", 1],
  ["minItems", "array", -1],
  ["maxItems", "array", 1],
  ["minProperties", "object", -1],
  ["maxProperties", "object", 1],
];

/** Lists the limits of a size or number that are stricter. */
export function compareLimits(given: Json, wanted: Json, path: string): Narrowing[] {
  const [from, to] = [given, wanted].map(withFormatLimits);
  const types = listTypes(from);
  const sizes = LIMITS.filter(([keyword, type, sign]) => {
    if (to[keyword] === undefined || !types.includes(type)) return false;
    const given = from[keyword] ?? (sign < 0 ? 0 : Infinity);
    return Number(given) * sign > Number(to[keyword]) * sign;
  }).map(([keyword]) => ({ path, message: describeLimit(keyword, to) }));
  if (!types.includes("number") && !types.includes("integer")) return sizes;
  const numbers = [
    [-1, "minimum", "exclusiveMinimum"] as const,
    [1, "maximum", "exclusiveMaximum"] as const,
  ].flatMap(([sign, open, closed]) => {
    const given = getBound(from, open, closed, sign);
    const wanted = getBound(to, open, closed, sign);
    const isFine = given.at < wanted.at ||
      given.at === wanted.at && (given.isExclusive || !wanted.isExclusive);
    return isFine ? [] : [{ path, message: describeLimit(closed in to ? closed : open, to) }];
  });
  return [...sizes, ...numbers];
}

/** Adds the limits of the format `int32`. The other formats of numbers have none that JSON has not. */
function withFormatLimits(schema: Json): Json {
  if (schema.format !== "int32") return schema;
  const { minimum = -Infinity, maximum = Infinity } = schema as Record<string, number | undefined>;
  return {
    ...schema,
    minimum: Math.max(minimum, -(2 ** 31)),
    maximum: Math.min(maximum, 2 ** 31 - 1),
  };
}

/** Returns a bound times its sign, so that a greater one is always wider. */
function getBound(schema: Json, open: string, closed: string, sign: number) {
  const inclusive = schema[open] === undefined ? Infinity : Number(schema[open]) * sign;
  const exclusive = schema[closed] === undefined ? Infinity : Number(schema[closed]) * sign;
  return { at: Math.min(inclusive, exclusive), isExclusive: exclusive <= inclusive };
}

function describeLimit(keyword: string, to: Json): string {
  return `may not fit ${keyword} ${JSON.stringify(to[keyword])}`;
}

/** Keywords that are compared elsewhere. */
const COMPARED: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "prefixItems",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  ...LIMITS.map(([keyword]) => keyword),
]);

const STRING_KEYWORDS = ["pattern", "format", "contentEncoding", "contentMediaType"];

/** Compares the keywords that have no order: they must be the same. */
export function compareOthers(from: Json, to: Json, path: string): Narrowing[] {
  const types = listTypes(from);
  return Object.keys(to).filter((keyword) => {
    if (!isConstraint(keyword) || COMPARED.has(keyword)) return false;
    if (STRING_KEYWORDS.includes(keyword) && !types.includes("string")) return false;
    return !isDeepStrictEqual(from[keyword], to[keyword]);
  }).map((keyword) => ({ path, message: describeLimit(keyword, to) }));
}
