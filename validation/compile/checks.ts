import type { $ZodType } from "zod/v4/core";
import {
  type Check,
  type CheckDefinition,
  getChecks,
  type Program,
  Unsupported,
} from "./program.ts";

/** Formats that are their pattern and nothing else. */
const PATTERNS: ReadonlySet<string> = new Set(
  ("uuid guid email nanoid cuid cuid2 ulid xid ksuid datetime date time duration ipv4 mac cidrv4 e164 emoji regex " +
    "lowercase uppercase").split(" "),
);

/** Conditions of the formats of whole numbers. */
const INTEGERS: Readonly<Record<string, (value: string) => string>> = {
  safeint: (value) => `Number.isSafeInteger(${value})`,
  int32: (value) => `Number.isInteger(${value})&&${value}>=${-(2 ** 31)}&&${value}<${2 ** 31}`,
  uint32: (value) => `Number.isInteger(${value})&&${value}>=0&&${value}<${2 ** 32}`,
};

/** Methods of strings that search a text, and the field of a check that holds the text. */
const SEARCHES: Readonly<
  Record<string, { readonly name: string; readonly text: "prefix" | "suffix" | "includes" }>
> = {
  starts_with: { name: "startsWith", text: "prefix" },
  ends_with: { name: "endsWith", text: "suffix" },
  includes: { name: "includes", text: "includes" },
};

/** `trim()` and its like as zod writes them, also when minified; other overwrites may be code of the application. */
const PURE_METHOD = /^\(?(\w+)\)?\s*=>\s*\1\.(trim|toLowerCase|toUpperCase)\(\)$/;

/** Writes a schema's checks in zod's order, and gives the expression of the value after them. */
export function writeChecks(schema: $ZodType, value: string, program: Program): string {
  return getChecks(schema).reduce((checked, check) => writeCheck(check, checked, program), value);
}

/** Writes a check of zod's own, and gives the expression of the value after it. */
function writeCheck(check: Check, value: string, program: Program): string {
  const definition = check._zod.def as CheckDefinition;
  const { pattern, format } = definition;
  switch (definition.check) {
    case "min_length":
    case "max_length":
    case "length_equals":
      program.demand(lengthCondition(definition, value, program, `COUNT(${value})`));
      return value;
    case "greater_than":
    case "less_than": {
      const sign = (definition.check === "less_than" ? "<" : ">") +
        (definition.inclusive ? "=" : "");
      program.demand(`${value}${sign}${program.constant(definition.value)}`);
      return value;
    }
    case "overwrite": {
      const method = PURE_METHOD.exec(String(definition.tx))?.[2];
      if (method === undefined) throw new Unsupported();
      const changed = program.name();
      program.add(`const ${changed}=${value}.${method}();`);
      return changed;
    }
    case "number_format": {
      const condition = INTEGERS[format!]?.(value);
      if (condition === undefined) return writeOwnCheck(check, value, program);
      program.demand(condition);
      return value;
    }
    case "multiple_of":
      // zod also takes fractions that are nearly multiples
      if (program.mustDecide || !Number.isSafeInteger(definition.value)) {
        return writeOwnCheck(check, value, program);
      }
      program.demand(`Number.isSafeInteger(${value})&&${value}%${definition.value}===0`);
      return value;
    case "string_format": {
      if (check._zod.traits?.has("$ZodCustomStringFormat")) throw new Unsupported();
      const method = SEARCHES[format!];
      if (method !== undefined) {
        const found = definition[method.text];
        program.demand(`${value}.${method.name}(${JSON.stringify(found)}${position(definition)})`);
        return value;
      }
      // a valid value that zod changes must not be left to zod there
      if (format === "url" && !program.mustDecide) return writeUrl(definition, value, program);
      if (pattern === undefined || !PATTERNS.has(format!)) {
        return writeOwnCheck(check, value, program);
      }
      writeTest(pattern, value, program);
      return value;
    }
  }
  throw new Unsupported();
}

function position({ position }: CheckDefinition): string {
  return position === undefined ? "" : `,${position}`;
}

function writeTest(pattern: RegExp, value: string, program: Program): void {
  const name = program.constant(pattern);
  if (pattern.global || pattern.sticky) program.add(`${name}.lastIndex=0;`);
  program.demand(`${name}.test(${value})`);
}

/** Writes the check of a URL. Those from which zod removes characters are left to zod. */
function writeUrl(definition: CheckDefinition, value: string, program: Program): string {
  const { hostname, protocol, normalize } = definition;
  writeTest(/^\S[^\t\n\r]*$/, value, program);
  program.demand(`!/\\s$/.test(${value})&&URL.canParse(${value})`);
  if (!hostname && !protocol && !normalize) return value;
  const url = program.name();
  program.add(`const ${url}=new URL(${value});`);
  if (hostname) writeTest(hostname, `${url}.hostname`, program);
  if (protocol) {
    writeTest(protocol, `${url}.protocol.slice(0,-1)`, program);
    // zod takes http:example.com only if it normalizes it
    if (!normalize && protocol.source === "^https?$") writeTest(/^https?:\/\//i, value, program);
  }
  return normalize ? `${url}.href` : value;
}

/** Lengths are counted in code points; `counted` is asked for where the count of code units leaves it open. */
export function lengthCondition(
  { check, when, minimum, maximum, length }: CheckDefinition,
  value: string,
  program: Program,
  counted: string,
): string {
  // a condition of the user's own makes zod skip the check: it may only be made where zod is asked afterwards
  if (when !== undefined && program.mustDecide) throw new Unsupported();
  const units = `${value}.length`;
  if (check === "length_equals") return `${counted}===${length}`;
  const [enough, sign, bound] = check === "min_length"
    ? [2 * minimum!, ">=", minimum]
    : [maximum, "<=", maximum];
  return (counted === units ? "" : `${units}${sign}${enough}||`) + counted + sign + bound;
}

/** Leaves a check to zod if it is built in and runs no code of the application. */
function writeOwnCheck(check: Check, value: string, program: Program): string {
  const payload = program.name();
  program.add(
    `const ${payload}={value:${value},issues:[]};${
      program.constant(check._zod.check)
    }(${payload});`,
  );
  program.demand(`${payload}.issues.length===0`);
  return `${payload}.value`;
}
