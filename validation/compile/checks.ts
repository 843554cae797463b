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
    case "number_format":
      if (format !== "safeint") return program.ownCheck(check, value);
      program.demand(`Number.isSafeInteger(${value})`);
      return value;
    case "multiple_of":
      return program.ownCheck(check, value);
    case "string_format": {
      if (check._zod.traits?.has("$ZodCustomStringFormat")) throw new Unsupported();
      if (pattern === undefined || !PATTERNS.has(format!)) {
        return program.ownCheck(check, value);
      }
      const name = program.constant(pattern);
      if (pattern.global || pattern.sticky) program.add(`${name}.lastIndex=0;`);
      program.demand(`${name}.test(${value})`);
      return value;
    }
  }
  throw new Unsupported();
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
