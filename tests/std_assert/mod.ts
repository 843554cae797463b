/**
 * The part of `@std/assert` that the tests use, over `node:assert`, so that the tests run where JSR cannot be
 * reached. Names and behaviour are those of `@std/assert`; without the `links` line in deno.json the real one is used.
 * @module
 */
import nodeAssert from "node:assert/strict";
import { inspect } from "node:util";

/** Thrown when an assertion fails. */
export class AssertionError extends Error {
  /** @param message What was expected and what was found. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

function show(value: unknown): string {
  return inspect(value, { depth: 8, breakLength: 100 });
}

function failWith(text: string, message?: string): never {
  throw new AssertionError(message ? `${text}: ${message}` : text);
}

/** Fails unless `expression` is truthy. */
export function assert(expression: unknown, message = ""): asserts expression {
  if (!expression) throw new AssertionError(message || "Expected a truthy value");
}

/** Fails unless `expression` is falsy. */
export function assertFalse(
  expression: unknown,
  message = "",
): asserts expression is false | 0 | "" | null | undefined {
  if (expression) throw new AssertionError(message || "Expected a falsy value");
}

/** Whether two values are equal in depth. */
export function equal(actual: unknown, expected: unknown): boolean {
  try {
    nodeAssert.deepStrictEqual(actual, expected);
    return true;
  } catch {
    return false;
  }
}

/** Fails unless both values are equal in depth. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  try {
    nodeAssert.deepStrictEqual(actual, expected);
  } catch (error) {
    failWith(`Values are not equal\n${(error as Error).message}`, message);
  }
}

/** Fails when both values are equal in depth. */
export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  if (equal(actual, expected)) {
    failWith(`Expected values that differ, both are ${show(actual)}`, message);
  }
}

/** Fails unless both are the same value (`Object.is`). */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  if (!Object.is(actual, expected)) {
    failWith(`Expected ${show(expected)}, got ${show(actual)}`, message);
  }
}

/** Fails when both are the same value (`Object.is`). */
export function assertNotStrictEquals<T>(actual: T, expected: T, message?: string): void {
  if (Object.is(actual, expected)) failWith(`Expected another value than ${show(actual)}`, message);
}

/** Fails when `actual` is null or undefined. */
export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) failWith(`Expected a value, got ${actual}`, message);
}

/** Fails unless `actual` is an instance of `type`. */
// deno-lint-ignore no-explicit-any
export function assertInstanceOf<T extends abstract new (...args: any[]) => any>(
  actual: unknown,
  type: T,
  message?: string,
): asserts actual is InstanceType<T> {
  if (!(actual instanceof type)) {
    failWith(`Expected an instance of ${type.name}, got ${show(actual)}`, message);
  }
}

/** Fails unless `actual` contains `expected`. */
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  if (!actual.includes(expected)) {
    failWith(`Expected ${show(actual)} to contain ${show(expected)}`, message);
  }
}

/** Fails unless `actual` matches `expected`. */
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  if (!expected.test(actual)) failWith(`Expected ${show(actual)} to match ${expected}`, message);
}

/** Fails when `actual` matches `expected`. */
export function assertNotMatch(actual: string, expected: RegExp, message?: string): void {
  if (expected.test(actual)) failWith(`Expected ${show(actual)} not to match ${expected}`, message);
}

/** Fails unless `actual` holds every item of `expected`. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  message?: string,
): void {
  const missing = Array.from(expected).filter((item) =>
    !Array.from(actual).some((other) => equal(other, item))
  );
  if (missing.length > 0) failWith(`Expected ${show(actual)} to include ${show(missing)}`, message);
}

/** Fails unless every property of `expected` is in `actual`, in depth. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
): void {
  function pick(value: unknown, pattern: unknown): unknown {
    if (
      typeof pattern !== "object" || pattern === null || typeof value !== "object" || value === null
    ) return value;
    if (Array.isArray(pattern)) {
      return Array.isArray(value)
        ? value.map((item, i) => i in pattern ? pick(item, pattern[i]) : item)
        : value;
    }
    if (Object.getPrototypeOf(pattern) !== Object.prototype) return value;
    return Object.fromEntries(
      Object.keys(pattern).filter((key) => key in value).map((key) => [
        key,
        pick((value as Record<string, unknown>)[key], (pattern as Record<string, unknown>)[key]),
      ]),
    );
  }
  assertEquals<unknown>(pick(actual, expected), expected, message);
}

/** Fails unless the numbers differ by at most `tolerance`. */
export function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  message?: string,
): void {
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  if (!Object.is(actual, expected) && !(Math.abs(actual - expected) <= allowed)) {
    failWith(`Expected ${actual} to be within ${allowed} of ${expected}`, message);
  }
}

/** Fails unless `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (!(actual > expected)) failWith(`Expected ${show(actual)} > ${show(expected)}`, message);
}

/** Fails unless `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual >= expected)) failWith(`Expected ${show(actual)} >= ${show(expected)}`, message);
}

/** Fails unless `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, message?: string): void {
  if (!(actual < expected)) failWith(`Expected ${show(actual)} < ${show(expected)}`, message);
}

/** Fails unless `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (!(actual <= expected)) failWith(`Expected ${show(actual)} <= ${show(expected)}`, message);
}

// deno-lint-ignore no-explicit-any
type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;

/** Fails unless `error` is an instance of `type` whose message contains `includes`. */
export function assertIsError<E extends Error>(
  error: unknown,
  type?: ErrorClass<E>,
  includes?: string | RegExp,
  message?: string,
): asserts error is E {
  if (!(error instanceof Error)) failWith(`Expected an Error, got ${show(error)}`, message);
  if (type && !(error instanceof type)) {
    failWith(`Expected ${type.name}, got ${error.name}: ${error.message}`, message);
  }
  const fits = includes === undefined ||
    (typeof includes === "string"
      ? error.message.includes(includes)
      : includes.test(error.message));
  if (!fits) {
    failWith(
      `Expected the error message to include ${show(includes)}, got ${show(error.message)}`,
      message,
    );
  }
}

/** Fails unless `fn` throws; returns what it threw. */
export function assertThrows(fn: () => unknown, message?: string): unknown;
/** Fails unless `fn` throws an instance of `type` whose message contains `includes`. */
export function assertThrows<E extends Error>(
  fn: () => unknown,
  type: ErrorClass<E>,
  includes?: string,
  message?: string,
): E;
export function assertThrows<E extends Error>(
  fn: () => unknown,
  typeOrMessage?: ErrorClass<E> | string,
  includes?: string,
  message?: string,
): unknown {
  try {
    fn();
  } catch (error) {
    if (typeof typeOrMessage === "function") assertIsError(error, typeOrMessage, includes, message);
    return error;
  }
  return failWith(
    "Expected the function to throw",
    typeof typeOrMessage === "string" ? typeOrMessage : message,
  );
}

/** Fails unless the promise of `fn` rejects; resolves to what it rejected with. */
export function assertRejects(fn: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
/** Fails unless the promise of `fn` rejects with an instance of `type` whose message contains `includes`. */
export function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  type: ErrorClass<E>,
  includes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  typeOrMessage?: ErrorClass<E> | string,
  includes?: string,
  message?: string,
): Promise<unknown> {
  let returned = false;
  try {
    const promise = fn();
    returned = true;
    await promise;
  } catch (error) {
    if (!returned) {
      failWith("Expected a rejected promise, the function threw synchronously", message);
    }
    if (typeof typeOrMessage === "function") assertIsError(error, typeOrMessage, includes, message);
    return error;
  }
  return failWith(
    "Expected the promise to reject",
    typeof typeOrMessage === "string" ? typeOrMessage : message,
  );
}

/** Fails always. */
export function fail(message?: string): never {
  return failWith("Failed", message);
}

/** Fails when reached. */
export function unreachable(reason?: string): never {
  return failWith("Unreachable", reason);
}

/** Fails with the reason that something is not written yet. */
export function unimplemented(reason?: string): never {
  return failWith("Unimplemented", reason);
}
