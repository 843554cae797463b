import * as fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST_CODE_POINT = 0x10ffff;

/**
 * Generates one character of Unicode, for `fc.string({ unit: anyCharacter })`. The strings are those of the unit
 * `binary`, which takes more than a second of processor time in each process: it lists all characters.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: LAST_CODE_POINT - SURROGATES })
  .map(toCharacter, fromCharacter);

function toCharacter(index: number): string {
  return String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES);
}

function fromCharacter(value: unknown): number {
  const codePoint = typeof value === "string" ? value.codePointAt(0) : undefined;
  if (codePoint === undefined || String.fromCodePoint(codePoint) !== value) {
    throw new TypeError("The value is not one character");
  }
  if (codePoint < FIRST_SURROGATE) return codePoint;
  if (codePoint < FIRST_SURROGATE + SURROGATES) throw new TypeError("The value is a surrogate");
  return codePoint - SURROGATES;
}
