/** SQL expressions of every built-in type, written by hand and generated. */
import { createRandom, type Random } from "../../support/random.ts";

/** An expression, and who cannot run it. */
export interface TypedValue {
  readonly sql: string;
}

/** Values at the edges of each type. */
export const EDGES: Readonly<Record<string, readonly string[]>> = {
  bool: ["true", "false"],
  int2: ["-32768", "32767"],
  int4: ["-2147483648", "2147483647", "0"],
  int8: ["-9223372036854775808", "9223372036854775807", "9007199254740993", "0"],
  oid: ["4294967295", "0"],
  float4: ["0.1", "-3.4e38", "NaN", "Infinity", "-Infinity", "1e-37"],
  float8: ["0.1", "1.7976931348623157e308", "5e-324", "NaN", "Infinity", "-Infinity", "-0.5"],
  numeric: ["12345678901234567890.0123456789", "NaN", "0.00", "-1e-20", "1e40"],
  text: [
    "",
    "a",
    "NULL",
    "null",
    "{a,b}",
    'a"b\\c',
    "O'Hara",
    "ü 🎉",
    " padded ",
    "a\nb\tc",
    "[1]",
    "{}",
  ],
  varchar: ["abc", "", "NULL"],
  bpchar: ["ab  ", "x"],
  name: ["a_name"],
  char: ["c"],
  bytea: ["\\x", "\\x00ff275c", "\\xdeadbeef"],
  uuid: ["00000000-0000-4000-8000-00000000000a", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff"],
  json: [
    "null",
    "1",
    '"1"',
    '"null"',
    '"{\\"admin\\":true}"',
    '{"a":[1,{"b":null}]}',
    "[]",
    "true",
    '"true"',
    '"[1]"',
    '"2026-01-31"',
  ],
  jsonb: [
    "null",
    "1",
    '"1"',
    '"null"',
    '"{\\"admin\\":true}"',
    '{"a":[1,{"b":null}]}',
    "[]",
    "true",
    '"true"',
    '"\\"quoted\\""',
    "1.50",
  ],
  date: [
    "2026-01-31",
    "0001-01-01",
    "0044-03-15 BC",
    "infinity",
    "-infinity",
    "9999-12-31",
    "12345-06-07",
  ],
  time: ["00:00:00", "23:59:59.999999", "24:00:00"],
  timetz: ["12:00:00+05:30", "23:59:59.5-12"],
  timestamp: [
    "2026-01-31 12:34:56.789",
    "2026-03-29 02:30:00",
    "1969-12-31 23:59:59.5",
    "0001-01-01 00:00:00",
    "infinity",
    "-infinity",
    "0099-05-06 07:08:09",
  ],
  timestamptz: [
    "2026-01-31 12:34:56.789+05:30",
    "2026-10-25 01:30:00.123Z",
    "0044-03-15 12:00:00+00 BC",
    "infinity",
    "-infinity",
    "9999-12-31 23:59:59.999+00",
    "0099-05-06 07:08:09+00",
  ],
  interval: ["1 year 2 months 3 days 04:05:06.789", "-1 day", "00:00:00", "P1Y2M", "100:00:00"],
  inet: ["192.168.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"],
  cidr: ["10.0.0.0/8", "2001:db8::/32"],
  macaddr: ["08:00:2b:01:02:03"],
  macaddr8: ["08:00:2b:01:02:03:04:05"],
  money: ["12.34", "-0.01"],
  bit: ["1"],
  varbit: ["1010", ""],
  point: ["(1.5,-2)", "(0,0)"],
  circle: ["<(1,2),3.5>"],
  box: ["(3,4),(1,2)"],
  lseg: ["[(1,2),(3,4)]"],
  line: ["{1,2,3}"],
  path: ["((1,2),(3,4))", "[(1,2),(3,4)]"],
  polygon: ["((1,2),(3,4),(5,6))"],
  int4range: ["[1,10)", "empty", "(,)", "[5,]"],
  int8range: ["[1,9007199254740993)"],
  numrange: ["(1.5,2.5]"],
  daterange: ["[2026-01-01,2026-02-01)"],
  tsrange: ["[2026-01-01 00:00,2026-02-01 00:00)"],
  tstzrange: ["[2026-01-01 00:00+00,2026-02-01 00:00+00)"],
  int4multirange: ["{[1,3),[5,7)}", "{}"],
  tsvector: ["a b:1A 'it''s'"],
  tsquery: ["a & b"],
  pg_lsn: ["16/B374D848"],
  jsonpath: ["$.a[*]"],
  regclass: ["pg_class"],
  regtype: ["integer"],
  xid: ["123"],
  cid: ["5"],
  tid: ["(0,1)"],
};

/** Types without an operator or a type of array that all servers share. */
const WITHOUT_ARRAYS: ReadonlySet<string> = new Set(["char"]);

/** A text as SQL, whatever it holds. */
export function quote(text: string): string {
  return text.includes("\\")
    ? `E'${text.replace(/[\\']/g, "\\$&")}'`
    : `'${text.replaceAll("'", "''")}'`;
}

function typeName(type: string): string {
  return type === "char" ? '"char"' : type;
}

/** An array written with items, so that no test shares the code that reads arrays. */
function getArray(type: string, items: readonly (string | null)[]): string {
  const texts = items.map((item) => item === null ? "NULL" : `${quote(item)}::${typeName(type)}`);
  return `array[${texts.join(",")}]::${typeName(type)}[]`;
}

/** Each edge alone, NULL, and in arrays. */
export function edgeExpressions(): { type: string; sql: string }[] {
  return Object.entries(EDGES).flatMap(([type, values]) => {
    const alone = values.map((value) => `${quote(value)}::${typeName(type)}`);
    const expressions = [...alone, `NULL::${typeName(type)}`];
    if (!WITHOUT_ARRAYS.has(type)) {
      expressions.push(
        getArray(type, values),
        getArray(type, [null, ...values, null]),
        getArray(type, [null]),
        `'{}'::${typeName(type)}[]`,
        `NULL::${typeName(type)}[]`,
      );
    }
    return expressions.map((sql) => ({ type, sql }));
  });
}

/** Arrays of more than one dimension, and with bounds of their own; the Data API refuses the first. */
export function nestedExpressions(): string[] {
  return [
    "array[[1,2],[3,4]]",
    "array[[1,NULL],[NULL,4]]",
    "array[[['a','b'],['c,d','e\"f']],[['{',NULL],['NULL','']]]",
    "array[[true],[false]]",
    "array[['{\"a\":1}'::jsonb],['\"null\"'::jsonb]]",
    "'[0:2]={1,2,3}'::int[]",
    "'[-1:0][2:3]={{1,2},{3,4}}'::int8[]",
  ];
}

const CHARACTERS = [..."abcXYZ019 ,;{}[]()\"'\\\n\t:$-_ü€🎉NULnul"];

/** Makes expressions of random types and values. */
export class ValueGenerator {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  /** A random whole number below a bound. */
  below(bound: number): number {
    return this.#random.below(bound);
  }

  /** One of some values. */
  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** A random text. */
  text(): string {
    return Array.from({ length: this.below(12) }, () => this.pick(CHARACTERS)).join("");
  }

  /** A random value that JSON has. */
  json(depth = 0): unknown {
    const kind = this.below(depth > 2 ? 5 : 7);
    if (kind === 0) return null;
    if (kind === 1) return this.pick([true, false]);
    if (kind === 2) return this.pick([0, -1, 1.5, 1e21, 123456789]);
    if (kind < 5) {
      return this.pick([
        this.text(),
        "null",
        "1",
        "[1]",
        "true",
        '{"admin":true}',
        '"quoted"',
        "2026-01-31",
      ]);
    }
    if (kind === 5) return Array.from({ length: this.below(4) }, () => this.json(depth + 1));
    return Object.fromEntries(
      Array.from({ length: this.below(4) }, (_, at) => [`k${at}`, this.json(depth + 1)]),
    );
  }

  /** An expression: a value, or an array of values with NULLs. */
  expression(): string {
    const type = this.pick(Object.keys(GENERATED));
    if (this.below(4) > 0) return `${quote(GENERATED[type](this))}::${type}`;
    const items = Array.from(
      { length: this.below(5) },
      () => this.below(5) === 0 ? null : GENERATED[type](this),
    );
    return getArray(type, items);
  }

  digits(count: number): string {
    return Array.from({ length: count }, () => this.below(10)).join("") || "0";
  }

  moment(): string {
    const two = (bound: number, from = 0): string =>
      String(from + this.below(bound)).padStart(2, "0");
    const year = String(1 + this.below(9999)).padStart(4, "0");
    // fewer digits than a Date has: pg's own reader is off by one with some others
    const fraction = this.pick(["", ".5", ".125", ".25"]);
    return `${year}-${two(12, 1)}-${two(28, 1)} ${two(24)}:${two(60)}:${two(60)}${fraction}`;
  }
}

const GENERATED: Readonly<Record<string, (g: ValueGenerator) => string>> = {
  bool: (g) => g.pick(["t", "f"]),
  int2: (g) => String(g.below(65536) - 32768),
  int4: (g) => String(g.below(2 ** 32) - 2 ** 31),
  int8: (g) => g.pick(["", "-"]) + g.digits(1 + g.below(18)),
  numeric: (g) => `${g.pick(["", "-"])}${g.digits(1 + g.below(30))}.${g.digits(1 + g.below(20))}`,
  float4: (g) => String(Math.fround((g.below(2 ** 30) - 2 ** 29) / (1 + g.below(1000)))),
  float8: (g) => String((g.below(2 ** 30) - 2 ** 29) / (1 + g.below(2 ** 20))),
  text: (g) => g.text(),
  varchar: (g) => g.text(),
  bytea: (g) =>
    `\\x${
      Array.from({ length: g.below(20) }, () => g.below(256).toString(16).padStart(2, "0")).join("")
    }`,
  uuid: (g) =>
    [8, 4, 4, 4, 12].map((count) =>
      Array.from({ length: count }, () => g.below(16).toString(16)).join("")
    ).join("-"),
  json: (g) => JSON.stringify(g.json()),
  jsonb: (g) => JSON.stringify(g.json()),
  date: (g) => g.moment().slice(0, 10),
  time: (g) => g.moment().slice(11),
  timestamp: (g) => g.moment(),
  timestamptz: (g) => `${g.moment()}${g.pick(["+00", "+05:30", "-11", "+14", "-03:30"])}`,
  interval: (g) =>
    `${g.below(100)} months ${g.below(100) - 50} days ${g.below(100_000) - 50_000} seconds`,
  inet: (g) => `${g.below(256)}.${g.below(256)}.${g.below(256)}.${g.below(256)}/${g.below(33)}`,
  point: (g) => `(${g.below(1000) / 8},${g.below(1000) / 4 - 100})`,
  int4range: (g) => `[${g.below(100)},${100 + g.below(100)})`,
  varbit: (g) => Array.from({ length: g.below(12) }, () => g.below(2)).join(""),
};
