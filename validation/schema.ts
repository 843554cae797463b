import {
  $ZodAsyncError,
  type $ZodErrorClass,
  type $ZodIssue,
  type $ZodType,
  _safeParse,
  _safeParseAsync,
  type ParsePayload,
} from "zod/v4/core";
import { addFieldError, FORM_KEY, getFieldName, toFieldErrors } from "../core/http/field_errors.ts";
import { isNestedDeeper } from "../core/http/parse_json.ts";
import { formError, type ValidationResult, type Validator } from "./validation_result.ts";

// a build that compiles schemas uses it: without an import it would be no part of the package, nor of Deno's cache
import "./precompiled_schema.ts";
// for read_input.ts: a build that compiles schemas ahead of time replaces this module, with all of its exports
export { getListKeys } from "./list_keys.ts";

/** A schema of zod 4 or zod/mini. */
export type Schema<TOutput = unknown> = $ZodType<TOutput>;

/** Replaces zod's error, which takes a tenth of a failed parse to create. Only its issues are used. */
class IssueList {
  readonly issues: readonly $ZodIssue[];

  constructor(issues: readonly $ZodIssue[]) {
    this.issues = issues;
  }
}

const safeParse = _safeParse(IssueList as $ZodErrorClass);

/**
 * Validates a value.
 *
 * @param schema A schema of zod or zod/mini that validates synchronously.
 * @param data Anything.
 * @returns The parsed value, or messages by field in dotted paths (`items.0.sku`), `_form` for the whole input.
 * @throws {TypeError} When the schema validates asynchronously: use {@link validateSchemaAsync}.
 *
 * @example
 * ```ts
 * import { validateSchema } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const Note = z.object({ title: z.string().min(1) });
 * const result = validateSchema(Note, { title: "" });
 * console.log(result.success, result.errors?.title.length); // false 1
 * ```
 */
export function validateSchema<T>(schema: $ZodType<T>, data: unknown): ValidationResult<T> {
  try {
    return toResult(safeParse(schema, data));
  } catch (cause) {
    if (cause instanceof $ZodAsyncError) {
      throw new TypeError("The schema validates asynchronously: use validateSchemaAsync", {
        cause,
      });
    }
    throw cause;
  }
}

/**
 * Validates a value with a schema that may be asynchronous.
 *
 * @param schema A schema of zod or zod/mini.
 * @param data Anything.
 * @returns As {@link validateSchema}.
 */
export async function validateSchemaAsync<T>(
  schema: $ZodType<T>,
  data: unknown,
): Promise<ValidationResult<T>> {
  return toResult(await _safeParseAsync(IssueList as $ZodErrorClass)(schema, data));
}

/**
 * Creates the validator of a schema. It is synchronous unless the schema is asynchronous, which is unknown until a value
 * has passed. zod's synchronous parser cannot be used before that: it drops the promise of an asynchronous refinement,
 * and an unhandled rejection ends the process.
 *
 * @param schema A schema of zod or zod/mini.
 * @param isSynchronous True if that is known.
 * @returns Validates a value. `length` is the length of its source text, if known.
 */
export function createValidator<T>(
  schema: $ZodType<T>,
  isSynchronous = false,
): Validator<T> {
  let mode: "undecided" | "synchronous" | "asynchronous" = isSynchronous
    ? "synchronous"
    : "undecided";

  function parseAsynchronously(data: unknown): Promise<ValidationResult<T>> {
    mode = "asynchronous";
    return runAsynchronously(schema, data).catch((error) => oversizeError(error, data));
  }

  return function validate(
    data: unknown,
    length = Infinity,
  ): ValidationResult<T> | Promise<ValidationResult<T>> {
    if (mode === "asynchronous") return parseAsynchronously(data);
    try {
      if (mode === "undecided") {
        // neither synchronous nor asynchronous is asked for: it waits only where it has to
        const payload = schema._zod.run({ value: data, issues: [] }, contextFor(data));
        if (payload instanceof Promise) {
          return payload.then(
            () => parseAsynchronously(data),
            (error) => oversizeError(error, data),
          );
        }
        if (payload.issues.length === 0) mode = "synchronous";
        return toToldResult(payload as ParsePayload<T>);
      }
      return runSynchronously(schema, data, length);
    } catch (error) {
      return error instanceof $ZodAsyncError
        ? parseAsynchronously(data)
        : oversizeError(error, data);
    }
  };
}

/** Creates the validator of values that a parser compiled ahead of time has left to zod: such a schema is synchronous. */
export function createFallbackValidator<T>(schema: $ZodType<T>): Validator<T> {
  return createValidator(schema, true);
}

/** Options of a run. zod supports `abortEarly` since 4.6 (`z.validate`). */
interface RunContext {
  async?: boolean;
  abortEarly?: boolean;
}

/**
 * For an input with more values, zod stops at the first error. A list of all errors would take hundreds of times the
 * memory of the input.
 */
const MANY_VALUES = 10_000;

function contextFor(data: unknown, async?: boolean): RunContext {
  const context: RunContext = async === undefined ? {} : { async };
  if (hasManyValues(data)) context.abortEarly = true;
  return context;
}

function runSynchronously<T>(
  schema: $ZodType<T>,
  data: unknown,
  length: number,
): ValidationResult<T> {
  // each value takes two characters at least: a short text needs no counting
  const context = length <= MANY_VALUES ? { async: false } : contextFor(data, false);
  const payload = schema._zod.run({ value: data, issues: [] }, context);
  if (payload instanceof Promise) throw new $ZodAsyncError();
  return toToldResult(payload);
}

async function runAsynchronously<T>(
  schema: $ZodType<T>,
  data: unknown,
): Promise<ValidationResult<T>> {
  const context = contextFor(data, true);
  return toToldResult(await schema._zod.run({ value: data, issues: [] }, context));
}

/** Maximum nesting. A recursive schema can follow some thousands of levels. */
const MAX_NESTING = 500;

/**
 * Converts a stack overflow to a validation error if the input is nested too deeply, or has so many errors that zod
 * cannot pass them as arguments. Rethrows any other error.
 */
function oversizeError(error: unknown, data: unknown): ValidationResult<never> {
  const overflow = error instanceof RangeError && /call stack/i.test(error.message);
  if (overflow && isNestedDeeper(data, MAX_NESTING)) {
    return formError("The input is nested too deeply");
  }
  if (overflow && hasManyValues(data)) return formError("The input has too many errors to list");
  throw error;
}

function hasManyValues(root: unknown): boolean {
  const left: unknown[] = [root];
  for (let count = 0; left.length > 0;) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += inner.length;
    if (count > MANY_VALUES) return true;
    for (const item of inner) left.push(item);
  }
  return false;
}

/** Limits of an error response: it must not be much larger than the request, and Lambda rejects more than 6 MB. */
const MAX_ISSUES = 100, MAX_FIELD_LENGTH = 200, MAX_MESSAGE_LENGTH = 500;

function toToldResult<T>({ value, issues }: ParsePayload): ValidationResult<T> {
  if (issues.length === 0) return { success: true, data: value as T };
  const errors: Record<string, string[]> = {};
  for (const { path, message } of withMessages(issues.slice(0, MAX_ISSUES))) {
    addFieldError(
      errors,
      clip(getFieldName(path), MAX_FIELD_LENGTH),
      clip(message, MAX_MESSAGE_LENGTH),
    );
  }
  if (issues.length > MAX_ISSUES) {
    addFieldError(errors, FORM_KEY, `${issues.length - MAX_ISSUES} more errors are not listed`);
  }
  return { success: false, errors };
}

/** Adds zod's messages to issues, through a schema that returns them. Importing zod's `util` would add 10 KB. */
function withMessages(issues: ParsePayload["issues"]): readonly $ZodIssue[] {
  const faulty = { _zod: { run: () => ({ value: undefined, issues }) } } as unknown as $ZodType;
  const parsed = safeParse(faulty, undefined);
  return parsed.success ? [] : parsed.error.issues;
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

type Parsed<T> = { success: true; data: T } | {
  success: false;
  error: { issues: readonly $ZodIssue[] };
};

function toResult<T>(parsed: Parsed<T>): ValidationResult<T> {
  return parsed.success
    ? { success: true, data: parsed.data }
    : { success: false, errors: toFieldErrors(parsed.error.issues) };
}
