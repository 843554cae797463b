const INTEGERS: readonly string[] = ["smallint", "integer", "bigint", "numeric"];

/**
 * Returns true if every value of a type has the same value in another one.
 *
 * @param from The type as PostgreSQL prints it: `character varying(20)`.
 * @param to The other type.
 */
export function isWidening(from: string, to: string): boolean {
  const old = parseType(from);
  const next = parseType(to);
  if (old.name === next.name && next.sizes.length === 0) return TEXTS_AND_NUMBERS.has(next.name);
  if (INTEGERS.includes(old.name) && INTEGERS.includes(next.name) && next.sizes.length === 0) {
    return old.sizes.length === 0 && INTEGERS.indexOf(old.name) < INTEGERS.indexOf(next.name);
  }
  const isText = old.name === "character varying" || old.name === "text";
  if (isText && next.sizes.length === 0) {
    return TEXTS_AND_NUMBERS.has(next.name) && next.name !== "numeric";
  }
  if (old.name !== next.name || old.sizes.length === 0) return false;
  if (next.name === "character varying") return next.sizes[0] >= old.sizes[0];
  if (next.name !== "numeric") return false;
  const [oldDigits, oldScale = 0] = old.sizes;
  const [digits, scale = 0] = next.sizes;
  return scale >= oldScale && digits - scale >= oldDigits - oldScale;
}

const TEXTS_AND_NUMBERS: ReadonlySet<string> = new Set(["character varying", "text", "numeric"]);

function parseType(type: string): { name: string; sizes: number[] } {
  const start = type.indexOf("(");
  if (start < 0 || !type.endsWith(")")) return { name: type, sizes: [] };
  const sizes = type.slice(start + 1, -1).split(",").map(Number);
  return { name: type.slice(0, start), sizes };
}
