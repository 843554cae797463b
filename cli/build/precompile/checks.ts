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
      if (format !== "safeint") return writeOwnCheck(check, value, program);
      program.demand(`Number.isSafeInteger(${value})`);
      return value;
    case "multiple_of":
      return writeOwnCheck(check, value, program);
    case "string_format": {
      if (check._zod.traits?.has("$ZodCustomStringFormat")) throw new Unsupported();
      if (pattern === undefined || !PATTERNS.has(format!)) {
        return writeOwnCheck(check, value, program);
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

/** The parts of the definitions of checks that are read here. */
interface OwnCheck {
  readonly check: string;
  readonly format?: string;
  readonly value?: unknown;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly includes?: string;
  readonly position?: number;
  readonly hostname?: RegExp;
  readonly protocol?: RegExp;
  readonly normalize?: boolean;
}

/** Conditions of checks by their format. */
const CONDITIONS: Readonly<Record<string, (check: OwnCheck, value: string) => string>> = {
  int32: (_, value) => `Number.isInteger(${value})&&${value}>=${-(2 ** 31)}&&${value}<${2 ** 31}`,
  uint32: (_, value) => `Number.isInteger(${value})&&${value}>=0&&${value}<${2 ** 32}`,
  starts_with: ({ prefix }, value) => `${value}.startsWith(${JSON.stringify(prefix)})`,
  ends_with: ({ suffix }, value) => `${value}.endsWith(${JSON.stringify(suffix)})`,
  includes: ({ includes, position = 0 }, value) =>
    `${value}.includes(${JSON.stringify(includes)},${position})`,
};

/** Writes a check that is more than a pattern. What is not certain to be valid is left to zod. */
function writeOwnCheck({ _zod }: Check, value: string, program: Program): string {
  const check = _zod.def as OwnCheck;
  const condition = CONDITIONS[check.format ?? ""]?.(check, value);
  if (condition !== undefined) {
    program.demand(condition);
    return value;
  }
  // a union must not leave values to zod that are valid: URLs that zod changes, near multiples
  if (program.mustDecide) throw new Unsupported();
  if (check.format === "url") return writeUrl(check, value, program);
  if (check.check !== "multiple_of" || !Number.isSafeInteger(check.value)) throw new Unsupported();
  program.demand(`Number.isSafeInteger(${value})&&${value}%${check.value}===0`);
  return value;
}

/** Writes the check of a URL. Those from which zod removes characters are left to zod. */
function writeUrl(
  { hostname, protocol, normalize }: OwnCheck,
  value: string,
  program: Program,
): string {
  program.demand(`/^\\S[^\\t\\n\\r]*$/.test(${value})&&!/\\s$/.test(${value})`);
  program.demand(`URL.canParse(${value})`);
  if (!hostname && !protocol && !normalize) return value;
  const url = program.name();
  program.add(`const ${url}=new URL(${value});`);
  if (hostname) writeTest(hostname, `${url}.hostname`, program);
  if (protocol) {
    writeTest(protocol, `${url}.protocol.slice(0,-1)`, program);
    // zod takes http:example.com only if it normalizes it
    const needsSlashes = !normalize && protocol.source === "^https?$";
    if (needsSlashes) program.demand(`/^https?:\\/\\//i.test(${value})`);
  }
  return normalize ? `${url}.href` : value;
}

function writeTest(pattern: RegExp, value: string, program: Program): void {
  const name = program.constant(pattern);
  if (pattern.global || pattern.sticky) program.add(`${name}.lastIndex=0;`);
  program.demand(`${name}.test(${value})`);
}
