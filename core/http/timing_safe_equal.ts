/**
 * Checks whether two values are equal, in a time that depends on the length of the first only, so that an attacker who
 * sends `given` learns nothing about `expected` from the clock.
 *
 * @param given What came from outside.
 * @param expected The secret; an empty one equals nothing.
 * @returns `true` when both hold the same bytes or the same UTF-16 code units.
 *
 * @example
 * ```ts
 * import { timingSafeEqual } from "@trellis/fn/core";
 *
 * console.log(timingSafeEqual("token", "token")); // true
 * ```
 */
export function timingSafeEqual(given: string, expected: string): boolean;
export function timingSafeEqual(given: Uint8Array, expected: Uint8Array): boolean;
export function timingSafeEqual(
  given: string | Uint8Array,
  expected: string | Uint8Array,
): boolean {
  if (expected.length === 0) return false;
  let difference = given.length ^ expected.length;
  if (typeof given === "string" && typeof expected === "string") {
    for (let i = 0; i < given.length; i++) {
      difference |= given.charCodeAt(i) ^ expected.charCodeAt(i % expected.length);
    }
  } else {
    for (let i = 0; i < given.length; i++) {
      difference |= (given[i] as number) ^ (expected[i % expected.length] as number);
    }
  }
  return difference === 0;
}
