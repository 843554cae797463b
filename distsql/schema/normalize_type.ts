const ALIASES: Readonly<Record<string, string>> = {
  int: "integer",
  int4: "integer",
  int2: "smallint",
  int8: "bigint",
  bool: "boolean",
  float4: "real",
  float8: "double precision",
  float: "double precision",
  decimal: "numeric",
  dec: "numeric",
  varchar: "character varying",
  "char varying": "character varying",
  char: "character",
  bpchar: "character",
  timestamptz: "timestamp with time zone",
  timestamp: "timestamp without time zone",
  timetz: "time with time zone",
  time: "time without time zone",
};

interface TypeParts {
  readonly base: string;
  /** Modifier, such as `10,2` of `numeric(10,2)`. */
  readonly modifier: string | undefined;
  readonly zone: string | undefined;
  /** Array suffix, such as `[]`. */
  readonly array: string;
}

/**
 * Splits a type such as `timestamp(3) with time zone[]`; `undefined` for a text that is not a type.
 */
function splitType(text: string): TypeParts | undefined {
  const bracket = text.indexOf("[");
  const array = bracket < 0 ? "" : text.slice(bracket).replaceAll(" ", "");
  if (!/^(?:\[\d*\])*$/.test(array)) return undefined;
  let rest = (bracket < 0 ? text : text.slice(0, bracket)).trimEnd();
  const zone = ["with time zone", "without time zone"].find((words) =>
    / |\)/.test(rest.at(-words.length - 1) ?? "") && rest.endsWith(words)
  );
  if (zone !== undefined) rest = rest.slice(0, -zone.length).trimEnd();
  let modifier: string | undefined;
  if (rest.endsWith(")")) {
    const open = rest.indexOf("(");
    modifier = rest.slice(open + 1, -1).trim();
    if (open < 0 || modifier.includes(")")) return undefined;
    rest = rest.slice(0, open).trimEnd();
  }
  return /^[a-z0-9_. ]+$/.test(rest) ? { base: rest, modifier, zone, array } : undefined;
}

/**
 * Normalizes a type to the spelling of `format_type`, so that two spellings of one type are equal.
 * Quoted and unknown types are not changed.
 *
 * @param text The type as written.
 */
export function normalizeType(text: string): string {
  const spaced = text.trim().replace(/\s+/g, " ");
  if (spaced.includes('"')) return spaced;
  const parts = splitType(spaced.toLowerCase());
  if (parts === undefined) return spaced;
  const { base, modifier, zone, array } = parts;
  const name = base.replace(/^pg_catalog\./, "");
  const isAlias = Object.hasOwn(ALIASES, name) && zone === undefined;
  const zoned = zone ? `${name} ${zone}` : name;
  let full = isAlias ? ALIASES[name] : zoned;
  if (full === "character" && modifier === undefined && array === "" && name !== "bpchar") {
    full = "character(1)";
  }
  if (modifier !== undefined) {
    const inner = `(${modifier.split(",").map((part) => part.trim()).join(",")})`;
    const [first, ...rest] = full.split(" ");
    // the precision of a time comes before its zone
    full = /^time(?:stamp)?$/.test(first) ? [first + inner, ...rest].join(" ") : full + inner;
    if (/^numeric\(\d+\)$/.test(full)) full = full.replace(")", ",0)");
  }
  return full + array.replace(/\d/g, "");
}
