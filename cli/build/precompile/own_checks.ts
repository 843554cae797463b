import { type Check, type Program, Unsupported } from "../../../validation/compile/program.ts";

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

/**
 * Writes a check of zod as code. What is not certain to be valid is left to zod.
 *
 * @param check The check.
 * @param value The expression of the value.
 * @param program The program.
 * @returns The expression of the value after the check.
 * @throws {Unsupported} If only zod can check it.
 */
export function writeSourceCheck({ _zod }: Check, value: string, program: Program): string {
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
