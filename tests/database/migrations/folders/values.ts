import type { Model } from "./model.ts";

/** Types that every PostgreSQL has, with a literal of each. `arg` is a small number. */
const TYPES: Readonly<Record<string, (arg: number) => string>> = {
  "int": (n) => String(n),
  "integer": (n) => String(n),
  "bigint": (n) => String(n * 1_000_003),
  "smallint": (n) => String(n),
  "text": (n) => `'text ${n}'`,
  "varchar(40)": (n) => `'word${n}'`,
  "varchar": (n) => `'v${n}'`,
  "char(3)": (n) => `'c${n % 10}'`,
  "numeric(12, 2)": (n) => `${n}.25`,
  "numeric(20, 4)": (n) => `${n}.125`,
  "numeric": (n) => `${n}.5`,
  "boolean": (n) => n % 2 === 0 ? "true" : "false",
  "date": (n) => `'2026-01-${String(1 + n % 28).padStart(2, "0")}'`,
  "timestamp(3)": (n) => `'2026-02-03 04:05:${String(n % 60).padStart(2, "0")}'`,
  "timestamptz": (n) => `'2026-02-03 04:05:${String(n % 60).padStart(2, "0")}+00'`,
  "uuid": (n) => `'00000000-0000-4000-8000-${String(n).padStart(12, "0")}'`,
  "jsonb": (n) => `'{"n": ${n}}'`,
  "json": (n) => `'[${n}]'`,
  "bytea": (n) => `'\\x${(16 + n % 200).toString(16)}'`,
  "interval": (n) => `'${n} hours'`,
  "double precision": (n) => `${n}.5`,
  "real": (n) => `${n}.5`,
};

/** Types that the distributed engine cannot store. */
const REFUSED: Readonly<Record<string, (arg: number) => string>> = {
  "text[]": (n) => `'{a${n}}'`,
  "int[]": (n) => `ARRAY[${n}]`,
  "inet": (n) => `'10.0.0.${n % 250}'`,
  "int4range": (n) => `'[1,${2 + n % 50})'`,
  "money": (n) => `'${n}'`,
};

const NAMES = Object.keys(TYPES);

/** A type for a new column. */
export function randomType(model: Model): string {
  const { random, enums, domains } = model;
  if (enums.length > 0 && random.chance(0.15)) return random.pick(enums).name;
  if (domains.length > 0 && random.chance(0.12)) return random.pick(domains).name;
  if (random.chance(0.004)) return random.pick(Object.keys(REFUSED));
  if (enums.length > 0 && random.chance(0.004)) return `${random.pick(enums).name}[]`;
  return random.pick(NAMES);
}

/** A type as SQL. */
export function writeType(model: Model, type: string): string {
  const base = type.replace(/\[\]$/, "");
  const isOwn = model.enums.some(({ name }) => name === base) ||
    model.domains.some(({ name }) => name === base);
  if (!isOwn) return model.random.chance(0.2) ? type.toUpperCase() : type;
  const quoted = model.isQuoted || !/^[a-z_][a-z0-9_]*$/.test(base) ? `"${base}"` : base;
  const name = model.random.chance(0.4)
    ? `${model.isQuoted ? '"public"' : "public"}.${quoted}`
    : quoted;
  return type.endsWith("[]") ? `${name}[]` : name;
}

/** A value of a type as a literal. Values of different numbers differ, but for booleans and enums. */
export function getLiteral(model: Model, type: string, number: number): string {
  const labels = model.enums.find(({ name }) => name === type)?.labels;
  if (labels !== undefined) return `'${labels[number % labels.length].replaceAll("'", "''")}'`;
  const domain = model.domains.find(({ name }) => name === type);
  if (domain !== undefined) return getLiteral(model, domain.base, number);
  if (type.endsWith("[]") && !Object.hasOwn(REFUSED, type)) return "'{}'";
  return (TYPES[type] ?? REFUSED[type] ?? TYPES.text)(number);
}

/** A literal, at times with a cast to its type, as drizzle-kit and Prisma write defaults of enums. */
export function castLiteral(model: Model, type: string, number: number): string {
  const literal = getLiteral(model, type, number);
  const isOwn = model.enums.some(({ name }) => name === type);
  return literal.startsWith("'") && model.random.chance(isOwn ? 0.5 : 0.15)
    ? `${literal}::${writeType(model, type)}`
    : literal;
}

/** Whether values of a type can be compared and be unique over small numbers. */
export function isKeyable(type: string): boolean {
  return [
    "int",
    "integer",
    "bigint",
    "text",
    "varchar(40)",
    "varchar",
    "uuid",
    "timestamptz",
    "numeric(12, 2)",
  ]
    .includes(type);
}

/** Types that a column may change to without a USING clause, and with one. */
export function getChanges(
  model: Model,
  type: string,
): { type: string; using?: (column: string) => string }[] {
  const toText = { type: "text" };
  switch (type) {
    case "int":
    case "integer":
    case "smallint":
      return [{ type: "bigint" }, { type: "numeric(12, 2)" }, { type: "text" }, {
        type: "text",
        using: (column) => `${column}::text`,
      }, { type: "boolean", using: (column) => `${column} <> 0` }];
    case "bigint":
      return [{ type: "numeric(12, 2)" }, toText];
    case "text":
    case "varchar":
    case "varchar(40)":
      return [{ type: "varchar" }, toText, {
        type: "jsonb",
        using: (column) => `to_jsonb(${column})`,
      }, {
        type: "int",
        using: (column) => `length(${column})`,
      }];
    case "timestamp(3)":
      return [{ type: "timestamptz" }, { type: "date" }];
    case "numeric(12, 2)":
      return [{ type: "numeric(20, 4)" }, { type: "int" }];
    case "numeric":
      return [{ type: "numeric(20, 4)" }]; // its text depends on the precision that the translation gives it
    default: {
      const isEnum = model.enums.some(({ name }) => name === type);
      const others = model.enums.filter(({ name }) => name !== type).map(({ name }) => ({
        type: name,
        using: (column: string) => `${column}::text::${writeType(model, name)}`,
      }));
      return isEnum ? [toText, ...others] : [toText];
    }
  }
}
